"""The main job, whole: enrol, queue, execute on real servers, collect, table; and nothing left."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests import services
from tests.acceptance import labs

QUICK = ("--pause", "0", "--noise", "note")
#: a busy machine would make latencies under real-time priority void
CALM = ("--set", "policy=other")


@pytest.mark.needs("sshd", "dropbear")
def test_job_on_two_servers_ends_in_a_table_and_leaves_nothing(
    desk: labs.Desk, sshd: services.Server, dropbear: services.Server, keys: services.Keys
) -> None:
    bases = [sshd.folder / "base", dropbear.folder / "base"]
    for name, server, base in zip(("alpha", "beta"), (sshd, dropbear), bases, strict=True):
        desk.enrol(name, server, keys, "--base", str(base))
    desk.do(
        "submit", "sched-latency-idle", "--host", "alpha", "--host", "beta", *QUICK,
        *CALM, "--set", "samples=200", "--repeat", "2", "--warmup", "0", "--wait",
    )  # fmt: skip

    table = desk.ask("results", "sched-latency-idle", "--metric", "latency")[0]
    assert [(row["host"], row["runs"], row["boots"]) for row in table["rows"]] == [
        ("alpha", 2, 1),
        ("beta", 2, 1),
    ]
    assert {row["samples"] for row in table["rows"]} == {400}
    assert all(0 < row["minimum"] <= row["mean"] <= row["maximum"] for row in table["rows"])

    assert "policy_other" in {note["code"] for note in table["notes"]}

    done = labs.executions(*bases)
    assert len({one.run for one in done}) == len(done) == 4
    assert labs.overlaps(done) == []
    assert [pid for one in done for pid in labs.marked_processes(one.run)] == []
    for base in bases:
        assert list((base / "r").iterdir()) == []
        assert not (base / "active").is_symlink()
    assert desk.ask("status")["running"] == []


def made_up_playbook(rng: random.Random) -> tuple[str, dict[str, str]]:
    """A playbook that nobody has seen before, and its words."""

    def word() -> str:
        return "".join(rng.choices("abcdefghijkmnopqrstuvwxyz", k=8))

    words = {key: word() for key in ("name", "param", "text", "step", "extra", "speed", "count")}
    words["value"] = str(rng.randint(2, 9000))
    words["nasty"] = rng.choice(["it's $HOME", 'a "b" `id`', "x;y|z*", "-n %s \\n", "é ü"])
    source = f"""\
playbook: 1
name: {words["name"]}
title: made up
params:
  {words["param"]}: {{type: int, default: 1, min: 1, max: 10000}}
  {words["text"]}: {{type: text, default: none}}
metrics:
  - {{name: {words["speed"]}, unit: Mbit/s, better: higher, primary: true,
     from: {{step: run.{words["step"]}, parser: regex@1, pattern: "rate=(?P<value>[0-9.]+)",
            field: value}}}}
  - {{name: {words["count"]}, unit: "1", better: neither,
     from: {{step: run.{words["extra"]}, parser: line_count@1, field: lines}}}}
stages:
  prepare:
    steps:
      - {{id: before, script: "printf '%s' \\"$P_{words["text"]}\\" > seen"}}
  run:
    takes: [1s]
    steps:
      - {{id: {words["step"]}, run: [echo, "rate={{{words["param"]}}}"]}}
      - {{id: {words["extra"]}, script: "echo one; echo two; echo three", save: [seen]}}
"""
    return source, words


@pytest.mark.needs("sshd", "dropbear")
def test_playbook_made_up_by_the_test_reaches_the_table(
    desk: labs.Desk,
    sshd: services.Server,
    dropbear: services.Server,
    keys: services.Keys,
    tmp_path: Path,
) -> None:
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    source, words = made_up_playbook(random.Random(seed))
    path = tmp_path / "mine.yaml"
    path.write_text(source)
    for name, server in (("alpha", sshd), ("beta", dropbear)):
        desk.enrol(name, server, keys, "--base", str(server.folder / "base"))
    job = desk.ask(
        "submit", str(path), "--host", "alpha", "--host", "beta", "--repeat", "1",
        "--set", f"{words['param']}={words['value']}", "--set", f"{words['text']}={words['nasty']}",
        *QUICK, "--wait",
    )  # fmt: skip
    tables = {table["metric"]: table for table in desk.ask("results", words["name"], "--all")}
    speeds = [row["mean"] for row in tables[words["speed"]]["rows"]]
    assert speeds == [float(words["value"])] * 2
    assert [row["mean"] for row in tables[words["count"]]["rows"]] == [3.0, 3.0]
    runs = desk.ask("job", "show", job["id"])["runs"]
    for run in runs:
        assert desk.do("run", "raw", run["id"], "file.seen") == words["nasty"]
