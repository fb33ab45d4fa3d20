"""The frame around rackprobe's result, and the result in it.

    @@RACK BEGIN nonce length v1
    one JSON document of exactly length bytes
    @@RACK END nonce crc32

Whatever stands before and after is noise of logins and consoles. Inside there is none: the length
and the CRC tell.
"""

from __future__ import annotations

import re
import zlib
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestrator.contract import errors
from orchestrator.parsers import text
from orchestrator.parsers.base import Capture

_BEGIN = re.compile(rb"@@RACK BEGIN ([0-9a-f]{1,64}) (\d{1,9}) v1\n")
_END = re.compile(rb"@@RACK END ([0-9a-f]{1,64}) ([0-9a-f]{8})\n")
_COMPLAINT = "rackprobe: "


class Part(BaseModel):
    """A part of the document; what a newer probe adds is not read."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class Trouble(Part):
    """Why there is no result that counts."""

    code: str
    text: str


class Document(Part):
    """What every command of the probe reports."""

    #: ``schema`` in the document, a name that the base class has taken
    layout: Literal["rackprobe/1"] = Field(alias="schema")
    nonce: str
    status: Literal["ok", "partial", "invalid", "failed"]
    error: Trouble | None
    flags: tuple[str, ...]


_D = TypeVar("_D", bound=Document)


def document(capture: Capture, kind: type[_D]) -> _D:
    """The result in a capture, ok or partial.

    Raises: ParseError if it is missing, cut, changed on the way, of another run, or no result.
    """
    payload = _payload(capture)
    try:
        verdict = Document.model_validate_json(payload)
        if verdict.status in ("invalid", "failed"):
            why = verdict.error.text if verdict.error else "no reason given"
            raise errors.ParseError(f"rackprobe's result is {verdict.status}: {why}")
        return kind.model_validate_json(payload)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"]) or "document"
        raise errors.ParseError(f"rackprobe's result at {place}: {first['msg']}") from None


def _payload(capture: Capture) -> bytes:
    # a terminal on the way adds carriage returns; the document itself has none
    out = capture.out.replace(b"\r", b"")
    begins = [mark for mark in _BEGIN.finditer(out) if _is_ours(mark, capture.nonce)]
    if not begins:
        raise errors.ParseError(_why_none(capture, out))
    if len(begins) > 1:
        raise errors.ParseError("rackprobe printed more than one result in this step")
    begin = begins[0]
    stop = begin.end() + int(begin[2])
    payload = out[begin.end() : stop]
    end = _END.match(out, stop)
    if end is None:
        raise errors.ParseError("rackprobe's result is cut or has something else in it: no end")
    if end[1] != begin[1]:
        raise errors.ParseError("rackprobe's result begins with one nonce and ends with another")
    if zlib.crc32(payload) != int(end[2], 16):
        raise errors.ParseError("rackprobe's result was changed on the way: its CRC differs")
    return payload


def _is_ours(mark: re.Match[bytes], nonce: str) -> bool:
    return not nonce or mark[1] == nonce.encode()


def _why_none(capture: Capture, out: bytes) -> str:
    if _BEGIN.search(out):
        return "rackprobe's result carries another nonce than this run's"
    for line in text.clean(capture.err).lines:
        if line.startswith(_COMPLAINT):
            return f"rackprobe printed no result: {text.quote(line.removeprefix(_COMPLAINT))}"
    return "rackprobe printed no result"
