"""A run outlives the connection that started it, whichever server that was."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.local import demo_host
from tests import services
from tests.integration import hosts

pytestmark = pytest.mark.needs("ssh")

_SCRIPT = b"echo $$ >pid\ntouch up\nuntil [ -e go ]; do sleep 1; done\n"


@pytest.fixture
def host(tmp_path: Path) -> Iterator[hosts.Host]:
    with hosts.host("dash", tmp_path / "host") as met:
        yield met


def cut_off(host: hosts.Host, port: int, user: str, key: Path, *, attend: bool) -> None:
    """Start a run over SSH and kill the client once the run is under way."""
    words = (host.run, "1", "1", hosts.BOOT, str(int(attend)), "60", "0", str(len(_SCRIPT)))
    call = (str(host.base / "bin/hostrun.sh"), secrets.token_hex(8), str(host.base), host.lab)
    options = ("BatchMode=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null")
    command = (
        *("ssh", "-F", "none", "-p", str(port), "-i", str(key), "-o", "IdentitiesOnly=yes"),
        *(word for option in options for word in ("-o", option)),
        *(f"{user}@127.0.0.1", "exec", "/bin/sh", *call, "start", *words),
    )
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        assert client.stdin
        client.stdin.write(_SCRIPT)
        client.stdin.close()
        services.wait_for((host.folder / "work/up").exists, "a script that is under way")
        client.kill()


def assert_goes_on(host: hosts.Host) -> None:
    assert host.of("poll").status == "running"
    assert hosts.is_living(hosts.pid_in(host.folder / "work/pid"))
    (host.folder / "work/go").touch()
    services.wait_for(lambda: host.of("poll").status == "done", "the end of the run")
    assert host.of("poll").rc == "0"
    assert host.executions() == 1


@pytest.mark.parametrize("attend", [True, False])
def test_run_outlives_its_connection(
    host: hosts.Host, server: services.Server, keys: services.Keys, attend: bool
) -> None:
    cut_off(host, server.port, server.user, keys.folder / "id", attend=attend)
    services.wait_for(lambda: not server.sessions(), "the end of the server's session")
    assert_goes_on(host)


def test_run_outlives_the_demo_host(host: hosts.Host, keys: services.Keys, tmp_path: Path) -> None:
    key = keys.folder / "id"
    with demo_host.running(
        tmp_path / "demo", authorized=key.with_suffix(".pub"), environ=os.environ
    ) as demo:
        cut_off(host, demo.port, demo.user, key, attend=True)
        assert host.of("poll").status == "running"
    assert_goes_on(host)
