"""The catalogue for people."""

from __future__ import annotations

from pydantic import FiniteFloat

from orchestrator.report.views import View
from orchestrator.service.catalogue import Entry
from orchestrator.service.context import Context


class ParamView(View):
    """A parameter: what may be set, and what it is if it is not."""

    name: str
    type: str
    default: str
    range: str = ""
    unit: str = ""
    help: str = ""


class MetricView(View):
    """A metric of a playbook."""

    name: str
    unit: str
    better: str
    primary: bool
    #: the least and the greatest value that are believed, or are in order; None: any
    valid: tuple[FiniteFloat, FiniteFloat] | None = None


class PlaybookView(View):
    """A playbook of the catalogue."""

    name: str
    title: str
    kind: str
    notes: str
    tags: tuple[str, ...]
    params: tuple[ParamView, ...]
    metrics: tuple[MetricView, ...]
    #: how often it is executed on each host, unless a job says otherwise
    repeats: int
    warmups: int
    pause_s: FiniteFloat
    source_path: str


def _view(entry: Entry) -> PlaybookView:
    playbook = entry.playbook
    return PlaybookView(
        name=playbook.name,
        title=playbook.title,
        kind=str(playbook.kind),
        notes=playbook.notes,
        tags=playbook.tags,
        params=tuple(
            ParamView(
                name=name,
                type=str(param.type),
                default=param.default or "",
                range=param.range_text,
                unit=param.unit,
                help=param.help,
            )
            for name, param in playbook.params.items()
        ),
        metrics=tuple(
            MetricView(
                name=metric.name,
                unit=metric.unit,
                better=str(metric.better),
                primary=metric.primary,
                valid=metric.valid,
            )
            for metric in playbook.metrics
        ),
        repeats=playbook.repeat.count,
        warmups=playbook.repeat.warmup,
        pause_s=playbook.repeat.pause,
        source_path=entry.path,
    )


def list_playbooks(ctx: Context) -> tuple[PlaybookView, ...]:
    """All playbooks, by name."""
    return tuple(_view(entry) for _, entry in sorted(ctx.catalogue.entries.items()))


def show_playbook(ctx: Context, name: str) -> PlaybookView:
    """One playbook.

    Raises: UnknownName.
    """
    return _view(ctx.catalogue.find(name))


def source(ctx: Context, name: str) -> str:
    """The exact text of a playbook.

    Raises: UnknownName.
    """
    return ctx.catalogue.find(name).source
