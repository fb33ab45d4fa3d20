"""Bad input is one sentence, exit code 2, and nothing queued."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import services
from tests.acceptance import labs

DEMANDING = """\
playbook: 1
name: demanding
title: wants what there is not
requires: {requires}
metrics:
  - {{name: n, unit: "1", better: neither, primary: true,
     from: {{step: run.s, parser: line_count@1, field: lines}}}}
stages:
  run:
    steps:
      - {{id: s, run: [echo, hi]}}
"""


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> services.Keys:
    return services.Keys.make(tmp_path_factory.mktemp("keys") / "keys")


@pytest.fixture(scope="module")
def sshd(
    tmp_path_factory: pytest.TempPathFactory, keys: services.Keys
) -> Iterator[services.Server]:
    with services.sshd(tmp_path_factory.mktemp("sshd") / "sshd", keys) as server:
        yield server


@pytest.fixture(scope="module")
def desk(
    tmp_path_factory: pytest.TempPathFactory, sshd: services.Server, keys: services.Keys
) -> Iterator[labs.Desk]:
    """A lab with one host, for refusals that change nothing."""
    with labs.running(tmp_path_factory.mktemp("lab") / "state") as running:
        running.enrol("alpha", sshd, keys, "--base", str(sshd.folder / "base"))
        yield running


@pytest.fixture(autouse=True)
def nothing_is_queued(desk: labs.Desk) -> Iterator[None]:
    yield
    assert desk.ask("job", "list") == []


needs_sshd = pytest.mark.needs("sshd")


@needs_sshd
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("sched-latency-idel",), "did you mean 'sched-latency-idle'?"),
        (("sched-latency-idle", "--set", "sampels=5"), "samples"),
        (("sched-latency-idle", "--set", "samples=5"), "from 100 to"),
        (("sched-latency-idle", "--set", "samples=010"), "plain decimal"),
        (("loopback-throughput", "--set", "tool=iperf4"), "one of: auto iperf2 iperf3 rackprobe"),
    ],
)
def test_submit_bad_input_names_the_mend(
    desk: labs.Desk, words: tuple[str, ...], sentence: str
) -> None:
    assert sentence in desk.refused("submit", *words, "--host", "alpha")


@needs_sshd
def test_submit_unknown_host_names_the_nearest(desk: labs.Desk) -> None:
    said = desk.refused("submit", "sched-latency-idle", "--host", "alhpa")
    assert said == "unknown host 'alhpa'; did you mean 'alpha'?"


@needs_sshd
@pytest.mark.parametrize(
    ("requires", "sentence"),
    [
        ("{tools: [{name: frobnicate}]}", "host alpha cannot run demanding: it has no frobnicate"),
        ("{memory_free: 900GiB}", "KiB of memory"),
        ("{cpus_online: 4096}", "needed are 4096"),
        ("{arch: [s390x]}", "needed is one of: s390x"),
    ],
)
def test_submit_what_known_facts_rule_out_is_refused(
    desk: labs.Desk, tmp_path: Path, requires: str, sentence: str
) -> None:
    path = tmp_path / "demanding.yaml"
    path.write_text(DEMANDING.format(requires=requires))
    assert sentence in desk.refused("submit", str(path), "--host", "alpha")


@needs_sshd
def test_submit_broken_yaml_names_line_and_column(desk: labs.Desk, tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("playbook: 1\nname: x\ntitel: y\n")
    said = desk.refused("submit", str(path), "--host", "alpha")
    assert f"{path}:3:1: " in said
    assert "title" in said


@needs_sshd
def test_host_add_another_fingerprint_sends_no_command(
    desk: labs.Desk, sshd: services.Server, keys: services.Keys
) -> None:
    before = sshd.log.read_text().count("Accepted publickey")
    said = desk.refused(
        *("host", "add", "beta", "--address", sshd.address, "--port", str(sshd.port)),
        *("--user", sshd.user, "--key", str(keys.folder / "id")),
        *("--fingerprint", "SHA256:" + "A" * 43),
    )
    assert "shows another key than SHA256:AAAA" in said
    assert sshd.log.read_text().count("Accepted publickey") == before
    assert [host["name"] for host in desk.ask("host", "list")] == ["alpha"]


@needs_sshd
def test_host_add_key_that_is_not_authorized_is_refused(
    desk: labs.Desk, sshd: services.Server, keys: services.Keys
) -> None:
    said = desk.refused(
        *("host", "add", "beta", "--address", sshd.address, "--port", str(sshd.port)),
        *("--user", sshd.user, "--key", str(keys.folder / "other")),
        *("--fingerprint", labs.fingerprint(sshd)),
    )
    assert "refuses the key" in said


@needs_sshd
def test_host_add_closed_port_is_refused(desk: labs.Desk, keys: services.Keys) -> None:
    port = str(services.free_port())
    said = desk.refused(
        *("host", "add", "beta", "--address", "127.0.0.1", "--port", port, "--user", "u"),
        *("--key", str(keys.folder / "id"), "--fingerprint", "SHA256:" + "A" * 43),
    )
    assert f"127.0.0.1:{port}" in said


@needs_sshd
def test_host_add_address_that_does_not_answer_is_refused(
    desk: labs.Desk, keys: services.Keys
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = str(silent.getsockname()[1])
        said = desk.refused(
            *("host", "add", "beta", "--address", "127.0.0.1", "--port", port, "--user", "u"),
            *("--key", str(keys.folder / "id"), "--fingerprint", "SHA256:" + "A" * 43),
        )
    assert f"127.0.0.1:{port}" in said


@needs_sshd
def test_host_check_changed_key_quarantines_and_sends_no_command(
    desk: labs.Desk, tmp_path: Path, keys: services.Keys
) -> None:
    with services.sshd(tmp_path / "first", keys) as first:
        desk.enrol("gamma", first, keys, "--base", str(first.folder / "base"))
    with services.sshd(tmp_path / "second", keys, port=first.port) as second:
        said = desk.refused("host", "check", "gamma")
        assert "Accepted publickey" not in second.log.read_text()
    assert "which is not the one it was enrolled with" in said
    assert desk.ask("host", "show", "gamma")["state"] == "quarantined"


@needs_sshd
def test_host_check_says_why_it_does_not_get_in(
    desk: labs.Desk, tmp_path: Path, keys: services.Keys
) -> None:
    with services.sshd(tmp_path / "here", keys) as server:
        desk.enrol("epsilon", server, keys, "--base", str(server.folder / "base"))
        (server.folder / "authorized_keys").write_bytes((keys.folder / "other.pub").read_bytes())
        assert "refuses the key" in desk.refused("host", "check", "epsilon")
    place = f"127.0.0.1:{server.port}"
    assert place in desk.refused("host", "check", "epsilon")
    with socket.create_server(("127.0.0.1", server.port)):
        assert place in desk.refused("host", "check", "epsilon")
    assert desk.ask("host", "show", "epsilon")["unreachable"]


@needs_sshd
def test_quarantined_host_is_enrolled_again_with_the_key_that_it_has_now(
    desk: labs.Desk, tmp_path: Path, keys: services.Keys
) -> None:
    with services.sshd(tmp_path / "first", keys) as first:
        desk.enrol("delta", first, keys, "--base", str(first.folder / "base"))
        assert "already" in desk.refused(
            *("host", "add", "delta", "--address", first.address, "--user", first.user),
            *("--key", str(keys.folder / "id"), "--fingerprint", labs.fingerprint(first)),
        )
    with services.sshd(tmp_path / "second", keys, port=first.port) as second:
        desk.refused("host", "check", "delta")
        desk.enrol("delta", second, keys, "--base", str(first.folder / "base"))
        assert desk.ask("host", "check", "delta")["state"] == "ready"
