"""A real worker process behind a real broker: sealed operation in, signed evidence out."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from orchestrator.contract import broker, domain, messages
from orchestrator.contract.domain import OperationName, Status
from tests import services

LAB = "2" * 32
BOOT = Path("/proc/sys/kernel/random/boot_id").read_text().strip()


class Controller:
    """The other end: seals operations, sends them, opens evidence."""

    def __init__(self, site: services.Site, url: str) -> None:
        self.site = site
        self.run = domain.new_id()
        self._app = broker.make_app(
            url, role="controller", consumes=broker.RESULTS, sites=(site.name,)
        )

    def operation(
        self, op: OperationName, host: messages.HostRef | None = None, **fields: Any
    ) -> messages.Operation:
        operation = {"id": domain.new_id(), "op": op, "site": self.site.name, "lab": LAB}
        run = {"run": self.run, "attempt": 1, "fence": 1, "sent_at": domain.utc_now()}
        return messages.Operation(**{**operation, **run, "host": host, **fields})

    def start(self, host: messages.HostRef, script: str, **fields: Any) -> messages.Operation:
        order = messages.StartOrder(
            script=script.encode(), if_boot=BOOT, attend_s=40, max_runtime_s=60
        )
        return self.operation(OperationName.START, host, start=order, **fields)

    def send(
        self, operation: messages.Operation, *, key: Ed25519PrivateKey | None = None
    ) -> messages.Operation:
        envelope = messages.seal(operation, "lab", key or self.site.lab_key)
        broker.send(self._app, messages.OPERATE, broker.site_queue(self.site.name), envelope)
        return operation

    def send_raw(self, *arguments: object) -> None:
        queue = broker.site_queue(self.site.name)
        self._app.send_task(messages.OPERATE, args=arguments, queue=queue)

    def receive(self, within_s: float = 40) -> messages.Evidence:
        """The next evidence; its signature was verified."""
        with (
            self._app.connection_for_read() as connection,
            connection.SimpleQueue(broker.RESULTS) as queue,
        ):
            message = queue.get(timeout=within_s)
            message.ack()
        return messages.open_evidence(messages.Envelope(*message.payload[0]), self.site.publics)

    def ask(self, operation: messages.Operation) -> messages.Evidence:
        """The evidence of one operation, with nothing else under way."""
        self.send(operation)
        evidence = self.receive()
        assert evidence.operation == operation.id
        return evidence


@pytest.fixture
def site(tmp_path: Path, keys: services.Keys) -> services.Site:
    return services.Site.make(tmp_path / "lab", keys, name=f"s{domain.new_id()[:8]}")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "worker.log"


@pytest.fixture
def worker(site: services.Site, broker: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with services.worker(site, broker, log) as process:
        yield process


@pytest.fixture
def controller(site: services.Site, broker: str, worker: subprocess.Popen[bytes]) -> Controller:
    return Controller(site, broker)


def test_echo_is_answered_and_signed(controller: Controller) -> None:
    evidence = controller.ask(controller.operation(OperationName.ECHO))
    assert (evidence.status, evidence.commanded, evidence.lab) == (Status.DONE, False, LAB)
    assert evidence.host is None


def test_whole_life_of_a_run_through_the_broker(
    controller: Controller, sshd: services.Server
) -> None:
    ref = sshd.ref()
    probed = controller.ask(controller.operation(OperationName.PROBE, ref))
    assert probed.scene is not None
    assert (probed.status, probed.host, probed.scene.boot) == (Status.CLEAN, "host", BOOT)
    started = controller.ask(controller.start(ref, 'echo hello >"$BENCHRACK_OUT/data"\n'))
    assert (started.status, started.rc, started.run) == (Status.DONE, 0, controller.run)
    assert {chunk.stream: chunk.data for chunk in started.chunks}["data"] == b"hello\n"
    purged = controller.ask(controller.operation(OperationName.PURGE, ref))
    assert (purged.status, purged.attempt, purged.fence) == (Status.PURGED, 1, 1)


def test_many_streams_and_bytes_still_fit_one_evidence(
    controller: Controller, sshd: services.Server
) -> None:
    name = "a-stream-with-a-name-as-long-as-a-name-may-well-be-in-a-playbook-of-many-steps"
    script = (
        "n=0; while [ $n -lt 350 ]; do n=$((n + 1));"
        f' head -c 3000 /dev/urandom >"$BENCHRACK_OUT/{name}.$n"; done\n'
    )
    evidence = controller.ask(controller.start(sshd.ref(), script))
    assert (evidence.status, len(evidence.manifest)) == (Status.DONE, 351)
    assert sum(len(chunk.data) for chunk in evidence.chunks) > 50_000


def test_operation_of_a_stranger_is_dropped_and_not_executed(
    controller: Controller, sshd: services.Server, log: Path
) -> None:
    marker = sshd.folder / "marker"
    forged = controller.start(sshd.ref(), f"touch {marker}\n")
    controller.send(forged, key=Ed25519PrivateKey.generate())
    echo = controller.ask(controller.operation(OperationName.ECHO))
    assert echo.status is Status.DONE
    services.wait_for(lambda: "does not verify" in log.read_text(), "the drop is logged")
    assert not marker.exists()
    assert not (sshd.folder / "base").exists()


def test_operation_for_another_site_is_dropped(
    controller: Controller, sshd: services.Server, log: Path
) -> None:
    controller.send(controller.operation(OperationName.PROBE, sshd.ref(), site="elsewhere"))
    services.wait_for(lambda: "for site 'elsewhere'" in log.read_text(), "the drop is logged")
    assert not (sshd.folder / "base").exists()


def test_malformed_messages_are_dropped_and_the_worker_goes_on(
    controller: Controller, log: Path
) -> None:
    malformed = ((), ("a", "b"), (1, 2, 3), ("{}", "lab", "x"), ("", "", ""))
    for arguments in malformed:
        controller.send_raw(*arguments)
    controller.ask(controller.operation(OperationName.ECHO))
    services.wait_for(
        lambda: log.read_text().count("was dropped") == len(malformed), "each drop is logged"
    )
    assert "Traceback" not in log.read_text()


def test_altered_operation_is_dropped(controller: Controller, log: Path) -> None:
    operation = controller.operation(OperationName.ECHO)
    envelope = messages.seal(operation, "lab", controller.site.lab_key)
    altered = dataclasses.replace(envelope, body=envelope.body.replace("echo", "scan"))
    controller.send_raw(altered.body, altered.key_id, altered.signature)
    services.wait_for(lambda: "does not verify" in log.read_text(), "the drop is logged")
    with pytest.raises(Empty):
        controller.receive(0.5)


def test_kill_during_attend_comes_through_at_once(
    controller: Controller, sshd: services.Server
) -> None:
    ref = sshd.ref()
    begun = sshd.folder / "begun"
    started = controller.send(controller.start(ref, f"touch {begun}; exec sleep 300\n"))
    services.wait_for(begun.exists, "the run has begun")
    killed = controller.send(controller.operation(OperationName.KILL, ref))
    found = {evidence.operation: evidence for evidence in map(controller.receive, (40, 40))}
    assert found[started.id].status is Status.TIMEOUT
    assert found[killed.id].status is Status.DIED
    assert found[killed.id].duration_s < 10


def test_term_lets_an_operation_end_and_its_evidence_out(
    controller: Controller, sshd: services.Server, worker: subprocess.Popen[bytes]
) -> None:
    begun = sshd.folder / "begun"
    controller.send(controller.start(sshd.ref(), f"touch {begun}; sleep 2\n"))
    services.wait_for(begun.exists, "the run has begun")
    worker.send_signal(signal.SIGTERM)
    assert controller.receive().status is Status.DONE
    assert worker.wait(20) == 0


def test_log_has_one_line_an_operation(
    controller: Controller, sshd: services.Server, log: Path
) -> None:
    controller.ask(controller.operation(OperationName.SCAN, sshd.ref()))
    lines = [line for line in log.read_text().splitlines() if "scan" in line]
    assert len(lines) == 1
    assert f"host=host run={controller.run[:8]} status=done ms=" in lines[0]


def test_silence_ends_the_worker(site: services.Site, broker: str) -> None:
    done = start_worker(site.folder, broker, BENCHRACK_SILENCE_S="1")
    assert done.returncode == 3
    assert "no message for 1 s" in done.stderr


def test_start_without_a_key_says_what_is_missing(tmp_path: Path) -> None:
    done = start_worker(tmp_path, "redis://127.0.0.1:1/0")
    assert done.returncode == 2
    assert "site.key: cannot be read" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "value"),
    [("BENCHRACK_SITE", ""), ("BENCHRACK_CONCURRENCY", "many"), ("BENCHRACK_SILENCE_S", "-1")],
)
def test_start_with_a_wrong_setting_names_it(tmp_path: Path, name: str, value: str) -> None:
    done = start_worker(tmp_path, "redis://127.0.0.1:1/0", **{name: value})
    assert done.returncode == 2
    assert f"{name}: " in done.stderr.splitlines()[-1]


def start_worker(folder: Path, url: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """A worker that ends by itself."""
    settings = {
        "BENCHRACK_BROKER_URL": url,
        "BENCHRACK_SITE": "bench",
        "BENCHRACK_SITE_FOLDER": str(folder),
    }
    return subprocess.run(
        (sys.executable, "-m", "workers.app"),
        env={**os.environ, **settings, **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
