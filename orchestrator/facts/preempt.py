"""The preemption model that a kernel runs with, from what it says about itself.

The traps: a dynamic kernel has CONFIG_PREEMPTION=y and says "Preemptible RCU" under any model;
``preempt=`` has no effect on a static one; kernels before 2.6.12 say nothing at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.contract.domain import Confidence, Preemption, PreemptModel

#: the first release whose version string names preemption; before, absence proves nothing
_FLAGGED = (2, 6, 12)
#: the first release that can be lazy
_LAZY = (6, 13, 0)

_MODELS = {
    "none": PreemptModel.NONE,
    "voluntary": PreemptModel.VOLUNTARY,
    "full": PreemptModel.FULL,
    "lazy": PreemptModel.LAZY,
}
#: options of which a kernel has one
_CONFIGS = {
    "CONFIG_PREEMPT_NONE": PreemptModel.NONE,
    "CONFIG_PREEMPT_VOLUNTARY": PreemptModel.VOLUNTARY,
    "CONFIG_PREEMPT": PreemptModel.FULL,
    "CONFIG_PREEMPT_LAZY": PreemptModel.LAZY,
}
_CHOSEN = re.compile(r"\((\w+)\)")
_BOOTED = re.compile(r"Dynamic Preempt: (\w+)")
_OPTION = re.compile(r"(?:^|\s)preempt=(\w+)(?=\s|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What a kernel shows of its preemption. Empty or None: not readable."""

    release: str = ""
    #: ``uname -v``
    version: str = ""
    config: Mapping[str, str] | None = None
    #: where the config was read: one of another release does not count
    config_path: str = "/proc/config.gz"
    #: /sys/kernel/debug/sched/preempt, with the active model in parentheses
    debug: str | None = None
    #: lines of the kernel log
    log: Sequence[str] = ()
    cmdline: str = ""
    #: of any module: the only sign on the oldest kernels
    vermagic: str | None = None
    #: /sys/kernel/realtime
    realtime: bool = False


def number(release: str) -> tuple[int, int, int]:
    """A release as numbers; zeros for what cannot be read."""
    match = re.match(r"(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?", release)
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else (0, 0, 0)


def detect(signs: Signs) -> Preemption:
    """The model, where it was read, and how sure that is."""
    chosen = _CHOSEN.search(signs.debug or "")
    words = signs.version.replace("PREEMPT RT", "PREEMPT_RT").split()
    config = _config(signs)
    if "PREEMPT_RT" in words or signs.realtime:
        return Preemption(
            model=PreemptModel.RT,
            source="uname_v" if "PREEMPT_RT" in words else "realtime",
            confidence=Confidence.HIGH,
            dynamic=chosen is not None,
            submodel=chosen[1] if chosen else None,
        )
    if "PREEMPT_DYNAMIC" in words or config.get("CONFIG_PREEMPT_DYNAMIC") == "y" or chosen:
        return _dynamic(signs, chosen[1] if chosen else "", config)
    if "PREEMPT_LAZY" in words:
        return _static(PreemptModel.LAZY, "uname_v", Confidence.HIGH)
    if "PREEMPT" in words:
        return _preemptible(signs, config)
    if number(signs.release) < _FLAGGED:
        return _unflagged(signs, config)
    model = _configured(config)
    if model in (PreemptModel.NONE, PreemptModel.VOLUNTARY):
        return _static(model, "config", Confidence.HIGH)
    return _static(PreemptModel.NONE_OR_VOLUNTARY, "uname_v", Confidence.MEDIUM)


def _static(model: PreemptModel, source: str, confidence: Confidence) -> Preemption:
    return Preemption(model=model, source=source, confidence=confidence, dynamic=False)


def _config(signs: Signs) -> Mapping[str, str]:
    of_this_kernel = ("/proc/config.gz", f"/boot/config-{signs.release}")
    return signs.config if signs.config and signs.config_path in of_this_kernel else {}


def _configured(config: Mapping[str, str]) -> PreemptModel | None:
    return next((model for name, model in _CONFIGS.items() if config.get(name) == "y"), None)


def _dynamic(signs: Signs, chosen: str, config: Mapping[str, str]) -> Preemption:
    """The model of a kernel that could have been booted with another one."""
    booted = [match[1] for line in signs.log if (match := _BOOTED.search(line))]
    valid = {"none", "voluntary", "full"}
    if number(signs.release) >= _LAZY:
        valid.add("lazy")
    asked = [word for word in _OPTION.findall(signs.cmdline) if word in valid]
    model, source, confidence = PreemptModel.UNKNOWN, "none", Confidence.LOW
    if chosen in _MODELS:
        model, source, confidence = _MODELS[chosen], "debugfs", Confidence.HIGH
    elif booted and booted[-1] in _MODELS:
        model, source, confidence = _MODELS[booted[-1]], "dmesg", Confidence.HIGH
    elif asked:
        model, source, confidence = _MODELS[asked[-1]], "cmdline", Confidence.MEDIUM
    elif (default := _configured(config)) is not None:
        model, source, confidence = default, "config", Confidence.MEDIUM
    return Preemption(model=model, source=source, confidence=confidence, dynamic=True)


def _preemptible(signs: Signs, config: Mapping[str, str]) -> Preemption:
    """A static kernel that says PREEMPT: full, or lazy from the release that has it."""
    if number(signs.release) < _LAZY:
        return _static(PreemptModel.FULL, "uname_v", Confidence.HIGH)
    model = _configured(config)
    if model in (PreemptModel.FULL, PreemptModel.LAZY):
        return _static(model, "config", Confidence.HIGH)
    return _static(PreemptModel.FULL, "uname_v", Confidence.MEDIUM)


def _unflagged(signs: Signs, config: Mapping[str, str]) -> Preemption:
    """A kernel from before the version string named preemption."""
    if config:
        preempt = config.get("CONFIG_PREEMPT") == "y"
        model = PreemptModel.FULL if preempt else PreemptModel.NONE
        return _static(model, "config", Confidence.HIGH)
    if signs.vermagic:
        model = PreemptModel.FULL if "preempt" in signs.vermagic.split() else PreemptModel.NONE
        return _static(model, "vermagic", Confidence.MEDIUM)
    return _static(PreemptModel.UNKNOWN, "none", Confidence.LOW)
