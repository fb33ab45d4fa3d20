"""Tables of scheduler latency: average, minimum and maximum under two settings of a kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from orchestrator.contract import errors, units
from orchestrator.contract.domain import Better, Measurement, PreemptModel
from orchestrator.importers import heading
from orchestrator.importers.base import ImportedRun
from orchestrator.importers.text import Text

PARSER: Final = "mail-latency@1"
PLAYBOOK: Final = "sched-latency"

_STATISTICS: Final = {
    "average": "mean", "avg": "mean", "mean": "mean",
    "minimum": "min", "min": "min",
    "maximum": "max", "max": "max",
}  # fmt: skip
_WORDS: Final = "|".join(_STATISTICS)
_FIGURE: Final = r"\d+(?:\.\d+)?\s*(?:ns|us|ms|s)\b"
_SYSTEM: Final = re.compile(
    r"[\"'](?P<load>[\w -]+)[\"']\s+system\s*,\s*(?P<samples>\d[\d.,' ]*?)\s+samples\b", re.I
)
_ROW: Final = re.compile(
    rf"\b(?P<statistic>{_WORDS})\s+(?P<what>[\w-]+\s+)?latency\s*"
    rf"\((?P<names>[^()]*)\)\s*:\s*(?P<figures>{_FIGURE}(?:\s*/\s*{_FIGURE})*)(?!\s*/)",
    re.I,
)
#: a row by its beginning and some figure of time after it
_LIKE_ROW: Final = re.compile(
    rf"\b(?:{_WORDS})\s+(?:[\w-]+\s+)?latency\b"
    rf"(?=(?:(?!\b(?:{_WORDS})\s)[^\n]){{0,100}}?(?:\d\s*(?:ns|us|ms)\b|\())",
    re.I,
)
_LIKE_SYSTEM: Final = re.compile(r"\bsystem\s*,[^\n]{0,20}?\bsamples\b", re.I)
_SUBJECT: Final = re.compile(r"\bSubject:\s*(?P<text>[^\n]*?)(?=\s[A-Z][A-Za-z-]+:\s|\n|\Z)")
_NAMED: Final = re.compile(
    rf"(?<![\w./\[(:-])(?P<before>{heading.LABEL})\s+kernel\b"
    rf"|\b(?:kernel|linux)\s+(?P<after>{heading.LABEL})(?![\w/])",
    re.I,
)
_IN_SUBJECT: Final = re.compile(rf"(?<![\w./-])(?:{heading.LABEL})(?![\w/])")
_MODELS: Final = {
    "preemption enabled": PreemptModel.FULL,
    "preemption disabled": PreemptModel.NONE_OR_VOLUNTARY,
}


@dataclass
class _System:
    """One block of rows: the load it was measured under, and what each setting gave."""

    load: str
    samples: int | None
    start: int
    kernel: str
    #: setting -> statistic -> measurement
    settings: dict[str, dict[str, Measurement]] = field(default_factory=dict)


def read(text: Text, begin: int, end: int) -> Iterator[ImportedRun]:
    """The runs of one mail, numbered from 1: one for each load and setting.

    Raises: ImportRefused for a damaged row, or where no kernel is named, naming the line.
    """
    rows = list(_ROW.finditer(text.body, begin, end))
    heads = list(_SYSTEM.finditer(text.body, begin, end))
    if not rows and not heads:
        return
    _refuse_damage(text, begin, end, rows, heads)
    order = 0
    for system in _systems(text, begin, rows, heads):
        for setting, by_statistic in system.settings.items():
            order += 1
            _refuse_disorder(text, system, setting, by_statistic)
            yield ImportedRun(
                playbook=PLAYBOOK,
                params=(("load", system.load),) if system.load else (),
                kernel=system.kernel,
                group=setting,
                order=order,
                measurements=tuple(by_statistic.values()),
                preempt=_MODELS.get(setting.lower(), PreemptModel.UNKNOWN),
                line=text.line(system.start),
            )


def _refuse_damage(
    text: Text, begin: int, end: int, rows: list[re.Match[str]], heads: list[re.Match[str]]
) -> None:
    for like, whole, what in ((_LIKE_ROW, rows, "row"), (_LIKE_SYSTEM, heads, "heading")):
        spans = [found.span() for found in whole]
        for piece in like.finditer(text.body, begin, end):
            if not any(first <= piece.start() < last for first, last in spans):
                raise errors.ImportRefused(
                    f"{text.where(piece.start())}: this {what} of a latency table is damaged: "
                    f"{text.excerpt(piece.start())!r}; nothing was imported"
                )


def _systems(
    text: Text, begin: int, rows: list[re.Match[str]], heads: list[re.Match[str]]
) -> list[_System]:
    systems: list[_System] = []
    for found in sorted((*rows, *heads), key=lambda found: found.start()):
        if found.re is _SYSTEM:
            systems.append(_system(text, begin, found))
            continue
        if not systems:
            kernel = _kernel(text, begin, found.start())
            systems.append(_System(load="", samples=None, start=found.start(), kernel=kernel))
        _add(text, systems[-1], found)
    return systems


def _system(text: Text, begin: int, head: re.Match[str]) -> _System:
    printed = head["samples"].strip()
    if not re.fullmatch(r"\d+|\d{1,3}(?:[.,' ]\d{3})+", printed):
        raise errors.ImportRefused(
            f"{text.where(head.start())}: {printed!r} is no number of samples"
        )
    samples = int(re.sub(r"\D", "", printed))
    if not 0 < samples < 2**53:
        raise errors.ImportRefused(
            f"{text.where(head.start())}: {printed!r} samples cannot have been measured"
        )
    return _System(
        load=head["load"].strip().lower(),
        samples=samples,
        start=head.start(),
        kernel=_kernel(text, begin, head.start()),
    )


def _add(text: Text, system: _System, row: re.Match[str]) -> None:
    """File the figures of a row under its settings: ``(preemption enabled / disabled)``."""
    first, *others = (" ".join(name.split()) for name in row["names"].split("/"))
    subject, _, _ = first.rpartition(" ")
    names = [first, *(f"{subject} {other}".strip() for other in others)]
    figures = [figure.strip() for figure in row["figures"].split("/")]
    statistic = _STATISTICS[row["statistic"].lower()]
    if len(names) != len(figures):
        raise errors.ImportRefused(
            f"{text.where(row.start())}: {len(names)} settings but {len(figures)} figures: "
            f"{text.excerpt(row.start(), len(row.group()))!r}"
        )
    for name, figure in zip(names, figures, strict=True):
        of_setting = system.settings.setdefault(name, {})
        if statistic in of_setting:
            raise errors.ImportRefused(
                f"{text.where(row.start())}: a second {row['statistic']} latency under the same "
                "heading; nothing was imported"
            )
        of_setting[statistic] = _measurement(statistic, figure, system.samples)


def _measurement(statistic: str, figure: str, samples: int | None) -> Measurement:
    value, unit = re.fullmatch(r"([\d.]+)\s*(\w+)", figure).groups()  # type: ignore[union-attr]
    return Measurement(
        name=f"latency.{statistic}",
        value=units.tidy(float(value), unit),
        unit=unit,
        better=Better.LOWER,
        parser=PARSER,
        primary=statistic == "mean",
        samples=samples,
    )


def _refuse_disorder(
    text: Text, system: _System, setting: str, by_statistic: dict[str, Measurement]
) -> None:
    there = [by_statistic[name].value for name in ("min", "mean", "max") if name in by_statistic]
    if there != sorted(there):
        raise errors.ImportRefused(
            f"{text.where(system.start)}: {setting}: minimum, average and maximum are not in "
            "order; nothing was imported"
        )


def _kernel(text: Text, begin: int, end: int) -> str:
    """The kernel that was measured: the last one named before the table, else in the subject."""
    named = [found["before"] or found["after"] for found in _NAMED.finditer(text.body, begin, end)]
    if named:
        return named[-1]
    for subject in _SUBJECT.finditer(text.body, begin, end):
        found = _IN_SUBJECT.search(subject["text"])
        if found:
            return found.group()
    raise errors.ImportRefused(f"{text.where(end)}: no kernel is named before this latency table")
