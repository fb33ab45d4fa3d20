"""The embedded broker, with the server that is found on this machine and with the one of pip."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from orchestrator.contract import errors
from orchestrator.local import broker

ENVIRON = {"PATH": "/nonexistent"}


def open_client(started: broker.Broker) -> redis.Redis:
    return redis.Redis.from_url(started.url.replace("redis+socket", "unix", 1))


def until(condition: Callable[[], object], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_broker_answers_on_a_private_socket_with_the_settings_that_queues_need(
    tmp_path: Path,
) -> None:
    with broker.embedded(tmp_path / "data", log=tmp_path / "log", environ=ENVIRON) as started:
        broker.check(started.url)
        socket = Path(started.url.removeprefix("redis+socket://"))
        assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
        with open_client(started) as client:
            shown = client.config_get("*")

    assert shown["maxmemory-policy"] == "noeviction"
    assert (shown["appendonly"], shown["appendfsync"]) == ("yes", "everysec")
    assert int(shown["maxmemory"]) == 512 * 1024 * 1024
    assert int(shown["proto-max-bulk-len"]) == 8 * 1024 * 1024


def test_broker_listens_on_no_port(tmp_path: Path) -> None:
    with broker.embedded(tmp_path / "data", log=tmp_path / "log", environ=ENVIRON) as started:
        inodes = {
            os.readlink(link).strip("socket:[]")
            for link in Path(f"/proc/{started.pid}/fd").iterdir()
            if os.readlink(link).startswith("socket:")
        }
        listed = [
            line.split()[9]
            for table in ("tcp", "tcp6", "udp", "udp6")
            for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
        ]

    assert inodes
    assert inodes.isdisjoint(listed)


def test_what_is_queued_survives_a_restart(tmp_path: Path) -> None:
    for expected in (0, 1):
        with (
            broker.embedded(tmp_path / "data", log=tmp_path / "log", environ=ENVIRON) as started,
            open_client(started) as client,
        ):
            assert client.llen("queue") == expected
            client.rpush("queue", "message")


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    with broker.embedded(tmp_path / "data", log=tmp_path / "log", environ=ENVIRON) as started:
        folder = Path(started.url.removeprefix("redis+socket://")).parent

    assert not alive(started.pid)
    assert not folder.exists()


def test_broker_dies_with_a_killed_lab_and_the_next_lab_takes_over(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys, time\n"
        "from orchestrator.local import broker\n"
        "home = pathlib.Path(sys.argv[1])\n"
        "with broker.embedded(home / 'data', log=home / 'log', environ={'PATH': '/nonexistent'})"
        " as started:\n"
        "    print(started.pid, flush=True)\n"
        "    time.sleep(60)\n"
    )
    argv = (sys.executable, "-c", program, str(tmp_path))
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()

    with broker.embedded(tmp_path / "data", log=tmp_path / "log", environ=ENVIRON) as started:
        broker.check(started.url)
        assert not alive(pid)
    assert until(lambda: not alive(started.pid))


def test_server_of_the_system_is_preferred_where_it_is_new_enough(tmp_path: Path) -> None:
    own = broker.find_server(ENVIRON)
    system = tmp_path / "redis-server"
    system.write_text("#!/bin/sh\necho 'Redis server v=7.0.15 sha=0 bits=64'\n")
    system.chmod(0o755)

    assert broker.find_server({"PATH": str(tmp_path)}) == broker.Server(
        program=system, version="redis-7.0"
    )

    system.write_text("#!/bin/sh\necho 'Redis server v=6.0.16 sha=0 bits=64'\n")
    assert broker.find_server({"PATH": str(tmp_path)}) == own


@pytest.mark.needs("redis-server")
def test_server_of_the_system_serves_as_well(tmp_path: Path) -> None:
    found = {"PATH": "/usr/bin:/usr/local/bin"}
    with broker.embedded(tmp_path / "data", log=tmp_path / "log", environ=found) as started:
        broker.check(started.url)
        assert os.readlink(f"/proc/{started.pid}/exe").startswith("/usr/")


def test_data_that_cannot_be_read_is_told_with_the_servers_own_words(tmp_path: Path) -> None:
    data = tmp_path / "data" / broker.find_server(ENVIRON).version / "appendonlydir"
    data.mkdir(parents=True)
    (data / "appendonly.aof.manifest").write_text("nonsense\n")

    with (
        pytest.raises(errors.BrokerError, match=r"the embedded broker does not start: .*manifest"),
        broker.embedded(tmp_path / "data", log=tmp_path / "log", environ=ENVIRON),
    ):
        pass


@pytest.mark.parametrize("url", ["redis://:secret@127.0.0.1:1/0", "redis+socket:///nowhere/sock"])
def test_url_that_does_not_answer_is_told_without_its_password(url: str) -> None:
    with pytest.raises(errors.BrokerError, match="does not answer") as refusal:
        broker.check(url)

    assert refusal.value.exit_code == 4
    assert "secret" not in str(refusal.value)
