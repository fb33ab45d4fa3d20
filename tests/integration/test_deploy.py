"""What lies in deploy/ is what its programs take: systemd the unit, a server the settings."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import redis

from tests import services

DEPLOY = Path(__file__).parent.parent.parent / "deploy"


@pytest.mark.needs("systemd-analyze")
def test_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    unit = (DEPLOY / "systemd" / "benchrack.service").read_text()
    # what it names is on the machine that it is installed on, not here
    unit = unit.replace("/opt/benchrack/bin/benchrack", "/bin/true").replace(
        "User=benchrack", "User=root"
    )
    path = tmp_path / "benchrack.service"
    path.write_text(unit)
    done = subprocess.run(
        ("systemd-analyze", "verify", "--man=no", str(path)),
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if str(path.name) in line]
    assert (done.returncode, said) == (0, [])


@pytest.mark.needs("redis-server")
def test_settings_of_the_broker_are_in_force(tmp_path: Path) -> None:
    socket = tmp_path / "s"
    program = services.find("redis-server")
    assert program is not None
    own = ("--port", "0", "--unixsocket", str(socket), "--dir", str(tmp_path))
    with subprocess.Popen(
        (program, str(DEPLOY / "redis" / "redis.conf"), *own), stdout=subprocess.DEVNULL
    ) as server:
        try:
            services.wait_for(socket.exists, "the server's socket")
            with redis.Redis(unix_socket_path=str(socket)) as client:
                found = client.config_get("*")
        finally:
            server.terminate()
            server.wait(10)
    assert (found["appendonly"], found["appendfsync"]) == ("yes", "everysec")
    assert found["maxmemory-policy"] == "noeviction"
    assert int(found["proto-max-bulk-len"]) == 8 * 2**20
