"""What a lab itself costs on this machine: start, one look, one operation over SSH, end."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from orchestrator.local import demo
from orchestrator.local.demo import Stage


def show(what: str, seconds: float) -> None:
    print(f"{what:<52} {seconds * 1000:>9.1f} ms")


def median(action: Callable[[], object], times: int) -> float:
    took = []
    for _ in range(times):
        begin = time.perf_counter()
        action()
        took.append(time.perf_counter() - begin)
    return statistics.median(took)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    settings = demo.settings_of(tmp_path_factory.mktemp("bench") / "state", {})
    begin = time.perf_counter()
    with demo.staged(settings, os.environ) as stage:
        show("\nlab and two demo hosts: start until the API answers", time.perf_counter() - begin)
        yield stage
        begin = time.perf_counter()
    show("\nlab and two demo hosts: end", time.perf_counter() - begin)


@pytest.fixture(scope="module")
def client(stage: Stage) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {stage.lab.token}"}
    url = f"{stage.lab.api_url}/api/v1/"
    with httpx.Client(base_url=url, headers=headers, trust_env=False, timeout=60) as client:
        yield client


def test_command_line_starts() -> None:
    benchrack = Path(sys.executable).with_name("benchrack")

    show(
        "benchrack --version", median(lambda: subprocess.check_output((benchrack, "--version")), 5)
    )


def test_status_is_answered(client: httpx.Client) -> None:
    show("GET status", median(lambda: client.get("status").raise_for_status(), 50))


def test_host_key_is_scanned_through_the_queue(stage: Stage, client: httpx.Client) -> None:
    host = next(iter(stage.hosts.values()))
    asked = {"address": host.address, "port": host.port}

    def scan() -> None:
        client.post("scan", json=asked).raise_for_status()

    scan()
    show("scan: API, store, queue, worker, SSH, and back", median(scan, 10))


@pytest.mark.needs("ssh-keyscan")
def test_scan_against_ssh_keyscan(stage: Stage, client: httpx.Client) -> None:
    """The same question, asked by OpenSSH's own program: what the chain around it costs."""
    host = next(iter(stage.hosts.values()))
    asked = {"address": host.address, "port": host.port}
    command = ("ssh-keyscan", "-p", str(host.port), "-t", "ed25519", host.address)

    def peer() -> None:
        subprocess.run(command, capture_output=True, check=True)

    ours, theirs = [], []
    for _ in range(10):
        ours.append(median(lambda: client.post("scan", json=asked).raise_for_status(), 1))
        theirs.append(median(peer, 1))
    ratio = statistics.median(ours) / statistics.median(theirs)
    print(f"\nscan through the whole chain / ssh-keyscan of one key type: {ratio:.1f}")
