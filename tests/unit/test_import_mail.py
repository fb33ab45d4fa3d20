"""Mails of a kernel list: read to the digit, whole or not at all."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.contract import errors
from orchestrator.contract.domain import PreemptModel
from orchestrator.importers.base import ImportedRun
from orchestrator.importers.mail import read_mail
from orchestrator.stats import summary
from tests.unit import series

FORMS = ("flat", "wrapped")
THROUGHPUT = series.mail("iperf-2007.wrapped.txt").decode()
LATENCY = series.mail("latency-2004.wrapped.txt").decode()
GOLDEN = json.loads((series.DATA / "statistics" / "seeds.json").read_text())
GROUPS = {"s1": "Previously reported numbers", "s2": "Numbers from fresh pull today"}

#: other labels, four repeats, other command; the last line of the first block is to be filled in
THIRD = """From: A. Reader
Subject: more numbers

I executed iperf -c 127.0.0.1 -P 4 -t 60 over night.

With the old scheduler:

3.14.1-foo
[SUM]  0.0-60.0 sec  30.0 GBytes  4.29 Gbits/sec
[SUM]  0.0-60.0 sec  30.1 GBytes  4.31 Gbits/sec
[SUM]  0.0-60.1 sec  29.9 GBytes  4.27 Gbits/sec
{line}

With the new one

3.14.1-foo (cfs+)
[SUM]  0.0-60.0 sec  33.0 GBytes  4.72 Gbits/sec
[SUM]  0.0-60.0 sec  800 MBytes   112 Mbits/sec
"""
GOOD = "[SUM]  0.0-60.0 sec  30.2 GBytes  4.32 Gbits/sec"


def read(text: str) -> tuple[ImportedRun, ...]:
    return read_mail(text.encode(), name="mail.txt")


def flat(text: str) -> str:
    return " ".join(text.split())


def as_is(text: str) -> str:
    return text


def figures(runs: tuple[ImportedRun, ...]) -> dict[tuple[str, str], list[float]]:
    """The primary figures by group and kernel, in the unit they are shown in."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for made in series.of_runs(runs):
        if made.primary:
            values[made.group, made.kernel].append(round(made.value / 1e9, 9))
    return values


def facts(runs: tuple[ImportedRun, ...]) -> list[object]:
    return [(r.kernel, r.group, r.params, r.order, r.measurements, r.notes) for r in runs]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", GOLDEN["series"])
def test_throughput_mail_gives_the_golden_figures(form: str, name: str) -> None:
    session, kernel = name.split("/")
    runs = read_mail(series.mail(f"iperf-2007.{form}.txt"), name=form)
    found = figures(runs)[GROUPS[session], kernel]
    assert found == GOLDEN["series"][name]["gbit"]
    made = summary.summarise([(value, None) for value in found])
    assert made.mean == GOLDEN["series"][name]["gbit_stats"]["mean"]


@pytest.mark.parametrize("form", FORMS)
def test_throughput_mail_gives_bytes_and_seconds_of_every_run(form: str) -> None:
    runs = read_mail(series.mail(f"iperf-2007.{form}.txt"), name=form)
    by_name = {measured.name: measured.value for measured in runs[1].measurements}
    assert by_name == {"throughput": 4.23e9, "transferred": 148 * 2**30, "elapsed": 300.1}


@pytest.mark.parametrize("form", FORMS)
def test_throughput_mail_says_what_was_executed(form: str) -> None:
    runs = read_mail(series.mail(f"iperf-2007.{form}.txt"), name=form)
    assert {run.playbook for run in runs} == {"loopback-throughput"}
    assert dict(runs[0].params) == {"seconds": "300", "streams": "10", "tool": "iperf2"}
    assert [run.order for run in runs] == list(range(1, 13))


@pytest.mark.parametrize("form", FORMS)
def test_remarks_after_a_label_travel_as_notes(form: str) -> None:
    runs = read_mail(series.mail(f"iperf-2007.{form}.txt"), name=form)
    remarks = {(run.kernel, note.text) for run in runs for note in run.notes}
    assert remarks == {
        ("2.6.23-smp-d", "sched-devel"),
        ("2.6.23-smp-d-hrt", "re-enable PREEMPT_RESTRICT"),
    }


def test_one_label_in_two_groups_is_two_kernels() -> None:
    runs = [run for run in read(THROUGHPUT) if run.kernel == "2.6.23-smp-d"]
    assert {run.identity.imported for run in runs} == {
        ("2.6.23-smp-d", group) for group in GROUPS.values()
    }


