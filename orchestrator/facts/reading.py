"""What was read about a boot, as typed facts. Missing is data: a fact is None, never a guess."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from orchestrator.contract.domain import Confidence, Preemption, PreemptModel
from orchestrator.facts import preempt, sheet
from orchestrator.facts.sheet import Sheet

#: options of the command line that make another kernel out of one build
KERNEL_OPTIONS = frozenset(
    {"preempt", "isolcpus", "nohz_full", "rcu_nocbs", "mitigations", "idle", "threadirqs"}
)

_MAX_CONFIG = 4 << 20
_CONFIG = re.compile(r"(CONFIG_\w+)=(.*)|# (CONFIG_\w+) is not set")
_SELECTED = re.compile(r"CONFIG_(?:PREEMPT\w*|HZ\w*|NO_HZ\w*|HIGH_RES_TIMERS|SMP|M[3-6]86|MELAN)")
_PROC_VERSION = re.compile(r"Linux version (\S+) .*?(#\d+ .*)")
_WORD = re.compile(r'(?:[^\s"]|"[^"]*")+')
_CPU = "/sys/devices/system/cpu"
_GNU_BUILD_ID = 3
_UNKNOWN = Preemption(
    model=PreemptModel.UNKNOWN, source="none", confidence=Confidence.LOW, dynamic=False
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One boot of one host, as far as it could be read.

    Units: ``*_kib`` in KiB, ``*_s`` in s, ``*_us`` in microseconds.
    """

    #: the snippet's last line has come through
    complete: bool = False
    release: str | None = None
    #: ``uname -v``
    version: str | None = None
    machine: str | None = None
    build_id: str | None = None
    #: ``command:digest`` of the whole configuration
    config_hash: str | None = None
    config: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    cmdline: str | None = None
    #: allow-listed options of the command line, sorted
    options: tuple[tuple[str, str], ...] = ()
    preemption: Preemption = _UNKNOWN
    hz: int | None = None
    clocksource: str | None = None
    high_resolution: bool | None = None
    cpus_online: int | None = None
    cpu_model: str | None = None
    has_tsc: bool | None = None
    governor: str | None = None
    cpufreq_driver: str | None = None
    frequency_limits: str | None = None
    turbo: bool | None = None
    smt: bool | None = None
    idle_driver: str | None = None
    #: what another process asks of idle states; 2,000,000,000 is nothing
    dma_latency_us: int | None = None
    mitigations: str | None = None
    rt_runtime_us: int | None = None
    lo_mtu: int | None = None
    congestion_control: str | None = None
    virtualization: str | None = None
    memory_total_kib: int | None = None
    #: free and cache: what a run may use
    memory_free_kib: int | None = None
    swap_used_kib: int | None = None
    load1: float | None = None
    psi_some_avg10: float | None = None
    machine_id: str | None = None
    boot_id: str | None = None
    uptime_s: float | None = None
    epoch_s: int | None = None
    tainted: int | None = None
    uid: int | None = None
    #: where runs keep their files, and the space that is left there
    workdir: str | None = None
    workdir_free_kib: int | None = None
    #: benchmark tools that are there -> their version line, or nothing
    tools: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    #: every command that PATH leads to; None: the list is not known or not whole
    commands: frozenset[str] | None = None

    @property
    def available(self) -> frozenset[str]:
        """Every program that is known to be there."""
        return frozenset(self.tools) | (self.commands or frozenset())


