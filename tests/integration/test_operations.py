"""Operations on real hosts: sshd and dropbear, a real shell, real runs."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from orchestrator.contract import domain, messages
from orchestrator.contract.domain import OperationName, Status
from tests import services
from workers import operations, pool, shelf
from workers.deadline import Deadline

LAB = "1" * 32
BOOT = Path("/proc/sys/kernel/random/boot_id").read_text().strip()


class Bench:
    """A station, a host, and a run on it: operations in one word."""

    def __init__(self, station: operations.Station, server: services.Server) -> None:
        self.station = station
        self.server = server
        self.run = domain.new_id()

    def do(
        self,
        op: OperationName,
        *,
        ref: messages.HostRef | None = None,
        fence: int = 1,
        deadline_s: float = 40.0,
        **orders: Any,
    ) -> operations.Finding:
        operation = messages.Operation(
            id=domain.new_id(),
            op=op,
            site="bench",
            lab=LAB,
            host=ref or self.server.ref(),
            run=self.run,
            attempt=1,
            fence=fence,
            deadline_s=deadline_s,
            sent_at=domain.utc_now(),
            **orders,
        )
        return operations.operate(operation, self.station)

    def start(
        self, script: str, *, attend_s: float = 0, boot: str = BOOT, **options: Any
    ) -> operations.Finding:
        order = messages.StartOrder(
            script=script.encode(), if_boot=boot, attend_s=attend_s, max_runtime_s=60
        )
        return self.do(OperationName.START, start=order, **options)

    def fetch(self, *ranges: tuple[str, int, int]) -> operations.Finding:
        chunks = tuple(
            messages.ChunkOrder(stream=name, offset=offset, length=length)
            for name, offset, length in ranges
        )
        return self.do(OperationName.FETCH, fetch=messages.FetchOrder(chunks=chunks))

    def await_done(self) -> operations.Finding:
        found: list[operations.Finding] = []

        def done() -> bool:
            found.append(self.do(OperationName.POLL))
            return found[-1].status is Status.DONE

        services.wait_for(done, "the run is done")
        return found[-1]

    @property
    def base(self) -> Path:
        return self.server.folder / "base"


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def station(keys: services.Keys, cache: Path) -> Iterator[operations.Station]:
    pool_ = pool.Pool(keys.folder)
    yield operations.Station(pool=pool_, cache=cache)
    pool_.close()


@pytest.fixture
def bench(station: operations.Station, server: services.Server) -> Bench:
    """A bench on each kind of server."""
    return Bench(station, server)


@pytest.fixture
def openssh(station: operations.Station, sshd: services.Server) -> Bench:
    """A bench on OpenSSH alone."""
    return Bench(station, sshd)


def contents(finding: operations.Finding) -> dict[str, bytes]:
    return {chunk.stream: chunk.data for chunk in finding.chunks}


def test_probe_first_contact_tells_the_scene(bench: Bench) -> None:
    finding = bench.do(OperationName.PROBE)
    assert (finding.status, finding.commanded) == (Status.CLEAN, True)
    scene = finding.scene
    assert scene is not None
    assert (scene.boot, scene.base, scene.uid) == (BOOT, str(bench.base), os.getuid())
    assert scene.fence == 0
    assert scene.facts.rstrip().endswith(b"@@FACTS end ok")


def test_probe_again_finds_the_same_instance(bench: Bench) -> None:
    first, second = (bench.do(OperationName.PROBE).scene for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.instance == second.instance


def test_probe_puts_rackprobe_on_the_path_of_runs(bench: Bench) -> None:
    bench.do(OperationName.PROBE)
    script = 'PATH=$BENCHRACK_BIN:$PATH; rackprobe --version >"$BENCHRACK_OUT/version" 2>&1\n'
    finding = bench.start(script, attend_s=10)
    assert finding.status is Status.DONE
    assert contents(finding)["version"].startswith(b"rackprobe")


def test_start_attended_brings_the_result_home_at_once(bench: Bench) -> None:
    finding = bench.start('printf "a\\000\\377" >"$BENCHRACK_OUT/data"; exit 3\n', attend_s=10)
    assert (finding.status, finding.rc) == (Status.DONE, 3)
    assert {entry.name for entry in finding.manifest} == {"console", "data"}
    assert contents(finding)["data"] == b"a\0\xff"
    for chunk in finding.chunks:
        assert chunk.sha256 == hashlib.sha256(chunk.data).hexdigest()


def test_whole_life_unattended_leaves_nothing(bench: Bench) -> None:
    script = 'head -c 700000 /dev/urandom >"$BENCHRACK_OUT/data"\n'
    assert bench.start(script).status is Status.RUNNING
    done = bench.await_done()
    entry = next(entry for entry in done.manifest if entry.name == "data")
    home = bytearray()
    while len(home) < entry.size:
        length = min(messages.MAX_CHUNKS, entry.size - len(home))
        home += bench.fetch(("data", len(home), length)).chunks[0].data
    assert entry.size == 700_000
    assert hashlib.sha256(home).hexdigest() == entry.digest
    assert bench.do(OperationName.PURGE).status is Status.PURGED
    assert list((bench.base / "r").iterdir()) == []
    assert not os.path.lexists(bench.base / "active")


def test_start_attended_large_output_fills_the_evidence_and_no_more(openssh: Bench) -> None:
    script = 'head -c 900000 /dev/urandom >"$BENCHRACK_OUT/data"\n'
    finding = openssh.start(script, attend_s=10)
    assert sum(len(chunk.data) for chunk in finding.chunks) <= messages.MAX_CHUNKS
    rest = openssh.fetch(("data", 899_000, 5000))
    assert [len(chunk.data) for chunk in rest.chunks] == [1000]


def test_start_repeated_executes_once(bench: Bench) -> None:
    script = f'echo x >>{bench.server.folder}/count; echo ok >"$BENCHRACK_OUT/data"\n'
    for _ in range(3):
        assert bench.start(script, attend_s=10).status is Status.DONE
    assert (bench.server.folder / "count").read_text() == "x\n"


def test_start_of_another_run_is_busy_and_names_the_owner(openssh: Bench) -> None:
    openssh.start("sleep 30\n")
    other = Bench(openssh.station, openssh.server)
    finding = other.start("true\n", fence=2)
    assert finding.status is Status.BUSY
    assert finding.owner == f"{LAB}.{openssh.run}.1.1.{BOOT}"
    assert openssh.do(OperationName.REAP).status is Status.CLEAN


def test_start_below_the_mark_is_stale_with_the_fence(openssh: Bench) -> None:
    openssh.start("true\n", attend_s=10, fence=7)
    openssh.do(OperationName.PURGE, fence=7)
    finding = Bench(openssh.station, openssh.server).start("true\n", fence=3)
    assert (finding.status, finding.host_fence) == (Status.STALE, 7)


def test_start_under_another_boot_does_nothing(openssh: Bench) -> None:
    marker = openssh.server.folder / "marker"
    finding = openssh.start(f"touch {marker}\n", boot="another-boot", attend_s=10)
    assert (finding.status, finding.boot) == (Status.OTHERBOOT, BOOT)
    assert not marker.exists()


def test_start_without_the_space_it_needs_is_refused_in_a_sentence(openssh: Bench) -> None:
    order = messages.StartOrder(script=b"true\n", if_boot=BOOT, max_runtime_s=5, need_free=2**52)
    finding = openssh.do(OperationName.START, start=order)
    assert (finding.status, finding.commanded) == (Status.PROTO, True)
    assert "KiB free" in finding.detail


def test_attend_past_its_deadline_is_a_timeout_and_the_run_goes_on(bench: Bench) -> None:
    bench.do(OperationName.PROBE)
    finding = bench.start('sleep 4; echo ok >"$BENCHRACK_OUT/data"\n', attend_s=40, deadline_s=2)
    assert (finding.status, finding.commanded) == (Status.TIMEOUT, True)
    assert bench.await_done().rc == 0


def test_kill_ends_an_attending_and_the_run(bench: Bench) -> None:
    bench.do(OperationName.PROBE)
    with ThreadPoolExecutor() as threads:
        script = f"touch {bench.server.folder}/begun; exec sleep 300\n"
        attending = threads.submit(bench.start, script, attend_s=40)
        services.wait_for((bench.server.folder / "begun").exists, "the run has begun")
        begun = time.monotonic()
        assert bench.do(OperationName.KILL).status is Status.DIED
        assert time.monotonic() - begun < 8
        assert attending.result().status is Status.TIMEOUT
    assert bench.do(OperationName.REAP).status is Status.CLEAN


def test_kill_that_waits_keeps_a_start_from_attending(openssh: Bench) -> None:
    """A start that takes the host's slot before a waiting kill does not make it wait."""
    ref = openssh.server.ref()
    openssh.do(OperationName.PROBE)
    with ThreadPoolExecutor() as threads:
        with openssh.station.pool.hold(ref, deadline=Deadline.after(40)) as slot:
            killing = threads.submit(openssh.do, OperationName.KILL)
            services.wait_for(lambda: slot.pressed, "the kill waits")
            with slot.attend(wanted=True) as attending:
                assert not attending
        assert killing.result().status is Status.ABSENT


