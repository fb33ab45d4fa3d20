"""An API as a process of its own, on a state folder that may be filled before and meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import httpx

import orchestrator.contract
from orchestrator.contract.domain import Exclusive, Outcome, RunState, new_id, utc_now
from orchestrator.inventory import Host, HostSpec
from orchestrator.local import state
from orchestrator.runs import Ending
from orchestrator.settings import Settings
from orchestrator.store import hosts, runs, schema, session
from tests import services


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """A running API."""

    settings: Settings
    url: str
    token: str
    process: subprocess.Popen[bytes] = field(repr=False)

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        """What it answers; ``headers`` replace or complete those of a good request."""
        headers = {"Authorization": f"Bearer {self.token}", **options.pop("headers", {})}
        with httpx.Client(base_url=f"{self.url}/api/v1/", trust_env=False, timeout=30) as client:
            return client.request(method, path, headers=headers, **options)

    def error(self, method: str, path: str, **options: Any) -> tuple[int, str, str]:
        """Status, code and message of a refusal, which has this shape and no other."""
        response = self.ask(method, path, **options)
        body = response.json()
        assert body.keys() == {"error"}
        assert body["error"].keys() == {"code", "message"}
        return response.status_code, body["error"]["code"], body["error"]["message"]

    def add_host(self, name: str, **known: Any) -> None:
        """Put a host into the store, as if it had been enrolled."""
        spec = HostSpec(name=name, address="127.0.0.1", user="bench", key="demo")
        host = Host(
            spec=replace(spec, exclusive=Exclusive.HOST),
            machine="",
            host_keys=(
                "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGgCVfJkPXfNxSJ4hrzh1DHsgZvH8KXmqGXvBp7Svxr4",
            ),
            instance=new_id(),
            boot="unknown",
            uid=1000,
            base="/var/tmp/benchrack-1000",
            volatile=False,
            facts=facts(),
            kernel="",
            probed_at=utc_now(),
        )
        with closing(session.Store(self.settings.database_url)) as store, store.writing() as db:
            machine = hosts.assign_machine(db, host.spec, hosts.marks(host))
            hosts.record_host(db, replace(host, machine=machine, **known))

    def change_host(self, name: str, **values: Any) -> None:
        """Change what the store knows of a host."""
        with closing(session.Store(self.settings.database_url)) as store, store.writing() as db:
            hosts.update_host(db, name, **values)

    def end_runs(self, job: str, outcome: Outcome, reason: str = "") -> None:
        """End the runs of a job, as evidence would."""
        ending = Ending(outcome=outcome, reason=reason)
        with closing(session.Store(self.settings.database_url)) as store, store.writing() as db:
            for run in runs.runs_of_job(db, job):
                ended = replace(run, state=RunState.ENDED, ending=ending, ended_at=utc_now())
                assert runs.change(db, run, ended)


@lru_cache
def facts() -> bytes:
    """What the facts snippet says of this machine."""
    snippet = Path(orchestrator.contract.__file__).with_name("facts.sh")
    return subprocess.run(["sh", snippet], capture_output=True, check=True).stdout


@contextmanager
def serving(folder: Path, **environ: str) -> Iterator[Api]:
    """An API on a state folder while the block lasts."""
    settings = Settings.read(environ, state=folder)
    with state.held(settings):
        schema.prepare(settings.database_url)
        process = start(settings, **environ)
        try:
            services.wait_for(settings.api_file.exists, "the API listens")
            yield Api(
                settings=settings,
                url=json.loads(settings.api_file.read_text())["url"],
                token=settings.token_file.read_text(),
                process=process,
            )
        finally:
            process.terminate()
            process.wait(20)


def start(settings: Settings, **environ: str) -> subprocess.Popen[bytes]:
    """The API's process; what it says goes to a file in the state folder."""
    settings.logs.mkdir(parents=True, exist_ok=True)
    environ = {"PATH": os.defpath, "BENCHRACK_STATE": str(settings.state), **environ}
    with (settings.logs / "api.log").open("wb") as log:
        command = (sys.executable, "-m", "orchestrator.api")
        return subprocess.Popen(command, env=environ, stdout=log, stderr=log)