def interpret(raw: bytes) -> Facts:
    """The facts in an output of the snippet. Any bytes are accepted; what is missing is None."""
    found = sheet.read(raw)
    release, version = _kernel(found)
    cmdline = found.text("cmdline")
    config_hash, config = _config(found)
    memory = _memory(found)
    clock = _by_name(found.group("clocksource"))
    turbo, cpus = _by_name(found.group("turbo")), _by_name(found.group("cpus"))
    net, rt = _by_name(found.group("net")), _by_name(found.group("rt"))
    frequency, idle = found.tally("cpufreq"), _by_name(found.group("cpuidle"))
    cpu = _cpuinfo(found)
    return Facts(
        complete=found.complete,
        release=release,
        version=version,
        machine=found.text("uname.machine"),
        build_id=_build_id(found.text("notes") or ""),
        config_hash=config_hash,
        config=MappingProxyType(config),
        cmdline=cmdline,
        options=kernel_options(cmdline or ""),
        preemption=_preemption(found, release or "", version or "", config),
        hz=_whole(config.get("CONFIG_HZ")),
        clocksource=clock.get("current_clocksource"),
        high_resolution=_high_resolution(found),
        cpus_online=_count(cpus.get("online")) or _whole(found.text("cpuinfo.count")),
        cpu_model=_first(cpu, "model name", "cpu model", "Processor", "Hardware", "cpu"),
        has_tsc="tsc" in cpu["flags"].split() if "flags" in cpu else None,
        governor=_joined(frequency.get("scaling_governor")),
        cpufreq_driver=_joined(frequency.get("scaling_driver")),
        frequency_limits=_limits(frequency),
        turbo=_turbo(turbo),
        smt=_switch(cpus.get("active")),
        idle_driver=idle.get("current_driver"),
        dma_latency_us=_whole(found.text("pm_qos")),
        mitigations=_digest(found.group("mitigations")),
        rt_runtime_us=_whole(rt.get("sched_rt_runtime_us")),
        lo_mtu=_whole(net.get("mtu")),
        congestion_control=net.get("tcp_congestion_control"),
        virtualization=_virtualization(found, cpu),
        memory_total_kib=memory.get("MemTotal"),
        memory_free_kib=_free(memory),
        swap_used_kib=_swap(memory),
        load1=_decimal((found.text("loadavg") or "").partition(" ")[0]),
        psi_some_avg10=_pressure(found.group("pressure").get("/proc/pressure/cpu", "")),
        machine_id=_identifier(found.text("machine_id")),
        boot_id=_identifier(found.text("boot_id")),
        uptime_s=_decimal((found.text("uptime") or "").partition(" ")[0]),
        epoch_s=_epoch(found.text("date")),
        tainted=_whole(found.text("tainted")),
        uid=_whole(found.text("user")),
        workdir=found.text("folder"),
        workdir_free_kib=_space(found.lines("df")),
        tools=_tools(found),
        commands=_commands(found),
    )


def kernel_options(cmdline: str) -> tuple[tuple[str, str], ...]:
    """The options of a command line that make another kernel, sorted; of two the last counts."""
    found: dict[str, str] = {}
    for word in _WORD.findall(cmdline):
        if word == "--":
            break
        name, _, value = word.partition("=")
        if name in KERNEL_OPTIONS:
            found[name] = value.strip('"')
    return tuple(sorted(found.items()))


def _kernel(found: Sheet) -> tuple[str | None, str | None]:
    release, version = found.text("uname.release"), found.text("uname.version")
    match = _PROC_VERSION.search(found.text("version") or "")
    if match:
        return release or match[1], version or match[2].strip()
    return release, version


def _build_id(hexadecimal: str) -> str | None:
    """The build id among the ELF notes of the kernel."""
    try:
        notes = bytes.fromhex("".join(hexadecimal.split()))
    except ValueError:
        return None
    for order in ("little", "big"):
        if (found := _gnu_note(notes, order == "big")) is not None:
            return found
    return None


def _gnu_note(notes: bytes, big_endian: bool) -> str | None:
    place = 0
    while place + 12 <= len(notes):
        words = [notes[place + at : place + at + 4] for at in (0, 4, 8)]
        name_size, size, kind = (
            int.from_bytes(word, "big" if big_endian else "little") for word in words
        )
        name_at = place + 12
        content_at = name_at + (name_size + 3) // 4 * 4
        if content_at + size > len(notes):
            return None
        if kind == _GNU_BUILD_ID and notes[name_at : name_at + name_size] == b"GNU\0" and size:
            return notes[content_at : content_at + size].hex()
        place = content_at + (size + 3) // 4 * 4
    return None


def _config(found: Sheet) -> tuple[str | None, dict[str, str]]:
    """Digest and selected options; from the compressed file where the host could not unpack it."""
    summed = (found.text("config.sum") or "").split()
    digest = f"{summed[0]}:{summed[1]}" if len(summed) > 1 else None
    lines = found.lines("config.options")
    entry = found.entries.get("config.gz")
    if entry and not entry.error and not entry.cut:
        plain = _unpacked(entry.content)
        if plain:
            digest = f"md5sum:{hashlib.md5(plain, usedforsecurity=False).hexdigest()}"
            lines = plain.decode("utf-8", "replace").splitlines()
    options: dict[str, str] = {}
    for line in lines:
        match = _CONFIG.fullmatch(line)
        name = (match[1] or match[3]) if match else ""
        if match and _SELECTED.fullmatch(name):
            options[name] = (match[2] or "n").strip('"')
    return digest, options


def _unpacked(hexadecimal: str) -> bytes:
    try:
        packed = bytes.fromhex("".join(hexadecimal.split()))
        return zlib.decompressobj(wbits=31).decompress(packed, _MAX_CONFIG)
    except (ValueError, zlib.error):
        return b""


def _preemption(found: Sheet, release: str, version: str, config: Mapping[str, str]) -> Preemption:
    if not release and not version:
        return _UNKNOWN
    return preempt.detect(
        preempt.Signs(
            release=release,
            version=version,
            config=config,
            config_path=found.text("config.path") or "/proc/config.gz",
            debug=found.text("preempt.debug") or found.text("preempt.debug_old"),
            log=found.lines("dmesg"),
            cmdline=found.text("cmdline") or "",
            vermagic=(found.text("vermagic") or "").removeprefix("vermagic=") or None,
            realtime=found.text("realtime") == "1",
        )
    )


