"""The JSON document of iperf 3 between the noise around it, and the ways in which it is broken."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from orchestrator.contract import errors

#: nesting of the documents of iperf is about 6
_DEPTH = 40
#: noise may hold a few lines that begin like a document
_FAILURES = 50
_BEGIN = re.compile(r"^[ \t]*\{", re.MULTILINE)
_NOT_FINITE = re.compile(r"(?<=[:\[,])(\s*)-?(?:nan|inf)(?=\s*[,}\]\n])")
_EXPONENT = re.compile(r"(?<=\de) (?=\d)")


def find(source: str) -> tuple[dict[str, Any] | None, list[str], list[str]]:
    """The first complete document, flags, and the lines outside of all documents.

    Raises: ParseError if there is a second document that differs: which run would count?
    """
    flags: list[str] = []
    repaired = _EXPONENT.sub("+", _NOT_FINITE.sub(r"\1null", source))
    if repaired != source:
        flags.append("json_repaired")
    documents, others = _scan(repaired, flags)
    if documents and "event" in documents[0]:
        return _from_events(documents), flags, others
    if len(documents) > 1:
        flags.append("duplicate_document")
        if any(document != documents[0] for document in documents[1:]):
            raise errors.ParseError("the output holds more than one run")
    return (documents[0] if documents else None), flags, others


def _scan(source: str, flags: list[str]) -> tuple[list[dict[str, Any]], list[str]]:
    decoder = json.JSONDecoder(
        object_pairs_hook=lambda pairs: _first_of_each(pairs, flags), parse_constant=lambda _: None
    )
    documents: list[dict[str, Any]] = []
    others: list[str] = []
    position = failures = 0
    while failures < _FAILURES and (begin := _BEGIN.search(source, position)):
        noise = source[position : begin.start()]
        position = source.find("\n", begin.end()) + 1 or len(source)
        document = None
        try:
            if not _too_deep(source, begin.end() - 1):
                document, position = decoder.raw_decode(source, begin.end() - 1)
        except ValueError:
            flags.append("json_truncated")
        failures += document is None
        others += noise.splitlines()
        if noise.strip():
            flags.append("noise_after_json" if documents else "noise_before_json")
        if isinstance(document, dict) and _is_document(document):
            documents.append(document)
    others += source[position:].splitlines()
    if documents and source[position:].strip():
        flags.append("noise_after_json")
    return documents, [line for line in others if line.strip()]


def _is_document(found: dict[str, Any]) -> bool:
    """Whether an object is a whole document, and not a part of one that was cut."""
    return (
        isinstance(found.get("start"), dict)
        or isinstance(found.get("error"), str)
        or isinstance(found.get("event"), str)
    )


def _too_deep(source: str, begin: int) -> bool:
    """Whether brackets nest deeper than any document of iperf: the decoder would recurse."""
    depth = 0
    for match in re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]').finditer(source, begin):
        letter = match.group()[0]
        if letter == '"':
            continue
        depth += 1 if letter in "[{" else -1
        if depth > _DEPTH:
            return True
        if depth == 0:
            return False
    return False


def _first_of_each(pairs: list[tuple[str, Any]], flags: list[str]) -> dict[str, Any]:
    """An object in which the first of equal keys counts; the second sum is the way back."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key not in found:
            found[key] = value
            continue
        flags.append("duplicate_json_keys")
        if key.startswith("sum"):
            found.setdefault(f"{key}_bidir_reverse", value)
    return found


def _from_events(documents: list[dict[str, Any]]) -> dict[str, Any] | None:
    """One document from the lines of ``--json-stream``; None if it has no end."""
    found: dict[str, Any] = {"start": {}, "intervals": [], "end": {}}
    for document in documents:
        name, data = document.get("event"), document.get("data")
        if name == "interval":
            found["intervals"].append(data)
        elif isinstance(name, str):
            found[name] = data
    return found if found["end"] or "error" in found else None


def table(parent: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The object at a key; an empty one if there is none."""
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def tables(parent: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The objects of the list at a key."""
    value = parent.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def number(parent: Mapping[str, Any], key: str) -> float | None:
    """The finite number at a key; None if there is none."""
    value = parent.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # an integer of JSON may be longer than any float
    if isinstance(value, int) and value.bit_length() > 1000:
        return None
    return float(value) if math.isfinite(value) else None
