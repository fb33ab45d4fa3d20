"""Streams -> outcome and measurements: what counts, what does not, and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator import assess
from orchestrator.contract.domain import Better, Measurement, Outcome
from orchestrator.parsers import REGISTRY
from orchestrator.parsers.base import Capture, Parser, Reading
from orchestrator.playbook import loader, params
from orchestrator.playbook.model import Playbook

CATALOGUE = Path(__file__).parent.parent.parent / "playbooks"
RESULT = """\
benchrack 1
stage run begin 11.00
step run.main 0 11.00 13.00
stage run end 13.00
outcome finished
end
"""
PLAYBOOK = """\
playbook: 1
name: tiny
title: Tiny
monitors: [{name: stat, read: [/proc/stat]}]
metrics:
  - {name: time, unit: ms, better: lower, valid: [1, 100], primary: true,
     from: {step: run.main, parser: regex@1, field: value, pattern: 'time (?P<value>\\S+)'}}
  - {name: size, unit: KiB, better: neither, needed: false,
     from: {step: run.main, of: "file:f", parser: regex@1, field: value,
            pattern: 'size (?P<value>.*)'}}
  - {name: switches, unit: 1/s, better: lower, needed: false,
     from: {monitor: stat, parser: proc_stat@1, field: ctxt-per-s}}
stages:
  run:
    steps: [{id: main, run: [x], save: [f]}]
