"""A declared parameter: what an operator may set, its type and range."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from orchestrator.playbook import scalars, typed
from orchestrator.playbook.scalars import Type

#: bytes of a text value, unless raised
MAX_LENGTH = 256
#: bytes that max_length may allow: a kernel takes at most 128 KiB in one word
LONGEST = 100_000
#: what the script itself knows; no parameter may have these names
BUILT_IN = frozenset({"host", "kernel", "repeat", "workdir", "cpus", "run"})

_RANGED = (Type.INT, Type.NUMBER, Type.DURATION, Type.SIZE)


class Param(typed.Part):
    """A declared parameter. Its texts are typed by ``type``; without default it must be set."""

    type: Type
    default: typed.Text | None = None
    min: typed.Text | None = None
    max: typed.Text | None = None
    choices: tuple[typed.Word, ...] = ()
    max_length: typed.Int = MAX_LENGTH
    unit: typed.Text = Field(default="", description="for people; it converts nothing")
    help: typed.Text = ""
    #: false for what cannot change a number, as the port of a local server: results with different
    #: values of it are of one series
    series: typed.Bool = True

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for bound in ("min", "max"):
            text = getattr(self, bound)
            if text is not None and self.type not in _RANGED:
                raise typed.fault(f"{bound} does not go with type {self.type}", bound)
            if text is not None:
                self._typed(text, bound)
        low, high = self.bounds
        if low is not None and high is not None and low > high:
            raise typed.fault(f"max {self.max} is below min {self.min}", "max")
        if bool(self.choices) != (self.type is Type.CHOICE):
            raise typed.fault("choices go with type choice, and a choice needs them", "choices")
        for index, word in typed.repeated(self.choices):
            raise typed.fault(f"the choice {word!r} is given twice", "choices", index)
        if not 1 <= self.max_length <= LONGEST:
            raise typed.fault(f"max_length is from 1 to {LONGEST} bytes", "max_length")
        if self.default is not None:
            self._typed(self.default, "default")
            if trouble := self.trouble(self.default):
                raise typed.fault(f"the default {trouble}", "default")
        return self

    def _typed(self, text: str, field: str) -> None:
        try:
            scalars.PARSERS[self.type](text)
        except ValueError as error:
            raise typed.fault(str(error), field) from error

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """Smallest and largest value, where there are such."""
        if self.type not in _RANGED:
            return None, None
        parse = scalars.PARSERS[self.type]
        low, high = (None if text is None else float(parse(text)) for text in (self.min, self.max))
        return low, high

    @property
    def range_text(self) -> str:
        """The range in words, for a message."""
        if self.choices:
            return f"one of: {' '.join(self.choices)}"
        if self.min is not None and self.max is not None:
            return f"from {self.min} to {self.max}"
        if self.min is not None:
            return f"at least {self.min}"
        return f"at most {self.max}" if self.max is not None else f"a value of type {self.type}"

    def trouble(self, text: str) -> str | None:
        """What is wrong with a text as a value of this parameter; None if it will do."""
        try:
            value = scalars.PARSERS[self.type](text)
        except ValueError as error:
            return f"is wrong: {error}"
        low, high = self.bounds
        if isinstance(value, int | float) and (
            (low is not None and value < low) or (high is not None and value > high)
        ):
            return f"is {text}; it must be {self.range_text}"
        if self.choices and value not in self.choices:
            return f"is {text!r}; it must be {self.range_text}"
        size = len(text.encode())
        if isinstance(value, str) and size > self.max_length:
            return f"has {size} bytes; it may have {self.max_length}"
        return None
