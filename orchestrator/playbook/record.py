"""What a compiled script wrote of itself: the stream ``result``. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.contract.domain import Note, Outcome

_VERSION = "benchrack 1"
_NAME = r"[a-z0-9][a-z0-9.-]*"
_SECONDS = r"[0-9]+\.[0-9]+"
_STAGE = re.compile(rf"stage ({_NAME}) (begin|end) ({_SECONDS})")
_STEP = re.compile(rf"step ({_NAME}) (-|[0-9]{{1,3}}) ({_SECONDS}) ({_SECONDS})((?: [a-z-]+)*)")
_NOTE = re.compile(r"note ([a-z0-9-]+) (.+)")
#: what a script can say of itself; the others are for the lab to say
_OUTCOMES = ("finished", "failed", "skipped", "void", "timed-out")
#: characters of a sentence that came from a host
_LONGEST = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step that was executed. Times are in seconds since the boot."""

    rc: int
    begin: float
    end: float
    flags: tuple[str, ...] = ()

    @property
    def elapsed_s(self) -> float:
        """How long it took."""
        return self.end - self.begin


@dataclass(slots=True, kw_only=True)
class _Lines:
    """What has been read so far."""

    stages: dict[str, dict[str, float]] = field(default_factory=dict)
    steps: dict[str, Step] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)
    notes: list[Note] = field(default_factory=list)
    outcome: Outcome | None = None
    reason: str = ""
    ended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A ``result`` as it was read. ``trouble`` says why it is not complete."""

    outcome: Outcome
    reason: str
    complete: bool
    trouble: str
    notes: tuple[Note, ...]
    stages: Mapping[str, Mapping[str, float]]
    steps: Mapping[str, Step]
    skipped: frozenset[str]

    @property
    def stage(self) -> str:
        """The stage that was begun last."""
        return next(reversed(list(self.stages)), "")

    def stage_s(self, name: str) -> float | None:
        """How long a stage took, where both its ends are known."""
        times = self.stages.get(name, {})
        return times["end"] - times["begin"] if len(times) == 2 else None


def read_record(raw: bytes) -> Record:
    """What a ``result`` says; never raises for what a host wrote."""
    # what stands after the last newline was still being written
    lines = raw.decode("utf-8", "replace").split("\n")[:-1] or [""]
    found = _Lines()
    trouble = "" if lines[0] == _VERSION else "the host left no result"
    for number, line in enumerate(lines[1:], 2):
        if trouble or found.ended:
            break
        if not _take(found, line):
            trouble = f"line {number} of the result is no record: {_shown(line)!r}"
    if not trouble and not (found.ended and found.outcome):
        last = next(reversed(list(found.stages)), "facts")
        trouble = f"the script was cut off in stage {last}"
    return Record(
        outcome=found.outcome or Outcome.INFRA_FAILED,
        reason=found.reason,
        complete=not trouble,
        trouble=trouble,
        notes=tuple(found.notes),
        stages=found.stages,
        steps=found.steps,
        skipped=frozenset(found.skipped),
    )


def _take(found: _Lines, line: str) -> bool:
    """Whether a line is a record; what it says is kept."""
    if match := _STAGE.fullmatch(line):
        found.stages.setdefault(match[1], {})[match[2]] = float(match[3])
    elif match := _STEP.fullmatch(line):
        _take_step(found, match)
    elif match := _NOTE.fullmatch(line):
        found.notes.append(Note(code=match[1], text=_shown(match[2])))
    elif line.startswith("outcome ") and line[8:] in _OUTCOMES:
        found.outcome = Outcome(line[8:])
    elif line.startswith("reason "):
        found.reason = _shown(line[7:])
    elif line == "end":
        found.ended = True
    else:
        return False
    return True


def _take_step(found: _Lines, match: re.Match[str]) -> None:
    flags = tuple(match[5].split())
    if match[2] == "-" or "skipped" in flags:
        found.skipped.add(match[1])
        return
    found.steps[match[1]] = Step(
        rc=int(match[2]), begin=float(match[3]), end=float(match[4]), flags=flags
    )


def _shown(text: str) -> str:
    """A sentence of a host's without what could move a cursor, and not too long."""
    return "".join(c for c in text if c.isprintable())[:_LONGEST]