def test_operation_waits_for_its_turn_no_longer_than_its_deadline(openssh: Bench) -> None:
    with openssh.station.pool.hold(openssh.server.ref(), deadline=Deadline.after(40)):
        finding = openssh.do(OperationName.POLL, deadline_s=0.3)
    assert (finding.status, finding.commanded) == (Status.TIMEOUT, False)


def test_operation_on_a_dead_idle_connection_connects_anew(bench: Bench) -> None:
    bench.do(OperationName.PROBE)
    for pid in bench.server.sessions():
        os.kill(pid, signal.SIGKILL)
    assert bench.do(OperationName.POLL).status is Status.ABSENT


def test_operations_at_once_on_one_host_all_come_through(bench: Bench) -> None:
    with ThreadPoolExecutor(8) as threads:
        findings = list(threads.map(lambda _: bench.do(OperationName.POLL), range(80)))
    assert {finding.status for finding in findings} == {Status.ABSENT}


def test_pool_closes_idle_connections(bench: Bench) -> None:
    bench.do(OperationName.POLL)
    bench.station.pool.close_idle()
    assert bench.server.sessions()
    bench.station.pool.close_idle(after_s=0)
    services.wait_for(lambda: not bench.server.sessions(), "the server's session ends")


def test_pool_does_not_trust_a_session_under_other_pins(openssh: Bench) -> None:
    openssh.do(OperationName.POLL)
    finding = openssh.do(OperationName.POLL, ref=openssh.server.ref(host_keys=()))
    assert (finding.status, finding.commanded) == (Status.HOSTKEY, False)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"key": "other"}, Status.AUTH),
        ({"key": "missing"}, Status.AUTH),
        ({"host_keys": ()}, Status.HOSTKEY),
        ({"port": 1}, Status.UNREACHABLE),
    ],
)
def test_operation_without_contact_says_why_and_sends_nothing(
    openssh: Bench, change: dict[str, Any], status: Status
) -> None:
    ref = openssh.server.ref().model_copy(update=change)
    finding = openssh.do(OperationName.POLL, ref=ref)
    assert (finding.status, finding.commanded) == (status, False)
    assert finding.detail


