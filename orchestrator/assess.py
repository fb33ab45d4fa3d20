"""The reading of a finished run: streams -> outcome, measurements, notes. Pure.

``docs/host-protocol.md`` says what a script leaves behind. What cannot be believed is said, in
one sentence; a number that is missing stays missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from orchestrator.contract import errors, units
from orchestrator.contract.domain import Measurement, Note, Outcome
from orchestrator.parsers.base import Capture, Parser, Reading, Value
from orchestrator.playbook import requirements, scalars, words
from orchestrator.playbook.metrics import From, Metric
from orchestrator.playbook.model import Kind, Playbook
from orchestrator.playbook.record import Record, read_record

#: exit status of a run that the host's own watchdog ended
_WATCHDOG = 124
#: and of one that left more files, or larger ones, than are taken home
_TOO_MUCH = 125


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What a run came to. ``reason`` is one sentence; empty for *finished*."""

    outcome: Outcome
    reason: str = ""
    #: base units; empty unless the numbers were looked for and found
    measurements: tuple[Measurement, ...] = ()
    #: raw samples in ns of the metric that stands for them
    samples: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[Note, ...] = ()
    flags: tuple[str, ...] = ()
    #: properties that two comparable numbers must share, as ``PARSER.PROPERTY``
    method: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def assess(
    playbook: Playbook,
    values: Mapping[str, scalars.Value],
    streams: Mapping[str, bytes],
    *,
    registry: Mapping[str, Parser],
    nonce: str,
    rc: int | None,
    wall_s: float | None = None,
) -> Assessment:
    """What the streams of a run say of it.

    Units: ``wall_s`` is the lab's clock when the run ended, seconds of the epoch.
    """
    record = read_record(streams.get("result", b""))
    if not record.complete:
        return _cut_off(record, rc)
    if record.outcome is not Outcome.FINISHED:
        return Assessment(outcome=record.outcome, reason=record.reason, notes=record.notes)
    reader = _Reader(playbook, values, streams, registry, record, nonce, wall_s)
    found = [_Found(metric=metric, value=reader.value(metric)) for metric in playbook.metrics]
    outcome, reason = _verdict(playbook, found)
    return Assessment(
        outcome=outcome,
        reason=reason,
        measurements=tuple(one.measurement() for one in found if isinstance(one.value, _Number)),
        samples=reader.samples(),
        notes=record.notes + reader.notes() + _absent(found),
        flags=reader.flags(),
        method=reader.method(),
    )


