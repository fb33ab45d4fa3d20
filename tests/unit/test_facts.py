"""Facts from the snippet's output: read, compared, and missing."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator import facts
from orchestrator.contract import errors
from orchestrator.contract.domain import KernelIdentity, PreemptModel

CPU = "/sys/devices/system/cpu"


def sheet(**entries: str) -> bytes:
    """An output of the snippet with these entries; a dot in a name is written ``__``."""
    text = "".join(
        f"@@FACTS {name.replace('__', '.')} ok\n{content}\n" for name, content in entries.items()
    )
    return (text + "@@FACTS end ok\n").encode()


def kernel(**changes: object) -> KernelIdentity:
    """A kernel identity."""
    base = KernelIdentity(
        release="2.6.23-smp-d",
        version="#7 SMP PREEMPT",
        build_id=None,
        config_hash=None,
        preempt=PreemptModel.FULL,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def test_nothing_at_all_is_interpreted_as_unknown() -> None:
    found = facts.interpret(b"")
    assert found.release is None
    assert not found.complete
    assert found.preemption.model is PreemptModel.UNKNOWN
    assert facts.quiet_notes(found) == ()
    assert facts.environment(found).hard["machine"] == "unknown"


def test_facts_without_a_release_name_no_kernel() -> None:
    with pytest.raises(errors.ParseError, match="release"):
        facts.kernel_identity(facts.interpret(b"@@FACTS end ok\n"))


@given(st.binary(max_size=400))
def test_random_bytes_are_interpreted_without_error(raw: bytes) -> None:
    facts.interpret(raw)


@given(
    name=st.sampled_from(
        ["notes", "cpus", "pm_qos", "date", "df", "meminfo", "config.gz", "tools", "loadavg"]
    ),
    content=st.text(max_size=80),
)
def test_random_content_of_a_fact_is_interpreted_without_error(name: str, content: str) -> None:
    facts.interpret(f"@@FACTS {name} ok\n{content}\n@@FACTS end ok\n".encode())


def test_error_text_is_no_content() -> None:
    raw = b"@@FACTS boot_id No such file or directory\n\n@@FACTS cmdline ok\nquiet\n"
    found = facts.interpret(raw)
    assert (found.boot_id, found.cmdline) == (None, "quiet")


def test_noise_before_and_carriage_returns_do_no_harm() -> None:
    raw = b"motd\r\n@@FACTS uname.release ok\r\n6.1.0\r\n@@FACTS end ok\r\n"
    found = facts.interpret(raw)
    assert (found.release, found.complete) == ("6.1.0", True)


def test_release_is_read_from_proc_version_without_uname() -> None:
    raw = sheet(version="Linux version 2.6.1 (root@x) (gcc 3.3) #3 Tue Jan 20 11:02:11 CET 2004")
    found = facts.interpret(raw)
    assert found.release == "2.6.1"
    assert found.version == "#3 Tue Jan 20 11:02:11 CET 2004"


def test_allowed_options_are_taken_and_secrets_left() -> None:
    raw = sheet(
        cmdline="root=/dev/sda1 preempt=full token=secret isolcpus=1-3 preempt=none -- idle"
    )
    assert facts.interpret(raw).options == (("isolcpus", "1-3"), ("preempt", "none"))


@pytest.mark.parametrize("order", ["little", "big"])
def test_build_id_is_found_among_other_notes(order: str) -> None:
    def note(kind: int, content: bytes) -> bytes:
        words = (4, len(content), kind)
        head = b"".join(word.to_bytes(4, order) for word in words)  # type: ignore[arg-type]
        return head + b"GNU\0" + content

    raw = note(1, b"\x01\x02\x03\x04") + note(3, bytes(range(20)))
    assert facts.interpret(sheet(notes=raw.hex(" "))).build_id == bytes(range(20)).hex()


def test_compressed_config_is_summed_as_the_host_would() -> None:
    plain = b"CONFIG_HZ=1000\nCONFIG_PREEMPT=y\n# CONFIG_SMP is not set\n"
    hexadecimal = gzip.compress(plain).hex(" ")
    found = facts.interpret(sheet(uname__release="6.1.0", config__gz=hexadecimal))
    assert found.hz == 1000
    assert found.config["CONFIG_SMP"] == "n"
    assert found.config_hash == f"md5sum:{hashlib.md5(plain).hexdigest()}"


def test_governor_that_differs_between_cpus_shows_both() -> None:
    raw = sheet(cpufreq="3 scaling_governor:powersave\n1 scaling_governor:performance")
    assert facts.interpret(raw).governor == "performance and powersave"


@pytest.mark.parametrize(("listed", "count"), [("0", 1), ("0-3", 4), ("0-3,6,8-9", 7), ("x", None)])
def test_online_cpus_are_counted(listed: str, count: int | None) -> None:
    assert facts.interpret(sheet(cpus=f"{CPU}/online:{listed}")).cpus_online == count


@pytest.mark.parametrize(
    ("files", "turbo"),
    [
        (f"{CPU}/intel_pstate/no_turbo:1", False),
        (f"{CPU}/intel_pstate/no_turbo:0", True),
        (f"{CPU}/cpufreq/boost:1", True),
        ("grep: x: No such file or directory", None),
    ],
)
def test_turbo_is_read_from_either_driver(files: str, turbo: bool | None) -> None:
    assert facts.interpret(sheet(turbo=files)).turbo is turbo


def test_free_memory_counts_the_cache() -> None:
    raw = sheet(meminfo="MemTotal:  32000 kB\nMemFree: 1000 kB\nBuffers: 200 kB\nCached: 3000 kB")
    assert facts.interpret(raw).memory_free_kib == 4200


def test_list_of_commands_that_was_cut_is_not_known() -> None:
    whole = facts.interpret(sheet(commands="awk\nsed"))
    cut = facts.interpret(b"@@FACTS commands cut 50000\nawk\nse\n@@FACTS end ok\n")
    assert whole.commands == {"awk", "sed"}
    assert cut.commands is None


def test_equal_identities_have_equal_ids() -> None:
    assert facts.kernel_id(kernel()) == facts.kernel_id(kernel())


@pytest.mark.parametrize(
    "changes",
    [
        {"version": "#8 SMP PREEMPT"},
        {"build_id": "00ff"},
        {"config_hash": "md5sum:1"},
        {"preempt": PreemptModel.NONE},
        {"options": (("preempt", "none"),)},
        {"imported": ("2.6.23-smp-d", "fresh pull")},
    ],
)
def test_kernels_of_one_release_are_told_apart(changes: dict[str, object]) -> None:
    assert facts.kernel_id(kernel(**changes)) != facts.kernel_id(kernel())


def test_kernel_id_is_stable_over_releases_of_the_product() -> None:
    assert facts.kernel_id(kernel()) == "0d08ac8b7c658e544bf74edad4511716"


def test_label_is_release_and_model_or_that_of_the_source() -> None:
    assert facts.kernel_label(kernel()) == "2.6.23-smp-d full"
    assert facts.kernel_label(kernel(imported=("smp-d", "group"))) == "smp-d"


def test_governor_that_changed_during_a_run_is_noted() -> None:
    before = facts.interpret(sheet(cpufreq="1 scaling_governor:performance"))
    after = facts.interpret(sheet(cpufreq="1 scaling_governor:powersave"))
    (note,) = facts.differences(before, after)
    assert note.code == "governor-changed"
    assert "performance -> powersave" in note.text


def test_what_the_short_list_lacks_is_no_difference() -> None:
    full = facts.interpret(sheet(cpuinfo="model name : x", boot_id="0" * 32))
    assert facts.differences(full, facts.interpret(sheet(boot_id="0" * 32))) == ()


def test_clock_that_jumped_is_noted() -> None:
    before = facts.interpret(sheet(uptime="100.00 1", date="2026-01-01T00:00:00Z"))
    after = facts.interpret(sheet(uptime="110.00 1", date="2026-01-01T01:00:00Z"))
    assert [note.code for note in facts.differences(before, after)] == ["clock-jump"]


def test_reboot_is_noted_and_not_taken_for_a_clock_jump() -> None:
    before = facts.interpret(
        sheet(boot_id="0" * 32, uptime="9000.0 1", date="2026-01-01T00:00:00Z")
    )
    after = facts.interpret(sheet(boot_id="1" * 32, uptime="10.0 1", date="2026-01-01T00:01:00Z"))
    assert [note.code for note in facts.differences(before, after)] == ["boot-changed"]


def test_busy_host_is_noted_and_quiet_one_is_not() -> None:
    busy = sheet(
        cpus=f"{CPU}/online:0-3",
        loadavg="0.80 0.10 0.10 1/90 1",
        pressure="/proc/pressure/cpu:some avg10=88.00 avg60=1.0 avg300=1.0 total=1",
    )
    quiet = busy.replace(b"0.80", b"0.79").replace(b"88.00", b"0.99")
    codes = [note.code for note in facts.quiet_notes(facts.interpret(busy))]
    assert codes == ["noisy-load", "noisy-pressure"]
    assert facts.quiet_notes(facts.interpret(quiet)) == ()


def test_environments_of_two_boots_show_their_soft_differences() -> None:
    one = facts.environment(facts.interpret(sheet(net="/sys/class/net/lo/mtu:65536")))
    other = facts.environment(facts.interpret(sheet(net="/sys/class/net/lo/mtu:16436")))
    assert [note.code for note in facts.soft_differences(one, other)] == ["differs-lo-mtu"]


def test_kernel_is_in_neither_comparability_key() -> None:
    names = {*facts.environment(facts.interpret(b"")).hard, *facts.environment(facts.Facts()).soft}
    assert not {"release", "kernel", "preempt", "boot"} & names
