"""Single runs: shown, with their raw streams and the script that they executed."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator import inventory
from orchestrator.contract import errors
from orchestrator.report.views import RunView, View
from orchestrator.runs import Run
from orchestrator.service import shown
from orchestrator.service.context import Context
from orchestrator.store import hosts, results
from orchestrator.store import runs as store


class StreamView(View):
    """A stream that was fetched from the host."""

    name: str
    size: int


def one_of(found: Sequence[Run], prefix: str) -> Run:
    """The one run that a prefix means.

    Raises: UnknownName.
    """
    if len(found) == 1:
        return found[0]
    if found:
        raise errors.UnknownName(f"run {prefix!r} is not one run: give more of its id")
    raise errors.UnknownName(f"unknown run {prefix!r}; see those of a job with: benchrack job show")


def _find(ctx: Context, prefix: str) -> Run:
    with ctx.store.reading() as db:
        return one_of(store.find_run(db, prefix), prefix)


def show_run(ctx: Context, prefix: str) -> RunView:
    """One run.

    Raises: UnknownName.
    """
    run = _find(ctx, prefix)
    with ctx.store.reading() as db:
        return shown.run(
            run,
            store.jobs_by_id(db, [run.job])[run.job],
            hosts.kernels(db),
            results.result_of(db, run.id),
            results.measurements(db, run.id),
        )


def streams(ctx: Context, prefix: str) -> tuple[StreamView, ...]:
    """The streams of a run that are in the store.

    Raises: UnknownName.
    """
    run = _find(ctx, prefix)
    with ctx.store.reading() as db:
        have = results.fetched(db, run.id, run.attempt)
    return tuple(
        StreamView(name=entry.name, size=entry.size)
        for entry in run.manifest
        if entry.name in have or not entry.size
    )


def raw(ctx: Context, prefix: str, stream: str) -> bytes:
    """A stream of a run, byte for byte as the host left it.

    Raises: UnknownName.
    """
    run = _find(ctx, prefix)
    known = [view.name for view in streams(ctx, run.id)]
    if stream not in known:
        raise inventory.unknown("stream", stream, known, of=f"run {run.id[:8]}")
    with ctx.store.reading() as db:
        pieces = results.chunks(db, run.id, run.attempt).get(stream, {})
    return b"".join(data for _, data in sorted(pieces.items()))


def script(ctx: Context, prefix: str) -> bytes:
    """The script that a run's last attempt was given.

    Raises: UnknownName; WrongState if it was not started yet.
    """
    run = _find(ctx, prefix)
    with ctx.store.reading() as db:
        found = store.script(db, run.id, run.attempt)
    if found is None:
        raise errors.WrongState(f"run {run.id[:8]} was not started yet: it has no script")
    return found