"""
STREAMS = {
    "result": RESULT.encode(),
    "run.main.out": b"time 2.5\n",
    "run.main.err": b"",
    "file.f": b"size 4\n",
    "monitor.stat.before": b"cpu 1 0 1 100\ncpu0 1 0 1 100\nctxt 100\n",
    "monitor.stat.after": b"cpu 2 0 2 300\ncpu0 2 0 2 300\nctxt 300\n",
}


def tiny() -> Playbook:
    return loader.load(PLAYBOOK.encode(), name="tiny.yaml")


def found(streams: dict[str, bytes] | None = None, *, rc: int | None = 0) -> assess.Assessment:
    """What the streams say, those given in place of the good ones."""
    whole = STREAMS | (streams or {})
    kept = {name: data for name, data in whole.items() if data != b"absent"}
    return assess.assess(tiny(), {}, kept, registry=REGISTRY, nonce="", rc=rc)


def values(assessment: assess.Assessment) -> dict[str, float]:
    return {one.name: one.value for one in assessment.measurements}


def test_assess_of_a_good_run_gives_measurements_in_base_units() -> None:
    got = found()
    assert (got.outcome, got.reason, got.notes) == (Outcome.FINISHED, "", ())
    assert got.measurements[0] == Measurement(
        name="time", value=0.0025, unit="ms", better=Better.LOWER, parser="regex@1", primary=True
    )
    assert values(got) == {"time": 0.0025, "size": 4096.0, "switches": 100.0}


@pytest.mark.parametrize("outcome", ["failed", "skipped", "void", "timed-out"])
def test_assess_of_another_outcome_gives_its_reason_and_no_numbers(outcome: str) -> None:
    end = f"outcome {outcome}\nreason because of x\n"
    got = found({"result": RESULT.replace("outcome finished\n", end).encode()}, rc=1)
    assert (got.outcome, got.reason) == (Outcome(outcome), "because of x")
    assert got.measurements == ()


def test_assess_of_a_result_without_end_is_the_labs_trouble() -> None:
    got = found({"result": RESULT.removesuffix("end\n").encode()}, rc=137)
    assert got.outcome is Outcome.INFRA_FAILED
    assert got.reason == "the script was cut off in stage run; the script ended with status 137"
    assert got.measurements == ()


def test_assess_of_a_run_that_the_host_stopped_is_timed_out() -> None:
    got = found({"result": b"benchrack 1\nstage run begin 1.00\n"}, rc=124)
    assert got.outcome is Outcome.TIMED_OUT
    assert got.reason == "the host stopped the run at its time limit in stage run"


def test_assess_without_any_stream_is_the_labs_trouble() -> None:
    got = assess.assess(tiny(), {}, {}, registry=REGISTRY, nonce="", rc=None)
    assert (got.outcome, got.reason) == (Outcome.INFRA_FAILED, "the host left no result")


@pytest.mark.parametrize(
    ("streams", "reason"),
    [
        ({"run.main.out": b"nothing\n"}, "time: regex@1: "),
        ({"run.main.out": b""}, "time: regex@1: "),
        ({"run.main.out": b"absent"}, "time: regex@1: the run left no run.main.out"),
        ({"run.main.out": b"time nan\n"}, "time: regex@1: "),
        ({"run.main.out": b"time 0\n"}, "time = 0 ms is outside 1..100"),
        ({"run.main.out": b"time 100.5\n"}, "time = 100.5 ms is outside 1..100"),
    ],
)
def test_assess_without_a_needed_number_fails_with_the_sentence(
    streams: dict[str, bytes], reason: str
) -> None:
    got = found(streams)
    assert got.outcome is Outcome.FAILED
    assert got.reason.startswith(reason)


def test_assess_keeps_a_number_that_is_outside_its_range() -> None:
    assert values(found({"run.main.out": b"time 1000\n"}))["time"] == 1.0


@pytest.mark.parametrize("lost", [b"absent", b"nonsense\n"])
def test_assess_without_an_unneeded_number_notes_its_absence(lost: bytes) -> None:
    got = found({"file.f": lost, "monitor.stat.after": lost})
    assert got.outcome is Outcome.FINISHED
    assert values(got) == {"time": 0.0025}
    assert [note.code for note in got.notes] == ["absent", "absent"]
    assert got.notes[0].text.startswith("size is absent: regex@1: ")


def test_assess_of_a_step_that_was_left_out_says_so() -> None:
    skipped = "step run.main - 11.00 11.00 skipped"
    got = found({"result": RESULT.replace("step run.main 0 11.00 13.00", skipped).encode()})
    assert (got.outcome, got.reason) == (Outcome.FAILED, "time: run.main was left out")


def test_assess_with_a_parser_that_is_gone_says_so() -> None:
    got = assess.assess(tiny(), {}, STREAMS, registry={}, nonce="", rc=0)
    assert got.reason == "time: this version has no parser regex@1"


def test_assess_parses_a_step_once_for_all_its_metrics() -> None:
    seen: list[Capture] = []

    def parse(capture: Capture) -> Reading:
        seen.append(capture)
        return REGISTRY["rackprobe_latency@1"].parse(capture)

    once = Parser(
        name="rackprobe_latency",
        version=1,
        parse=parse,
        fields=REGISTRY["rackprobe_latency@1"].fields,
    )
    playbook = loader.load((CATALOGUE / "sched-latency-idle.yaml").read_bytes(), name="p")
    streams = {"result": RESULT.replace("main", "probe").encode(), "run.probe.out": b"lost"}
    given = params.parse_values(playbook, {})
    got = assess.assess(
        playbook, given, streams, registry={once.ident: once}, nonce="ab", rc=0, wall_s=5.0
    )
    assert got.outcome is Outcome.FAILED
    (capture,) = seen
    assert capture.command[:2] == ("rackprobe", "latency")
    assert (capture.nonce, capture.rc, capture.elapsed_s, capture.wall_s) == ("ab", 0, 2.0, 5.0)


@pytest.mark.parametrize(
    ("tool", "parser"), [("iperf2", "iperf2_text@1"), ("rackprobe", "rackprobe_stream@1")]
)
def test_assess_reads_the_source_of_the_tool_that_was_used(tool: str, parser: str) -> None:
    playbook = loader.load((CATALOGUE / "loopback-throughput.yaml").read_bytes(), name="p")
    given = params.parse_values(playbook, {"tool": tool})
    streams = {"result": RESULT.encode(), f"run.{tool}.out": b"", f"run.{tool}.err": b""}
    got = assess.assess(playbook, given, streams, registry=REGISTRY, nonce="ab", rc=0)
    assert got.reason.startswith(f"throughput: {parser}: ")


def test_health_check_names_all_that_is_wrong() -> None:
    playbook = loader.load((CATALOGUE / "health-check.yaml").read_bytes(), name="p")
    streams = {
        "result": RESULT.encode(),
        "run.load.out": b"3.50 1.00 0.50 1/100 4242\n",
        "run.memory.out": b"MemTotal: 32768 kB\nMemFree: 512 kB\nBuffers: 0 kB\nCached: 0 kB\n",
        "run.disk.out": b"Filesystem 1K-blocks Used Available Use% Mounted on\n"
        b"/dev/hda1 100000 1000 99000 2% /\n",
        "run.leftovers.out": b"",
    }
    got = assess.assess(playbook, {}, streams, registry=REGISTRY, nonce="", rc=0)
    assert got.outcome is Outcome.FAILED
    assert got.reason == "load1 = 3.5 is outside 0..1; mem-free = 0.5 MiB is outside 2..1000000000"
    assert values(got)["leftovers"] == 0.0
