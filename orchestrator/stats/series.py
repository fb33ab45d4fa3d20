"""What statistics are made from: the values of single runs, as the store hands them over."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.contract.domain import Better, Histogram, Note, Outcome

#: parameters of a playbook, sorted by name, every value as text
Params = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunValue:
    """One metric of one finished run, with all that says what it may be compared with.

    Units: ``value`` in the base unit of its dimension; ``unit`` is the one it is shown in;
    ``raw`` and ``histogram`` in ns.
    """

    run: str
    host: str
    #: hash of the kernel identity; results are never merged over two of them
    kernel_id: str
    #: what people call that kernel
    kernel: str
    #: imported results only: the group of the source that the run stands in
    group: str = ""
    #: None: unknown
    boot: str | None
    playbook: str
    params: Params = ()
    #: class of everything but the kernel that a comparable number must share
    environment: str = ""
    metric: str
    value: float
    unit: str
    better: Better
    #: the metric that the playbook is about
    primary: bool = False
    #: number of samples behind the value, where it is a statistic of samples
    samples: int | None = None
    #: the samples themselves, where they were kept
    raw: tuple[int, ...] | None = None
    histogram: Histogram | None = None
    notes: tuple[Note, ...] = ()
    #: what a reader must know of the machine behind the host, in a sentence
    machine: str = ""
    #: place of the run in the order of execution, or in the source
    order: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcludedRun:
    """A run that ended without a number that counts, and why."""

    run: str
    host: str
    #: empty where the run ended before its kernel was known
    kernel_id: str = ""
    kernel: str = ""
    group: str = ""
    playbook: str
    params: Params = ()
    outcome: Outcome
    reason: str
