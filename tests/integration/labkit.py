"""A lab without processes: a real store, one enrolled host, and a collector that is called."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from orchestrator.collector import Collector
from orchestrator.contract import checksum, messages
from orchestrator.contract.domain import (
    NoisePolicy,
    OperationName,
    RunState,
    Status,
    new_id,
)
from orchestrator.inventory import Host, HostSpec
from orchestrator.playbook import loader, params
from orchestrator.runs import Job, Run
from orchestrator.service import Context, scenes
from orchestrator.service.catalogue import Catalogue
from orchestrator.store import hosts, runs, schema, session

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BOOT = "boot-1"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIErk4twQKZv1qvrBC4OiP91wLggAonzOuAIZRbriGDZ1"
SOURCE = """\
playbook: 1
name: tiny
title: tiny
metrics:
  - {name: rate, unit: 1/s, better: higher, primary: true,
     from: {step: run.main, parser: regex@1, field: value, pattern: "rate=(?P<value>[0-9.]+)"}}
stages:
  run:
    takes: [1s]
    steps:
      - {id: main, run: [echo, rate=7]}
"""
FACTS = (
    b"@@FACTS uname.release ok\n6.1.0\n@@FACTS uname.version ok\n#1 SMP\n"
    b"@@FACTS boot_id ok\nboot-1\n@@FACTS end ok\n"
)
RESULT = (
    b"benchrack 1\nstage run begin 1.0\nstep run.main 0 1.0 2.0\nstage run end 2.0\n"
    b"outcome finished\nend\n"
)
STREAMS = {
    "result": RESULT,
    "run.main.out": b"rate=7\n",
    "run.main.err": b"",
    "facts.before": FACTS,
}


def scene(*, boot: str = BOOT, instance: str = "i" * 32, facts: bytes = FACTS) -> messages.Scene:
    """What a probe finds."""
    return messages.Scene(
        boot=boot,
        machine_id=None,
        instance=hashlib.md5(instance.encode()).hexdigest(),
        base="/base",
        volatile=False,
        fence=0,
        uid=0,
        facts=facts,
    )


@dataclass
class Kit:
    """The lab; ``clock`` is its time, ``rings`` counts how often the controller was woken."""

    context: Context
    collector: Collector = field(init=False)

    def __post_init__(self) -> None:
        self.collector = Collector(self.context)

    def enrol(self, name: str, **of_scene: str) -> Host:
        """A host that was probed."""
        spec = HostSpec(name=name, address=f"{name}.example", user="u", key=name)
        line = f"{KEY[:-6]}{hashlib.md5(name.encode()).hexdigest()[:6]}"
        with self.context.store.writing() as db:
            return scenes.take_in(db, spec, (line,), scene(**of_scene), NOW)  # type: ignore[arg-type]

    def run(self, host: str, state: RunState, **changes: object) -> Run:
        """A run of a job of its own, as the store has it."""
        job = Job(
            id=new_id(),
            created_at=NOW,
            user="ada",
            playbook="tiny",
            source=SOURCE,
            given={},
            hosts=(host,),
            repeats=1,
            warmups=0,
            pause_s=0.0,
            noise=NoisePolicy.NOTE,
            seed=1,
        )
        playbook = loader.load(SOURCE.encode(), name="tiny.yaml")
        values = params.parse_values(playbook, {})
        run = Run(
            id=new_id(),
            job=job.id,
            host=host,
            position=0,
            block=1,
            repeat=1,
            params=params.canonical_values(playbook, values),
            expected_s=1.0,
            max_runtime_s=60.0,
            state=state,
            attempt=1,
            fence=5,
            sends=1,
            boot=BOOT,
            next_at=NOW,
            leased_at=NOW,
            deadline_at=NOW + timedelta(hours=1),
        )
        run = replace(run, **changes)  # type: ignore[arg-type]
        with self.context.store.writing() as db:
            runs.insert_job(db, job, [run])
            if state not in (RunState.QUEUED, RunState.ENDED):
                found = hosts.find_host(db, host)
                assert found is not None
                hosts.lease(db, found.machine, run.id, NOW)
        return run

    def say(self, run: Run, status: Status, /, **changes: object) -> messages.Evidence:
        """Evidence of a run's own attempt, taken in by the collector."""
        fields: dict[str, object] = {
            "id": new_id(),
            "operation": new_id(),
            "op": OperationName.POLL,
            "site": "main",
            "lab": self.context.lab,
            "worker": "w",
            "host": run.host,
            "run": run.id,
            "attempt": run.attempt,
            "fence": run.fence,
            "status": status,
            "commanded": True,
            "at": NOW,
            "duration_s": 0.1,
        }
        evidence = messages.Evidence(**(fields | changes))  # type: ignore[arg-type]
        self.collector.ingest(evidence)
        return evidence

    def now(self, run: Run) -> Run:
        """The run's row as it is now."""
        with self.context.store.reading() as db:
            found = runs.get_run(db, run.id)
        assert found is not None
        return found

    def host(self, name: str) -> Host:
        """The host's row as it is now."""
        with self.context.store.reading() as db:
            found = hosts.find_host(db, name)
        assert found is not None
        return found

    def leases(self) -> set[str]:
        """Runs that hold a machine."""
        with self.context.store.reading() as db:
            return set(hosts.leases(db).values())


def make(folder: Path) -> Kit:
    """A lab in a folder."""
    url = f"sqlite:///{folder / 'lab.db'}"
    schema.prepare(url)
    store = session.Store(url)
    with store.writing() as db:
        lab = session.lab_id(db)
        hosts.record_site(db, "main", "")
    context = Context(
        store=store,
        catalogue=Catalogue.read(folder / "none"),
        lab=lab,
        site="main",
        ring=lambda: None,
        now=lambda: NOW,
    )
    return Kit(context)


def manifest(streams: dict[str, bytes]) -> tuple[messages.StreamEntry, ...]:
    """The manifest of these streams."""
    algorithm = checksum.Algorithm.MD5
    return tuple(
        messages.StreamEntry(
            name=name, size=len(data), algorithm=algorithm, digest=checksum.digest(algorithm, data)
        )
        for name, data in streams.items()
    )


def chunks(streams: dict[str, bytes], *, of: Sequence[str] = ()) -> tuple[messages.Chunk, ...]:
    """The streams, or some of them, in a chunk each."""
    return tuple(
        messages.Chunk(stream=name, offset=0, data=data, sha256=hashlib.sha256(data).hexdigest())
        for name, data in streams.items()
        if data and (not of or name in of)
    )
