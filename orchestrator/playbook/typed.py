"""Scalar types as fields of the model: from text, checked, described in the JSON schema.

A field is read from text only; what the loader hands over is never anything else.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterator
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from orchestrator.contract import units
from orchestrator.playbook import scalars

_V = TypeVar("_V")

_METRIC = re.compile(r"[a-z0-9][a-z0-9.-]{0,62}")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,80}")
_PARSER = re.compile(r"[a-z][a-z0-9_]*@[1-9][0-9]{0,3}")
_WORKERS = re.compile(r"[1-9][0-9]{0,2}(/cpu)?")


def nearest(name: str, known: Collection[str]) -> str:
    """A clause that names the nearest known name, or all of them if none is near."""
    close = difflib.get_close_matches(name, sorted(known), n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known are: {' '.join(sorted(known))}" if known else "none is known"


def fault(sentence: str, *within: str | int, key: bool = False) -> PydanticCustomError:
    """A refusal of the part of a value that stands at ``within``."""
    return PydanticCustomError(
        "playbook", "{sentence}", {"sentence": sentence, "within": within, "key": key}
    )


class Part(BaseModel):
    """A mapping of the format: frozen, and an unknown key is refused with the nearest known."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, value: object) -> object:
        if not isinstance(value, dict):
            raise fault("here stands a mapping (name: value)")
        names = {field.alias or name for name, field in cls.model_fields.items()}
        for key in value:
            if key not in names:
                raise fault(f"unknown key {key!r}; {nearest(key, names)}", key, key=True)
        for name, field in cls.model_fields.items():
            if field.is_required() and (field.alias or name) not in value:
                raise fault(f"{field.alias or name!r} is missing")
        return value


def _scalar(parse: Callable[[str], _V]) -> BeforeValidator:
    def validate(value: object) -> _V:
        if not isinstance(value, str):
            raise fault("here stands one value, not a list or a mapping")
        try:
            return parse(value)
        except ValueError as error:
            raise fault(str(error)) from error

    return BeforeValidator(validate)


def _matching(pattern: re.Pattern[str], what: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(f"{text!r} is not {what}")
        return text

    return parse


def _parse_unit(text: str) -> str:
    if text not in units.UNITS:
        raise ValueError(f"unknown unit {text!r}; {nearest(text, units.UNITS)}")
    return text


def _schema(kind: str | list[str], **more: object) -> WithJsonSchema:
    described: dict[str, Any] = {"type": kind, **more}
    return WithJsonSchema(described)


def _text_schema(pattern: re.Pattern[str]) -> WithJsonSchema:
    return _schema("string", pattern=f"^({pattern.pattern})$")


_SCALAR = ["string", "number", "boolean"]

Int = Annotated[int, _scalar(scalars.parse_int), _schema("integer")]
Number = Annotated[float, _scalar(scalars.parse_number), _schema("number")]
Bool = Annotated[bool, _scalar(scalars.parse_bool), _schema("boolean")]
Duration = Annotated[
    float,
    _scalar(scalars.parse_duration),
    _schema("string", pattern="^[0-9.]+(us|ms|s|m|h|d)$", description="seconds, with a unit"),
]
Size = Annotated[
    int, _scalar(scalars.parse_size), _schema("string", pattern="^[0-9]+(B|KiB|MiB|GiB)$")
]
Slug = Annotated[
    str, _scalar(scalars.parse_slug), _schema("string", pattern="^[a-z0-9][a-z0-9-]*$")
]
Word = Annotated[str, _scalar(scalars.parse_word), _schema(_SCALAR)]
Text = Annotated[str, _scalar(scalars.parse_text), _schema(_SCALAR)]
Name = Annotated[
    str, _scalar(_matching(_NAME, "a name of letters, digits and _")), _text_schema(_NAME)
]
MetricName = Annotated[str, _scalar(_matching(_METRIC, "a metric's name")), _text_schema(_METRIC)]
FileName = Annotated[
    str,
    _scalar(_matching(_FILE, "a plain file name; files are saved from the work folder itself")),
    _text_schema(_FILE),
]
ProcPath = Annotated[
    str,
    _scalar(_matching(re.compile(r"/(proc|sys)(/[A-Za-z0-9_:.-]+)+"), "a file of /proc or /sys")),
    _schema("string", pattern="^/(proc|sys)/"),
]
ParserId = Annotated[
    str,
    _scalar(_matching(_PARSER, "a parser and its version, as iperf2_text@1")),
    _text_schema(_PARSER),
]
Workers = Annotated[
    str, _scalar(_matching(_WORKERS, "a number of workers, as 2 or 1/cpu")), _text_schema(_WORKERS)
]
Unit = Annotated[str, _scalar(_parse_unit), _schema("string", enum=list(units.UNITS))]


def repeated(values: Collection[str]) -> Iterator[tuple[int, str]]:
    """Positions and values that stood in the list before."""
    seen: set[str] = set()
    for index, value in enumerate(values):
        if value in seen:
            yield index, value
        seen.add(value)
