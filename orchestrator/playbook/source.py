"""YAML bytes -> texts, lists and mappings, each with its place in the file.

Every scalar stays text until a field of the model gives it a type, so ``6.10``, ``no`` and
``0x1`` mean what they look like. What YAML offers beyond that (anchors, aliases, tags, merge
keys) is refused while it is read, so nothing is ever expanded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml

from orchestrator.contract import errors

#: bytes of a playbook file
MAX_BYTES = 256 * 1024
#: lists and mappings inside each other
MAX_DEPTH = 24
#: scalars, lists and mappings in one file
MAX_VALUES = 20_000

#: the way to a value: keys and positions
Loc = tuple[str | int, ...]
#: line and column, from 1
Place = tuple[int, int]

_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_Tagged = yaml.ScalarEvent | yaml.SequenceStartEvent | yaml.MappingStartEvent
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file as it was read: its value, and where each part of it stands."""

    name: str
    value: object
    places: Mapping[Loc, Place]
    keys: Mapping[Loc, Place]

    def at(self, loc: Loc) -> str:
        """``file:line:column`` of a value, or of the nearest part around it."""
        while loc and loc not in self.places:
            loc = loc[:-1]
        return _at(self.name, self.places.get(loc, (1, 1)))

    def at_key(self, loc: Loc) -> str:
        """``file:line:column`` of the key under which a value stands."""
        return _at(self.name, self.keys[loc]) if loc in self.keys else self.at(loc)


def read(data: bytes, *, name: str) -> Source:
    """The content of a playbook file.

    Raises: PlaybookError, beginning with ``file:line:column``.
    """
    if len(data) > MAX_BYTES:
        raise _refuse(name, (1, 1), f"the file is over {MAX_BYTES // 1024} KiB")
    text = _decode(data.removeprefix(_BOM), name)
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("\t"):
            raise _refuse(name, (number, 1), "a tab indents this line; indent with spaces")
    builder = _Builder(name)
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            builder.take(event)
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        place = (before.count("\n") + 1, error.position - before.rfind("\n"))
        raise _refuse(name, place, "this character is not allowed in YAML") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _refuse(name, _place(mark), _yaml_sentence(error)) from error
    return builder.finish()


def _decode(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        place = (before.count(b"\n") + 1, error.start - before.rfind(b"\n"))
        raise _refuse(name, place, "this byte is not UTF-8; save the file as UTF-8") from error


def _yaml_sentence(error: yaml.MarkedYAMLError) -> str:
    problem = error.problem or "this is not YAML"
    if "'\\t'" in problem:
        return "a tab stands where YAML wants spaces; indent with spaces"
    return f"this is not YAML: {problem}"


@dataclass(slots=True)
class _Open:
    """A list or mapping that is still being read."""

    loc: Loc
    value: list[object] | dict[str, object]
    key: str | None = None


@dataclass(slots=True)
class _Builder:
    name: str
    stack: list[_Open] = field(default_factory=list)
    places: dict[Loc, Place] = field(default_factory=dict)
    keys: dict[Loc, Place] = field(default_factory=dict)
    documents: int = 0
    count: int = 0
    root: object = None

    def take(self, event: yaml.Event) -> None:
        place = _place(event.start_mark)
        match event:
            case yaml.DocumentStartEvent():
                self.documents += 1
                if self.documents > 1:
                    raise self._refuse(place, "a second document begins; a file holds one playbook")
                if event.version or event.tags:
                    raise self._refuse(place, "YAML directives are not used; remove this line")
            case yaml.AliasEvent():
                raise self._refuse(place, f"alias *{event.anchor}: write the value out")
            case yaml.ScalarEvent():
                self._plain(event, place)
                self._scalar(event.value, place)
            case yaml.SequenceStartEvent():
                self._plain(event, place)
                self._open([], place)
            case yaml.MappingStartEvent():
                self._plain(event, place)
                self._open({}, place)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                self.stack.pop()

    def finish(self) -> Source:
        if not self.documents:
            raise self._refuse((1, 1), "the file is empty")
        return Source(name=self.name, value=self.root, places=self.places, keys=self.keys)

    def _plain(self, event: _Tagged, place: Place) -> None:
        if event.anchor:
            raise self._refuse(place, f"anchor &{event.anchor}: write the value out")
        if event.tag:
            raise self._refuse(place, f"tag {event.tag}: fields decide types; remove it")
        self.count += 1
        if self.count > MAX_VALUES:
            raise self._refuse(place, f"the file holds over {MAX_VALUES} values")

    def _scalar(self, value: str, place: Place) -> None:
        top = self.stack[-1] if self.stack else None
        if top and isinstance(top.value, dict) and top.key is None:
            self._begin_key(top, value, place)
        else:
            self._add(value, place)

    def _begin_key(self, top: _Open, key: str, place: Place) -> None:
        if key == "<<":
            raise self._refuse(place, "merge key <<: write the fields out")
        if not _KEY.fullmatch(key):
            raise self._refuse(
                place, f"the key {key[:40]!r} is no plain word; quote a text with , or :"
            )
        if isinstance(top.value, dict) and key in top.value:
            raise self._refuse(place, f"the key {key!r} is given twice")
        self.keys[(*top.loc, key)] = place
        top.key = key

    def _open(self, value: list[object] | dict[str, object], place: Place) -> None:
        top = self.stack[-1] if self.stack else None
        if top and isinstance(top.value, dict) and top.key is None:
            raise self._refuse(place, "a key is a plain word, not a list or a mapping")
        if len(self.stack) >= MAX_DEPTH:
            raise self._refuse(place, f"lists and mappings nest over {MAX_DEPTH} deep")
        self.stack.append(_Open(self._add(value, place), value))

    def _add(self, value: object, place: Place) -> Loc:
        """Put a value where it belongs; its location."""
        if not self.stack:
            self.root = value
            self.places[()] = place
            return ()
        top = self.stack[-1]
        loc: Loc
        if isinstance(top.value, list):
            loc = (*top.loc, len(top.value))
            top.value.append(value)
        else:
            key, top.key = top.key or "", None
            loc = (*top.loc, key)
            top.value[key] = value
        self.places[loc] = place
        return loc

    def _refuse(self, place: Place, sentence: str) -> errors.PlaybookError:
        return _refuse(self.name, place, sentence)


def _place(mark: yaml.error.Mark | yaml._yaml.Mark | None) -> Place:
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def _at(name: str, place: Place) -> str:
    return f"{name}:{place[0]}:{place[1]}"


def _refuse(name: str, place: Place, sentence: str) -> errors.PlaybookError:
    return errors.PlaybookError(f"{_at(name, place)}: {sentence}")