def test_scan_finds_the_servers_keys(bench: Bench) -> None:
    finding = bench.do(OperationName.SCAN, ref=bench.server.ref(host_keys=(), key="missing"))
    assert tuple(key.line for key in finding.host_keys) == bench.server.host_keys
    assert (finding.status, finding.commanded) == (Status.DONE, False)


def test_fetch_of_an_unknown_run_is_absent(openssh: Bench) -> None:
    assert openssh.fetch(("data", 0, 10)).status is Status.ABSENT


def test_put_in_pieces_out_of_order_lands_whole_on_the_shelf(openssh: Bench) -> None:
    data = os.urandom(3000)
    sha256 = hashlib.sha256(data).hexdigest()
    statuses = [
        openssh.do(
            OperationName.PUT,
            put=messages.PutOrder(
                sha256=sha256, size=3000, offset=offset, data=data[offset : offset + 1000]
            ),
        ).status
        for offset in (2000, 0, 2000, 1000)
    ]
    assert statuses == [Status.PREPARED, Status.PREPARED, Status.PREPARED, Status.DONE]
    assert (openssh.base / "bin" / sha256).read_bytes() == data


def test_power_is_refused_without_contact(openssh: Bench) -> None:
    finding = openssh.do(OperationName.POWER)
    assert (finding.status, finding.commanded) == (Status.PROTO, False)
    assert re.search("cannot power", finding.detail)


def test_rackprobe_for_an_unknown_machine_is_none_and_no_error(cache: Path) -> None:
    assert shelf.rackprobe_for("vax", cache) is None


def test_threads_are_given_back(bench: Bench) -> None:
    bench.do(OperationName.PROBE)
    threads = threading.active_count()
    for _ in range(5):
        bench.do(OperationName.POLL)
    services.wait_for(lambda: threading.active_count() <= threads, "no thread is left over")