@dataclass(frozen=True, slots=True)
class _Number:
    """A value in its base unit, and the parser that delivered it."""

    value: float
    parser: str
    samples: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A metric with its number, or the sentence that says why there is none."""

    metric: Metric
    value: _Number | str

    def measurement(self) -> Measurement:
        number = self.value
        if isinstance(number, str):
            raise errors.ParseError(number)
        return Measurement(
            name=self.metric.name,
            value=number.value,
            unit=self.metric.unit,
            better=self.metric.better,
            parser=number.parser,
            primary=self.metric.primary,
            samples=number.samples,
        )

    def trouble(self) -> str | None:
        """Why the run does not count for this metric."""
        metric = self.metric
        if isinstance(self.value, str):
            return f"{metric.name}: {self.value}" if metric.needed else None
        if metric.valid is None:
            return None
        low, high = metric.valid
        shown = units.show(self.value.value, metric.unit)
        if low <= shown <= high:
            return None
        wanted = f"{scalars.plain(low)}..{scalars.plain(high)}"
        unit = "" if metric.unit == "1" else f" {metric.unit}"
        return f"{metric.name} = {shown:.6g}{unit} is outside {wanted}"


class _Reader:
    """The captures of a run, each parsed once by each parser."""

    def __init__(
        self,
        playbook: Playbook,
        values: Mapping[str, scalars.Value],
        streams: Mapping[str, bytes],
        registry: Mapping[str, Parser],
        record: Record,
        nonce: str,
        wall_s: float | None,
    ) -> None:
        self._playbook = playbook
        self._values = values
        self._streams = streams
        self._registry = registry
        self._record = record
        self._nonce = nonce
        self._wall_s = wall_s
        self._steps = requirements.used_steps(playbook, values)
        self._readings: dict[tuple[object, ...], Reading | str] = {}
        self._first: dict[str, Reading] = {}

    def value(self, metric: Metric) -> _Number | str:
        """The number of a metric, or why there is none."""
        origin = self._origin(metric)
        if origin is None:
            return "the tool that was used delivers it not"
        if origin.step in self._record.skipped:
            return f"{origin.step} was left out"
        reading = self._reading(metric, origin)
        if isinstance(reading, str):
            return reading
        if origin.field not in reading.values:
            return f"{origin.parser} found no {origin.field}"
        self._first[metric.name] = reading
        return _tidy(reading.values[origin.field], metric, origin.parser)

    def samples(self) -> Mapping[str, tuple[int, ...]]:
        """Raw samples, once each: under the primary metric of their reading, else its first."""
        owners: dict[int, str] = {}
        kept: dict[str, tuple[int, ...]] = {}
        ranked = sorted(self._playbook.metrics, key=lambda metric: not metric.primary)
        for metric in ranked:
            reading = self._first.get(metric.name)
            if reading is not None and reading.samples and id(reading) not in owners:
                owners[id(reading)] = metric.name
                kept[metric.name] = reading.samples
        return kept

    def notes(self) -> tuple[Note, ...]:
        """A note for each reading that is usable but not whole."""
        return tuple(
            Note(code="partial", text=f"{ident} read less than what was asked for")
            for ident, reading in self._by_parser()
            if reading.partial
        )

    def flags(self) -> tuple[str, ...]:
        """The flags of all readings, once each."""
        return tuple(dict.fromkeys(flag for _, one in self._by_parser() for flag in one.flags))

    def method(self) -> Mapping[str, str]:
        """The methods of all readings."""
        return {
            f"{ident.partition('@')[0]}.{name}": text
            for ident, reading in self._by_parser()
            for name, text in reading.method.items()
        }

    def _by_parser(self) -> list[tuple[str, Reading]]:
        return [
            (str(key[0]), reading)
            for key, reading in self._readings.items()
            if isinstance(reading, Reading)
        ]

    def _origin(self, metric: Metric) -> From | None:
        for origin in metric.sources:
            if origin.step is None or origin.step in self._steps:
                return origin
        return None

    def _reading(self, metric: Metric, origin: From) -> Reading | str:
        unit = metric.unit if origin.pattern else ""
        key = (origin.parser, origin.step, origin.monitor, origin.of, origin.pattern, unit)
        if key not in self._readings:
            self._readings[key] = self._parse(origin, unit)
        return self._readings[key]

    def _parse(self, origin: From, unit: str) -> Reading | str:
        parser = self._registry.get(origin.parser)
        if parser is None:
            return f"this version has no parser {origin.parser}"
        try:
            return parser.parse(self._capture(origin, unit))
        except errors.ParseError as error:
            return f"{origin.parser}: {error.message}"

    def _capture(self, origin: From, unit: str) -> Capture:
        if origin.monitor is not None:
            return Capture(
                before=self._stream(f"monitor.{origin.monitor}.before"),
                after=self._stream(f"monitor.{origin.monitor}.after"),
                elapsed_s=self._record.stage_s("run"),
            )
        name = origin.step or ""
        step = self._steps[name]
        done = self._record.steps.get(name)
        if origin.file is not None:
            out = self._stream(f"file.{origin.file}")
        else:
            out = self._stream(f"{name}.err" if origin.of == "stderr" else f"{name}.out")
        return Capture(
            out=out,
            err=self._streams.get(f"{name}.err", b""),
            rc=done.rc if done else None,
            command=words.command(self._playbook, step, self._values),
            elapsed_s=done.elapsed_s if done else None,
            nonce=self._nonce,
            wall_s=self._wall_s,
            pattern=origin.pattern or "",
            unit=unit,
        )

    def _stream(self, name: str) -> bytes:
        try:
            return self._streams[name]
        except KeyError:
            raise errors.ParseError(f"the run left no {name}") from None


def _tidy(value: Value, metric: Metric, parser: str) -> _Number | str:
    try:
        if units.dimension(value.unit) is not units.dimension(metric.unit):
            return f"{parser} delivers {value.unit}, which is no {metric.unit}"
        return _Number(units.tidy(value.value, value.unit), parser, value.samples)
    except errors.InputError as error:
        return error.message


def _cut_off(record: Record, rc: int | None) -> Assessment:
    if rc == _WATCHDOG:
        where = f" in stage {record.stage}" if record.stage else ""
        return Assessment(
            outcome=Outcome.TIMED_OUT,
            reason=f"the host stopped the run at its time limit{where}",
            notes=record.notes,
        )
    if rc == _TOO_MUCH:
        return Assessment(
            outcome=Outcome.VOID,
            reason="it left over 128 MiB or over 390 files, which is more than is taken home",
            notes=record.notes,
        )
    return Assessment(
        outcome=Outcome.INFRA_FAILED,
        reason=record.trouble + (f"; the script ended with status {rc}" if rc is not None else ""),
        notes=record.notes,
    )


def _verdict(playbook: Playbook, found: list[_Found]) -> tuple[Outcome, str]:
    """A health check names all that is wrong, a benchmark the first thing."""
    troubles = [trouble for one in found if (trouble := one.trouble())]
    if not troubles:
        return Outcome.FINISHED, ""
    if playbook.kind is Kind.HEALTH:
        return Outcome.FAILED, "; ".join(troubles)
    return Outcome.FAILED, troubles[0]


def _absent(found: list[_Found]) -> tuple[Note, ...]:
    return tuple(
        Note(code="absent", text=f"{one.metric.name} is absent: {one.value}")
        for one in found
        if isinstance(one.value, str) and not one.metric.needed
    )