@pytest.mark.parametrize("form", FORMS)
def test_latency_mail_gives_the_golden_figures(form: str) -> None:
    runs = read_mail(series.mail(f"latency-2004.{form}.txt"), name=form)
    found = {
        (dict(run.params)["load"], run.group): {
            measured.name: (round(measured.value * 1e6, 6), measured.samples)
            for measured in run.measurements
        }
        for run in runs
    }
    for load in ("loaded", "unloaded"):
        for setting, group in (("on", "preemption enabled"), ("off", "preemption disabled")):
            golden = GOLDEN["preempt_mail"]["table"][load][setting]
            assert found[load, group] == {
                "latency.mean": (golden["avg"], 10_000),
                "latency.min": (golden["min"], 10_000),
                "latency.max": (golden["max"], 10_000),
            }


def test_latency_mail_names_kernel_and_preemption_model() -> None:
    runs = read(LATENCY)
    assert {run.kernel for run in runs} == {"2.6.1"}
    assert [run.preempt for run in runs[:2]] == [
        PreemptModel.FULL,
        PreemptModel.NONE_OR_VOLUNTARY,
    ]


@pytest.mark.parametrize(
    "change",
    [
        flat,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: re.sub("^", "> ", text, flags=re.MULTILINE),
        lambda text: re.sub("^", ">> | ", text, flags=re.MULTILINE),
        lambda text: text.replace(" ", "   "),
        lambda text: text.replace("\n", " \t\n\n"),
        lambda text: "\ufeff" + text,
    ],
    ids=["flat", "crlf", "quoted", "quoted-twice", "spaces", "blank-lines", "bom"],
)
@pytest.mark.parametrize("text", [THROUGHPUT, LATENCY, THIRD.format(line=GOOD)])
def test_form_of_a_mail_changes_nothing(text: str, change: Callable[[str], str]) -> None:
    assert facts(read(change(text))) == facts(read(text))


def test_mail_in_latin_1_is_read() -> None:
    assert read_mail("Grüße\n".encode("latin-1") + THROUGHPUT.encode(), name="mail.txt")


@pytest.mark.parametrize("shape", [as_is, flat])
def test_third_mail_with_four_repeats_gives_its_stated_values(shape: Callable[[str], str]) -> None:
    runs = read(shape(THIRD.format(line=GOOD)))
    assert figures(runs) == {
        ("With the old scheduler", "3.14.1-foo"): [4.29, 4.31, 4.27, 4.32],
        ("With the new one", "3.14.1-foo"): [4.72, 0.112],
    }
    assert dict(runs[0].params) == {"seconds": "60", "streams": "4", "tool": "iperf2"}


@pytest.mark.parametrize("shape", [as_is, flat])
@pytest.mark.parametrize(
    "line",
    [
        "[SUM]  0.0-60.0 sec  30.2 GBytes  43.2 Gbits/sec",
        "[SUM]  0.0-60.0 sec  3x.2 GBytes  4.32 Gbits/sec",
        "[SUM]  0.0-6q.0 sec  30.2 GBytes  4.32 Gbits/sec",
        "[SUM]  0.0-60.0 sec  30.2 GBytes  4.32 Gbits/s",
        "[SUM]  0.0-60.0 sec  30.2 GBytes",
        "[SUM]  0.0-60.0 sec",
        "[SUM]  ~~~~ 30.2 GBytes  4.32 Gbits/sec",
        "[SUM  0.0-60.0 sec  30.2 GBytes  4.32 Gbits/sec",
        "SUM]  0.0-60.0 sec  30.2 GBytes  4.32 Gbits/sec",
        "[S M]  0.0-60.0 sec  30.2 GBytes  4.32 Gbits/sec",
        "[SUM]  0.0-0.0 sec  30.2 GBytes  4.32 Gbits/sec",
        "[SUM]  60.0-120.0 sec  30.2 GBytes  4.32 Gbits/sec",
    ],
)
def test_damaged_line_refuses_the_mail(line: str, shape: Callable[[str], str]) -> None:
    with pytest.raises(errors.ImportRefused, match=r"^mail\.txt: line \d+"):
        read(shape(THIRD.format(line=line)))


def test_damaged_line_is_named_by_its_number_in_the_file() -> None:
    with pytest.raises(errors.ImportRefused, match=r"line 12: .*'\[SUM\] 0\.0-60\.0 sec 30\.2"):
        read(THIRD.format(line="[SUM]  0.0-60.0 sec  30.2 GBytes  9.99 Gbits/sec"))


