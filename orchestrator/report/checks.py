"""Health checks: each number of a host beside the range that it has to be in."""

from __future__ import annotations

from pydantic import FiniteFloat

from orchestrator.contract.domain import Outcome
from orchestrator.report import layout
from orchestrator.report.layout import Column
from orchestrator.report.views import View

#: what a check says of its number
OK, FAILED, UNKNOWN = "ok", "failed", "not known"


class CheckLine(View):
    """One number of a check. ``value`` is None where it could not be read.

    Units: ``value`` and ``valid`` in ``unit``.
    """

    metric: str
    unit: str
    value: FiniteFloat | None = None
    #: the least and the greatest that are in order; None: any
    valid: tuple[FiniteFloat, FiniteFloat] | None = None
    #: whether the host is not in order without it
    needed: bool = True

    @property
    def verdict(self) -> str:
        """Whether the number is in order."""
        if self.value is None:
            return FAILED if self.needed else UNKNOWN
        within = self.valid is None or self.valid[0] <= self.value <= self.valid[1]
        return OK if within else FAILED


class CheckList(View):
    """The newest check of a host."""

    playbook: str
    host: str
    kernel: str
    run: str
    outcome: Outcome
    reason: str = ""
    #: empty where nothing was read
    lines: tuple[CheckLine, ...] = ()


def plain(check: CheckList, *, width: int = layout.WIDTH) -> str:
    """The check in ASCII: its verdict, and a line for each number."""
    good = check.outcome is Outcome.FINISHED
    kernel = f", kernel {check.kernel}" if check.kernel else ""
    verdict = OK if good else str(check.outcome)
    head = f"{check.playbook}: host {check.host}{kernel}: {verdict} (run {check.run[:8]})"
    lines = layout.paragraph(head, indent="  ", width=width)
    if not good:
        lines += layout.paragraph(check.reason, indent="  ", width=width)
    if check.lines:
        lines += ["", *layout.blocks(_keys(check), _columns(check), [""] * len(check.lines))]
    return "".join(f"{line}\n" for line in lines)


def _keys(check: CheckList) -> list[Column]:
    return [Column("check", tuple(line.metric for line in check.lines))]


def _columns(check: CheckList) -> list[Column]:
    return [
        Column("value", tuple(_value(line) for line in check.lines)),
        Column("unit", tuple("" if line.unit == "1" else line.unit for line in check.lines)),
        Column("allowed", tuple(_allowed(line) for line in check.lines)),
        Column("verdict", tuple(line.verdict for line in check.lines)),
    ]


def _value(line: CheckLine) -> str:
    return layout.UNMEASURED if line.value is None else f"{line.value:.6g}"


def _allowed(line: CheckLine) -> str:
    if line.valid is None:
        return "any"
    low, high = line.valid
    return f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"
