"""What two boots must share to be compared, and what disturbs a measurement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.contract.domain import Note
from orchestrator.facts.reading import Facts

#: a host is quiet below this load average for each processor
QUIET_LOAD = 0.2
#: and below this share (in %) of the last ten seconds in which a task waited for a processor
QUIET_PRESSURE = 1.0
#: wall clock and uptime may differ by this much over a run
_CLOCK_JUMP_S = 2.0
#: value of /dev/cpu_dma_latency that constrains nothing
_NO_LIMIT_US = 2_000_000_000

#: what a run must not change: fact -> its name in a note
_STEADY = {
    "governor": "governor",
    "frequency_limits": "frequency limits",
    "turbo": "turbo",
    "clocksource": "clock source",
    "cpus_online": "online CPUs",
    "smt": "SMT",
    "dma_latency_us": "limit of idle states",
    "rt_runtime_us": "real-time throttling",
    "swap_used_kib": "used swap (KiB)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """``hard``: must be equal in a comparison. ``soft``: differences stand beside the result."""

    hard: Mapping[str, str]
    soft: Mapping[str, str]


def environment(facts: Facts) -> Environment:
    """The comparability keys of a boot. The kernel itself is the axis, and in neither."""
    hard = {
        "machine": facts.machine_id,
        "arch": facts.machine,
        "idle-limit": _idle_limit(facts.dma_latency_us),
    }
    soft = {
        "clocksource": facts.clocksource,
        "hz": facts.hz,
        "high-resolution": facts.high_resolution,
        "cpus": facts.cpus_online,
        "cpu": facts.cpu_model,
        "governor": facts.governor,
        "turbo": facts.turbo,
        "smt": facts.smt,
        "mitigations": facts.mitigations,
        "rt-runtime-us": facts.rt_runtime_us,
        "lo-mtu": facts.lo_mtu,
        "congestion-control": facts.congestion_control,
        "virtualization": facts.virtualization,
        "noisy": bool(quiet_notes(facts)),
    }
    return Environment(hard=_shown(hard), soft=_shown(soft))


def _idle_limit(latency: int | None) -> str | None:
    return None if latency is None else "none" if latency >= _NO_LIMIT_US else f"{latency} us"


def _shown(values: Mapping[str, object]) -> dict[str, str]:
    words = {True: "yes", False: "no", None: "unknown"}
    return {
        name: words[value] if value is None or isinstance(value, bool) else str(value)
        for name, value in values.items()
    }


def soft_differences(one: Environment, other: Environment) -> tuple[Note, ...]:
    """What stands beside a comparison of two boots; unknown on one side is no difference."""
    pairs = ((name, one.soft[name], other.soft.get(name, "unknown")) for name in one.soft)
    return tuple(
        Note(code=f"differs-{name}", text=f"{name} differs: {mine} and {theirs}")
        for name, mine, theirs in pairs
        if mine != theirs and "unknown" not in (mine, theirs)
    )


def differences(before: Facts, after: Facts) -> tuple[Note, ...]:
    """What changed on the host during a run and should not have."""
    notes = []
    for name, shown in _STEADY.items():
        early, late = getattr(before, name), getattr(after, name)
        if early is not None and late is not None and early != late:
            code = f"{name.removesuffix('_us').removesuffix('_kib').replace('_', '-')}-changed"
            notes.append(Note(code=code, text=f"{shown} changed during the run: {early} -> {late}"))
    if before.boot_id and after.boot_id and before.boot_id != after.boot_id:
        notes.append(Note(code="boot-changed", text="the host rebooted during the run"))
    elif (jump := _clock_jump(before, after)) is not None:
        notes.append(Note(code="clock-jump", text=f"the wall clock jumped by {jump:.0f} s"))
    return tuple(notes)


def _clock_jump(before: Facts, after: Facts) -> float | None:
    clocks = (before.epoch_s, after.epoch_s, before.uptime_s, after.uptime_s)
    early, late, started, ended = clocks
    if early is None or late is None or started is None or ended is None:
        return None
    jump = (late - early) - (ended - started)
    return jump if abs(jump) > _CLOCK_JUMP_S else None


def quiet_notes(facts: Facts) -> tuple[Note, ...]:
    """Why the host was not quiet when these facts were read; none if it was."""
    notes = []
    limit = QUIET_LOAD * (facts.cpus_online or 1)
    if facts.load1 is not None and facts.load1 >= limit:
        text = f"load {facts.load1:g} before the run; quiet is below {limit:g}"
        notes.append(Note(code="noisy-load", text=text))
    if facts.psi_some_avg10 is not None and facts.psi_some_avg10 >= QUIET_PRESSURE:
        text = f"tasks waited for a CPU {facts.psi_some_avg10:g} % of the time before the run"
        notes.append(Note(code="noisy-pressure", text=text))
    return tuple(notes)