@settings(deadline=None)
@given(st.data())
def test_one_character_lost_to_noise_never_changes_a_figure(data: st.DataObject) -> None:
    lines = [found.span() for found in re.finditer(r"\[SUM\][^\n]*Gbits/sec", THROUGHPUT)]
    begin, end = data.draw(st.sampled_from(lines))
    place = data.draw(st.integers(begin, end - 1))
    noisy = THROUGHPUT[:place] + data.draw(st.sampled_from("#?xO")) + THROUGHPUT[place + 1 :]
    try:
        found = figures(read(noisy))
    except errors.ImportRefused:
        return
    assert found == figures(read(THROUGHPUT))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("170 us / 232 us", "170 us / us"),
        ("170 us / 232 us", "170 us"),
        ("170 us / 232 us", "170 us / 23? us"),
        ("49 us / 43 us", "490 us / 43 us"),
        ("10.000 samples", "10.00 samples"),
        ("10.000 samples", "many samples"),
        ("maximum scheduler", "average scheduler"),
        ("2.6.1", "the"),
    ],
)
def test_damaged_latency_table_is_refused_with_its_line(old: str, new: str) -> None:
    with pytest.raises(errors.ImportRefused, match=r"^mail\.txt: line \d+"):
        read(LATENCY.replace(old, new))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no table was found"),
        ("Hello, 2.6.23-smp is fast: 4.39 Gbits/sec.", "no table was found"),
        (GOOD, "no kernel label stands before"),
        (f"2.6.1-a\n{GOOD}\nand with the other patch\n{GOOD}", "names no kernel"),
        (f"2.6.1-a\n{GOOD}  0  sender\n", "iperf 3"),
        ("x" * (1024 * 1024 + 1), "more than 1048576 bytes"),
    ],
)
def test_mail_without_a_table_to_believe_is_refused(text: str, reason: str) -> None:
    with pytest.raises(errors.ImportRefused, match=reason):
        read(text)


@pytest.mark.parametrize("shape", [as_is, flat])
def test_words_of_the_tool_around_its_lines_are_passed_over(shape: Callable[[str], str]) -> None:
    text = f"""2.6.24-a
$ iperf -c localhost -P 2 -t 60
------------------------------------------------------------
Client connecting to localhost, TCP port 5001
TCP window size: 85.0 KByte (default)
------------------------------------------------------------
[  3] local 127.0.0.1 port 4242 connected with 127.0.0.1 port 5001
[ ID] Interval       Transfer     Bandwidth
[  3]  0.0-60.0 sec  15.0 GBytes  2.15 Gbits/sec
{GOOD}
run 2:
{GOOD}
"""
    assert figures(read(shape(text))) == {("", "2.6.24-a"): [4.32, 4.32]}


@pytest.mark.parametrize(
    ("above", "kernel", "group", "remark"),
    [
        ("Fresh pull\n\n2.6.24-rc1-git3", "2.6.24-rc1-git3", "Fresh pull", ""),
        ("Fresh pull: 6.1.0-rc2+ (HZ=1000)", "6.1.0-rc2+", "Fresh pull", "HZ=1000"),
        ("kernel v5.4-rt1:", "v5.4-rt1", "", ""),
        ("6.12", "6.12", "", ""),
        ("2.6.24-a with the new tick", "2.6.24-a", "", "with the new tick"),
        ("I waited.\nThen came this. Second day\n\n* 2.6.24-a", "2.6.24-a", "Second day", ""),
    ],
)
def test_heading_gives_label_group_and_remark(
    above: str, kernel: str, group: str, remark: str
) -> None:
    run = read(f"{above}\n{GOOD}\n")[0]
    assert (run.kernel, run.group) == (kernel, group)
    assert "".join(note.text for note in run.notes) == remark


def test_other_server_is_no_loopback() -> None:
    run = read(f"iperf -c 192.0.2.7 -P 2\n\n2.6.24-a\n{GOOD}")[0]
    assert run.playbook == "network-throughput"
    assert dict(run.params)["server"] == "192.0.2.7"


def test_command_line_holds_until_the_next_one() -> None:
    block = f"2.6.24-a\n{GOOD}\n\n"
    runs = read(f"iperf -c localhost -P 2\n\n{block}iperf -c localhost -d -P 8\n\n{block}")
    assert [dict(run.params)["streams"] for run in runs] == ["2", "8"]


@pytest.mark.parametrize("form", FORMS)
def test_several_mails_in_one_file_are_all_read(form: str) -> None:
    both = series.mail(f"iperf-2007.{form}.txt") + series.mail(f"latency-2004.{form}.txt")
    runs = read_mail(both, name="both")
    assert [run.order for run in runs] == list(range(1, 17))
    assert {run.playbook for run in runs} == {"loopback-throughput", "sched-latency"}


def test_same_label_and_group_in_a_second_mail_is_another_kernel() -> None:
    runs = read(f"Return-Path: a\n\n2.6.24-a\n{GOOD}\nReturn-Path: b\n\n2.6.24-a\n{GOOD}\n")
    assert len({run.identity for run in runs}) == 2
