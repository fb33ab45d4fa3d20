"""Playbook files -> playbooks. Refusals begin with ``file:line:column``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from orchestrator.contract import errors
from orchestrator.playbook import consistency, source
from orchestrator.playbook.model import Playbook

#: refusals that one message names
_MOST = 10


def load(data: bytes, *, name: str) -> Playbook:
    """The playbook in a file's bytes; ``name`` is what messages call the file.

    Raises: PlaybookError, a line for each thing that is wrong.
    """
    read = source.read(data, name=name)
    try:
        playbook = Playbook.model_validate(read.value)
    except ValidationError as error:
        found = error.errors(include_url=False)
        raise errors.PlaybookError("\n".join(_sentences(read, found)[:_MOST])) from error
    playbook._source = read
    consistency.check(playbook)
    return playbook


def load_folder(files: Mapping[str, bytes]) -> dict[str, Playbook]:
    """All playbooks of a catalogue by their names; ``files`` maps a path to its bytes.

    Raises: PlaybookError, also where two files have one name.
    """
    playbooks: dict[str, Playbook] = {}
    paths: dict[str, str] = {}
    for path in sorted(files):
        playbook = load(files[path], name=path)
        if playbook.name in playbooks:
            raise errors.PlaybookError(
                f"{playbook.at('name')}: {paths[playbook.name]} is also named {playbook.name!r}; "
                "rename one of them"
            )
        playbooks[playbook.name], paths[playbook.name] = playbook, path
    return playbooks


def _sentences(read: source.Source, found: list[ErrorDetails]) -> list[str]:
    placed = []
    for error in found:
        context: dict[str, Any] = error.get("ctx", {})
        loc = error["loc"] + tuple(context.get("within", ()))
        if loc and loc[-1] == "[key]":
            loc, context = loc[:-1], {**context, "key": True}
        if loc not in read.places:
            # one mapping where a list may stand: the model sees a list of one
            loc = _without_first(loc, read)
        at = read.at_key(loc) if context.get("key") else read.at(loc)
        placed.append((read.places.get(loc, (0, 0)), f"{at}: {_sentence(error, context)}"))
    return [sentence for _, sentence in sorted(placed)]


def _without_first(loc: source.Loc, read: source.Source) -> source.Loc:
    for index, part in enumerate(loc):
        shorter = (*loc[:index], *loc[index + 1 :])
        if part == 0 and shorter in read.places:
            return shorter
    return loc


def _sentence(error: ErrorDetails, context: Mapping[str, Any]) -> str:
    match error["type"]:
        case "playbook":
            return str(context["sentence"])
        case "enum" | "literal_error":
            return f"{_shown(error['input'])} is not one of: {context['expected']}"
        case "tuple_type":
            return "here stands a list"
        case "dict_type" | "model_type":
            return "here stands a mapping (name: value)"
        case "missing" | "too_long":
            return "the list has not as many values as it needs"
    return error["msg"]


def _shown(value: object) -> str:
    return repr(value)[:60] if isinstance(value, str) else "a list or mapping"
