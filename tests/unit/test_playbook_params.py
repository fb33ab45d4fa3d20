"""Parameters, their canonical text, the tool, and the time that values mean."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.contract import errors
from orchestrator.playbook import loader, params, requirements, scalars
from orchestrator.playbook.model import Playbook
from orchestrator.playbook.scalars import Type

CATALOGUE = Path(__file__).parent.parent.parent / "playbooks"
PLAYBOOK = """\
playbook: 1
name: tiny
title: Tiny
params:
  whole: {type: int, default: 5, min: 1, max: 10}
  part: {type: number, default: 1e3}
  flag: {type: bool, default: false}
  wait: {type: duration, default: 1.5ms, max: 1h}
  room: {type: size, default: 2MiB}
  kind: {type: choice, choices: [a, b], default: a}
  word: {type: word, default: 0x1}
  note: {type: text, default: "", max_length: 8}
  file: {type: path, default: /tmp/x}
metrics:
  - {name: m, unit: s, better: lower, primary: true,
     from: {step: run.s, parser: p@1, field: f}}
stages:
  run:
    takes: [whole, 2s]
    steps: [{id: s, run: [x]}]
"""


def tiny() -> Playbook:
    return loader.load(PLAYBOOK.encode(), name="tiny.yaml")


def catalogue(name: str) -> Playbook:
    return loader.load((CATALOGUE / f"{name}.yaml").read_bytes(), name=name)


def test_parse_values_without_any_gives_the_defaults_typed() -> None:
    assert params.parse_values(tiny(), {}) == {
        "whole": 5,
        "part": 1000.0,
        "flag": False,
        "wait": 0.0015,
        "room": 2097152,
        "kind": "a",
        "word": "0x1",
        "note": "",
        "file": "/tmp/x",
    }


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("whole", "11", "the parameter whole is 11; it must be from 1 to 10; set it with --set "),
        ("whole", "1_0", "the parameter whole is wrong: '1_0' is not a whole number; write plain"),
        ("part", "nan", "the parameter part is wrong: 'nan' is not a number"),
        ("part", "1e999", "the parameter part is wrong: '1e999' is too large for a number"),
        ("flag", "yes", "the parameter flag is wrong: 'yes' is neither true nor false"),
        ("wait", "5", "the parameter wait is wrong: '5' is not a duration"),
        ("wait", "2h", "the parameter wait is 2h; it must be at most 1h"),
        ("room", "1.5KiB", "the parameter room is wrong: '1.5KiB' is not a size"),
        ("kind", "c", "the parameter kind is 'c'; it must be one of: a b"),
        ("word", "-rf", "the parameter word is wrong: '-rf' begins with -"),
        ("word", "a b", "the parameter word is wrong: 'a b' is not one word"),
        ("word", "a\x1bb", "the parameter word is wrong: 'a\\x1bb' holds a control character"),
        ("note", "a\0", "the parameter note is wrong: the text holds a NUL"),
        ("note", "\udcff", "the parameter note is wrong: the text is not valid Unicode"),
        ("note", "ääääa", "the parameter note has 9 bytes; it may have 8"),
        ("file", "a/../b", "the parameter file is wrong: 'a/../b': a path has neither .. nor ~"),
        ("whle", "1", "tiny has no parameter 'whle'; did you mean 'whole'?"),
    ],
)
def test_parse_values_of_a_wrong_value_names_parameter_and_range(
    name: str, text: str, message: str
) -> None:
    with pytest.raises(errors.InputError) as caught:
        params.parse_values(tiny(), {name: text})
    assert caught.value.message.startswith(message)


def test_parse_values_without_default_asks_for_the_value() -> None:
    text = PLAYBOOK.replace("default: 5, ", "")
    playbook = loader.load(text.encode(), name="t")
    with pytest.raises(errors.InputError, match=r"whole has no default; set it with --set whole="):
        params.parse_values(playbook, {})


def test_typed_values_give_back_what_canonical_values_were_made_of() -> None:
    values = params.parse_values(tiny(), {"flag": "true", "wait": "300us", "note": "a'b"})
    canonical = params.canonical_values(tiny(), values)
    assert canonical["flag"] == "1"
    assert canonical["wait"] == "0.0003"
    assert params.typed_values(tiny(), canonical) == values


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_plain_number_has_no_exponent_and_reads_back_the_same(value: float) -> None:
    text = scalars.plain(value)
    assert "e" not in text
    assert float(text) == value


def test_plain_number_is_read_back_by_its_type() -> None:
    assert scalars.from_plain(Type.NUMBER, scalars.plain(1e-7)) == 1e-7


def test_series_params_are_sorted_and_equal_for_equal_values() -> None:
    spelled = {"part": "1000", "wait": "1500us"}
    first = params.series_params(tiny(), params.parse_values(tiny(), {}))
    again = params.series_params(tiny(), params.parse_values(tiny(), spelled))
    assert first == again == tuple(sorted(first))


def test_expected_time_is_the_product_of_takes_and_the_pauses() -> None:
    playbook = catalogue("sched-latency-idle")
    values = params.parse_values(playbook, {"samples": "2000", "interval_us": "500"})
    assert params.expected_s(playbook, values) == pytest.approx(1)
    assert params.expected_s(playbook, values, 3) == pytest.approx(3 + 2 * 5)
    assert params.max_runtime_s(playbook, values) > params.stage_timeout_s(playbook, "run", values)


def test_parse_values_that_cannot_end_in_time_are_refused() -> None:
    playbook = loader.load(
        PLAYBOOK.replace("    takes", "    timeout: 9s\n    takes").encode(), name="t"
    )
    with pytest.raises(errors.InputError, match=r"takes 10 s, over the 9 s .* lower one of: whole"):
        params.parse_values(playbook, {})


@pytest.mark.parametrize(
    ("known", "tool"),
    [({"iperf", "iperf3"}, "iperf2"), ({"iperf3"}, "iperf3"), (set(), "rackprobe")],
)
def test_resolve_tool_takes_the_first_declared_that_the_host_has(
    known: set[str], tool: str
) -> None:
    playbook = catalogue("loopback-throughput")
    values = params.parse_values(playbook, {})
    assert params.resolve_tool(playbook, values, frozenset(known))["tool"] == tool


def test_resolve_tool_leaves_a_chosen_tool_and_misfit_names_what_is_missing() -> None:
    playbook = catalogue("loopback-throughput")
    values = params.parse_values(playbook, {"tool": "iperf2"})
    known = frozenset({"iperf3"})
    facts = requirements.HostFacts(cpus=1, memory_kib=32768, arch="i486", tools=known)
    assert params.resolve_tool(playbook, values, known) == values
    assert requirements.misfit(playbook, values, facts) == "it has no iperf; install it"


def test_misfit_does_not_refuse_what_is_not_known_to_be_missing() -> None:
    playbook = catalogue("loopback-throughput")
    values = params.parse_values(playbook, {"tool": "iperf2"})
    facts = requirements.HostFacts(cpus=1, memory_kib=32768, arch="i486", tools=None)
    assert requirements.misfit(playbook, values, facts) is None


def test_misfit_of_a_small_host_names_the_memory() -> None:
    playbook = catalogue("loopback-throughput")
    values = params.parse_values(playbook, {"tool": "rackprobe"})
    facts = requirements.HostFacts(cpus=1, memory_kib=4096, arch="i486")
    misfit = requirements.misfit(playbook, values, facts)
    assert misfit == "it has 4096 KiB of memory; needed are 8192 KiB free"


def test_run_that_takes_longer_than_anybody_waits_is_refused() -> None:
    playbook = catalogue("sched-latency-idle")
    longest = {"samples": "65536", "interval_us": "1000000"}
    assert params.parse_values(playbook, longest)
    text = (CATALOGUE / "sched-latency-idle.yaml").read_text()
    wide = loader.load(text.replace("max: 65536", "max: 10000000000000000").encode(), name="w")
    with pytest.raises(errors.InputError, match="30 days"):
        params.parse_values(wide, {"samples": "10000000000000000"})


def test_series_leaves_out_what_cannot_change_a_number() -> None:
    playbook = catalogue("loopback-throughput")
    values = params.parse_values(playbook, {"port": "26000", "tool": "iperf2"})
    names = [name for name, _ in params.series_params(playbook, values)]
    assert names == ["seconds", "streams", "tool"]