def _by_name(group: Mapping[str, str]) -> dict[str, str]:
    """A group by the last part of each path."""
    return {path.rpartition("/")[2]: content.strip() for path, content in group.items()}


def _cpuinfo(found: Sheet) -> dict[str, str]:
    pairs = (line.partition(":") for line in found.lines("cpuinfo"))
    return {name.strip(): value.strip() for name, colon, value in pairs if colon}


def _first(table: Mapping[str, str], *names: str) -> str | None:
    return next((table[name] for name in names if table.get(name)), None)


def _whole(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"\s*-?\d{1,18}\s*", text) else None


def _decimal(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"\d{1,15}(?:\.\d{1,9})?", text) else None


def _count(ranges: str | None) -> int | None:
    """How many processors a list like ``0-3,6`` names."""
    total = 0
    for part in (ranges or "").split(","):
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part.strip())
        if not match:
            return None
        total += int(match[2] or match[1]) - int(match[1]) + 1
    return total


def _joined(values: Mapping[str, int] | None) -> str | None:
    """The value that all files share, or all values side by side."""
    return " and ".join(sorted(values)) if values else None


def _limits(frequency: Mapping[str, Mapping[str, int]]) -> str | None:
    low, high = (_joined(frequency.get(f"scaling_{end}_freq")) for end in ("min", "max"))
    return f"{low}..{high} kHz" if low and high else None


def _switch(text: str | None) -> bool | None:
    return {"0": False, "1": True}.get(text or "")


def _turbo(files: Mapping[str, str]) -> bool | None:
    forbidden = _switch(files.get("no_turbo"))
    return not forbidden if forbidden is not None else _switch(files.get("boost"))


def _high_resolution(found: Sheet) -> bool | None:
    timers = found.text("timer_list")
    if timers is None:
        return None
    return bool(re.search(r"\.hres_active\s*: 1\b|\.resolution:\s+1 nsecs", timers))


def _digest(group: Mapping[str, str]) -> str | None:
    """A short digest of a group, by which two hosts or boots are told apart."""
    if not group:
        return None
    text = "\n".join(f"{name}:{content}" for name, content in sorted(_by_name(group).items()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _virtualization(found: Sheet, cpu: Mapping[str, str]) -> str | None:
    """What the machine is simulated by; ``none`` where the processor says that it is real."""
    files = _by_name(found.group("virtualization"))
    if files.get("type"):
        return files["type"]
    if "flags" not in cpu:
        return None
    if "hypervisor" not in cpu["flags"].split():
        # a guest may hide the flag, its maker may not
        return "none"
    return _first(files, "product_name", "sys_vendor") or "hypervisor"


def _memory(found: Sheet) -> dict[str, int]:
    lines = (re.fullmatch(r"(\w+):\s+(\d{1,15}) kB", line) for line in found.lines("meminfo"))
    return {match[1]: int(match[2]) for match in lines if match}


def _free(memory: Mapping[str, int]) -> int | None:
    parts = [memory[name] for name in ("MemFree", "Buffers", "Cached") if name in memory]
    return sum(parts) if parts else None


def _swap(memory: Mapping[str, int]) -> int | None:
    total, free = memory.get("SwapTotal"), memory.get("SwapFree")
    return None if total is None or free is None else total - free


def _pressure(text: str) -> float | None:
    match = re.search(r"^some avg10=(\d{1,3}\.\d+)", text, re.MULTILINE)
    return float(match[1]) if match else None


def _identifier(text: str | None) -> str | None:
    return text.lower() if text and re.fullmatch(r"[0-9A-Fa-f-]{32,36}", text) else None


def _epoch(text: str | None) -> int | None:
    try:
        return int(datetime.fromisoformat(text).timestamp()) if text else None
    except ValueError:
        return None


def _space(lines: list[str]) -> int | None:
    """Available KiB by ``df -k``, whose long names stand in a line of their own."""
    match = re.search(r"\d+\s+\d+\s+(\d{1,15})\s+\d+%", " ".join(lines[1:]))
    return int(match[1]) if match else None


def _tools(found: Sheet) -> Mapping[str, str]:
    rows = [line.split("\t") for line in found.lines("tools")]
    return MappingProxyType({row[0]: row[2].strip() if len(row) > 2 else "" for row in rows})


def _commands(found: Sheet) -> frozenset[str] | None:
    entry = found.entries.get("commands")
    if entry is None or entry.error or entry.cut or not entry.content:
        return None
    return frozenset(entry.content.split())
