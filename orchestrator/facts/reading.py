"""What was read about a boot, as typed facts. Missing is data: a fact is None, never a guess."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from orchestrator.contract.domain import Confidence, Preemption, PreemptModel
from orchestrator.facts import build, preempt, scalars, sheet
from orchestrator.facts.sheet import Sheet

#: options of the command line that make another kernel out of one build
KERNEL_OPTIONS = frozenset(
    {"preempt", "isolcpus", "nohz_full", "rcu_nocbs", "mitigations", "idle", "threadirqs"}
)

_PROC_VERSION = re.compile(r"Linux version (\S+) .*?(#\d+ .*)")
_WORD = re.compile(r'(?:[^\s"]|"[^"]*")+')
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
    config_hash, config = build.config(found)
    memory = _memory(found)
    clock = scalars.by_name(found.group("clocksource"))
    turbo, cpus = scalars.by_name(found.group("turbo")), scalars.by_name(found.group("cpus"))
    net, rt = scalars.by_name(found.group("net")), scalars.by_name(found.group("rt"))
    frequency, idle = found.tally("cpufreq"), scalars.by_name(found.group("cpuidle"))
    cpu = _cpuinfo(found)
    return Facts(
        complete=found.complete,
        release=release,
        version=version,
        machine=found.text("uname.machine"),
        build_id=build.build_id(found.text("notes") or ""),
        config_hash=config_hash,
        config=MappingProxyType(config),
        cmdline=cmdline,
        options=kernel_options(cmdline or ""),
        preemption=_preemption(found, release or "", version or "", config),
        hz=scalars.whole(config.get("CONFIG_HZ")),
        clocksource=clock.get("current_clocksource"),
        high_resolution=_high_resolution(found),
        cpus_online=scalars.count(cpus.get("online")) or scalars.whole(found.text("cpuinfo.count")),
        cpu_model=scalars.first(cpu, "model name", "cpu model", "Processor", "Hardware", "cpu"),
        has_tsc="tsc" in cpu["flags"].split() if "flags" in cpu else None,
        governor=scalars.joined(frequency.get("scaling_governor")),
        cpufreq_driver=scalars.joined(frequency.get("scaling_driver")),
        frequency_limits=_limits(frequency),
        turbo=_turbo(turbo),
        smt=scalars.switch(cpus.get("active")),
        idle_driver=idle.get("current_driver"),
        dma_latency_us=scalars.whole(found.text("pm_qos")),
        mitigations=scalars.digest(found.group("mitigations")),
        rt_runtime_us=scalars.whole(rt.get("sched_rt_runtime_us")),
        lo_mtu=scalars.whole(net.get("mtu")),
        congestion_control=net.get("tcp_congestion_control"),
        virtualization=_virtualization(found, cpu),
        memory_total_kib=memory.get("MemTotal"),
        memory_free_kib=_free(memory),
        swap_used_kib=_swap(memory),
        load1=scalars.decimal((found.text("loadavg") or "").partition(" ")[0]),
        psi_some_avg10=scalars.pressure(found.group("pressure").get("/proc/pressure/cpu", "")),
        machine_id=scalars.identifier(found.text("machine_id")),
        boot_id=scalars.identifier(found.text("boot_id")),
        uptime_s=scalars.decimal((found.text("uptime") or "").partition(" ")[0]),
        epoch_s=scalars.epoch(found.text("date")),
        tainted=scalars.whole(found.text("tainted")),
        uid=scalars.whole(found.text("user")),
        workdir=found.text("folder"),
        workdir_free_kib=scalars.space(found.lines("df")),
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
    match = _PROC_VERSION.search((found.text("version") or "")[:1024])
    if match:
        return release or match[1], version or match[2].strip()
    return release, version


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


def _cpuinfo(found: Sheet) -> dict[str, str]:
    pairs = (line.partition(":") for line in found.lines("cpuinfo"))
    return {name.strip(): value.strip() for name, colon, value in pairs if colon}


def _limits(frequency: Mapping[str, Mapping[str, int]]) -> str | None:
    low, high = (scalars.joined(frequency.get(f"scaling_{end}_freq")) for end in ("min", "max"))
    return f"{low}..{high} kHz" if low and high else None


def _turbo(files: Mapping[str, str]) -> bool | None:
    forbidden = scalars.switch(files.get("no_turbo"))
    return not forbidden if forbidden is not None else scalars.switch(files.get("boost"))


def _high_resolution(found: Sheet) -> bool | None:
    timers = found.text("timer_list")
    if timers is None:
        return None
    return bool(re.search(r"\.hres_active\s*: 1\b|\.resolution:\s+1 nsecs", timers))


def _virtualization(found: Sheet, cpu: Mapping[str, str]) -> str | None:
    """What the machine is simulated by; ``none`` where the processor says that it is real."""
    files = scalars.by_name(found.group("virtualization"))
    if files.get("type"):
        return files["type"]
    if "flags" not in cpu:
        return None
    if "hypervisor" not in cpu["flags"].split():
        # a guest may hide the flag, its maker may not
        return "none"
    return scalars.first(files, "product_name", "sys_vendor") or "hypervisor"


def _memory(found: Sheet) -> dict[str, int]:
    lines = (re.fullmatch(r"(\w+):\s+(\d{1,15}) kB", line) for line in found.lines("meminfo"))
    return {match[1]: int(match[2]) for match in lines if match}


def _free(memory: Mapping[str, int]) -> int | None:
    parts = [memory[name] for name in ("MemFree", "Buffers", "Cached") if name in memory]
    return sum(parts) if parts else None


def _swap(memory: Mapping[str, int]) -> int | None:
    total, free = memory.get("SwapTotal"), memory.get("SwapFree")
    return None if total is None or free is None else total - free


def _tools(found: Sheet) -> Mapping[str, str]:
    rows = [line.split("\t") for line in found.lines("tools")]
    return MappingProxyType({row[0]: row[2].strip() if len(row) > 2 else "" for row in rows})


def _commands(found: Sheet) -> frozenset[str] | None:
    entry = found.entries.get("commands")
    if entry is None or entry.error or entry.cut or not entry.content:
        return None
    return frozenset(entry.content.split())
