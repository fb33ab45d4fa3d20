"""Calls of the host protocol: the command that asks, and the answer read back out of the noise.

What a host writes is believed only inside lines that carry the nonce of the call, and only in the
form that docs/host-protocol.md gives it. The rest is the chatter of login shells.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import Final

from orchestrator.contract import checksum, errors, messages
from orchestrator.contract.domain import Status
from workers.ssh import Output

#: bytes of answer lines beside the bytes of chunks
ENVELOPE: Final = 1 << 18

#: what a host may answer to each verb
STATUSES: Final[dict[str, frozenset[Status]]] = {
    "meet": frozenset({Status.DONE}),
    "shelve": frozenset({Status.DONE, Status.PROTO}),
    "probe": frozenset({Status.CLEAN, Status.BUSY}),
    "facts": frozenset({Status.DONE}),
    "start": frozenset(
        {
            Status.RUNNING,
            Status.DONE,
            Status.DIED,
            Status.BUSY,
            Status.STALE,
            Status.OTHERBOOT,
            Status.REBOOTED,
        }
    ),
    "poll": frozenset(
        {
            Status.PREPARED,
            Status.RUNNING,
            Status.DONE,
            Status.DIED,
            Status.REBOOTED,
            Status.ABSENT,
            Status.STALE,
        }
    ),
    "fetch": frozenset({Status.DONE, Status.ABSENT, Status.RUNNING}),
    "kill": frozenset({Status.DIED, Status.DONE, Status.ABSENT, Status.UNSURE}),
    "reap": frozenset({Status.CLEAN, Status.UNSURE, Status.NOTOWNER}),
    "purge": frozenset({Status.PURGED, Status.NOTOWNER, Status.RUNNING}),
}

_BASE: Final = re.compile(r"/[A-Za-z0-9_./-]{1,200}")
_CHUNK: Final = re.compile(
    rb"chunk ([A-Za-z0-9_.-]{1,100}) ([0-9]{1,15}) ([0-9]{1,9}) ([a-z0-9]{1,20}) ([0-9a-f]{1,64})"
)
_PAIR: Final = re.compile(rb"([a-z]{1,20})=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A range of a stream as it came; its checksum was compared."""

    stream: str
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole answer to one call."""

    status: Status
    #: all values of each key, in the order they came
    values: dict[str, tuple[str, ...]]
    pieces: tuple[Piece, ...]

    def one(self, key: str) -> str | None:
        """The value of a key, if it came."""
        return self.values.get(key, (None,))[0]

    def number(self, key: str, most: int = 2**53) -> int | None:
        """The decimal value of a key, if it came.

        Raises: ProtocolError.
        """
        text = self.one(key)
        if text is None:
            return None
        if not re.fullmatch(r"[0-9]{1,16}", text) or int(text) > most:
            raise errors.ProtocolError(f"the host's {key} is no number: {text[:40]!r}")
        return int(text)

    @property
    def detail(self) -> str:
        """The host's own sentence."""
        return (self.one("detail") or "")[:400]

    @property
    def streams(self) -> tuple[messages.StreamEntry, ...]:
        """The manifest.

        Raises: ProtocolError.
        """
        return tuple(_entry(line) for line in self.values.get("stream", ()))


@dataclass(slots=True, kw_only=True)
class Meeting:
    """What a host said of itself when it was met; the shelf grows as files are put there."""

    base: str
    instance: str
    volatile: bool
    arch: str
    #: the best checksum that the host can compute
    checksum: checksum.Algorithm
    shelf: set[str]
    #: whether rackprobe was seen to on this connection
    stocked: bool = False

    @classmethod
    def read(cls, answer: Answer) -> Meeting:
        """What meet.sh answered.

        Raises: ProtocolError.
        """
        return cls(
            base=checked_base(answer.one("base")),
            instance=answer.one("instance") or "",
            volatile=answer.one("volatile") == "1",
            arch=answer.one("arch") or "",
            checksum=_algorithm(answer.one("checksum")),
            shelf=set(answer.values.get("shelf", ())),
        )


def new_nonce() -> str:
    """A word that nobody wrote before this call."""
    return secrets.token_hex(8)


def checked_base(text: str | None) -> str:
    """A base folder that is safe in a command.

    Raises: ProtocolError.
    """
    if text is None or not _BASE.fullmatch(text) or ".." in text.split("/"):
        raise errors.ProtocolError(f"the host's base folder is no plain path: {str(text)[:80]!r}")
    return text


def read(output: Output, nonce: str, verb: str) -> Answer:
    """The answer in the output of a call.

    Raises: ProtocolError where there is no whole answer.
    """
    values: dict[str, list[str]] = {}
    pieces: list[Piece] = []
    prefix = f"@@{nonce} ".encode()
    data, at = output.data, 0
    while at < len(data):
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        line, at = data[at:end], end + 1
        if not line.startswith(prefix):
            continue
        line = line.removeprefix(prefix).rstrip(b"\r")
        if line == b"end":
            return _answer(verb, values, pieces)
        if chunk := _CHUNK.fullmatch(line):
            pieces.append(_piece(chunk, data, at))
            # the newline after the bytes
            at += len(pieces[-1].data) + 1
        elif pair := _PAIR.fullmatch(line):
            values.setdefault(pair[1].decode(), []).append(_plain(pair[2]))
        else:
            raise errors.ProtocolError(f"{verb}: a line of the answer is {_plain(line)[:80]!r}")
    if output.over:
        raise errors.ProtocolError(f"{verb}: the host's answer was too long")
    said = _plain(output.err or output.data)[-200:].strip()
    raise errors.ProtocolError(f"{verb}: the host did not answer to the end; it said {said!r}")


def _answer(verb: str, values: dict[str, list[str]], pieces: list[Piece]) -> Answer:
    found = {key: tuple(lines) for key, lines in values.items()}
    said = found.get("status", ("",))[0]
    if said == Status.PROTO:
        raise errors.ProtocolError(found.get("detail", (f"the host refused {verb}",))[0][:400])
    if said not in STATUSES[verb]:
        raise errors.ProtocolError(f"{verb}: the host's status {said[:40]!r} is not one of ours")
    return Answer(status=Status(said), values=found, pieces=tuple(pieces))


def _piece(chunk: re.Match[bytes], data: bytes, at: int) -> Piece:
    stream, offset, length = chunk[1].decode(), int(chunk[2]), int(chunk[3])
    piece = data[at : at + length]
    if len(piece) < length:
        raise errors.ProtocolError(f"stream {stream!r} broke off at byte {offset + len(piece)}")
    expected = checksum.digest(_algorithm(chunk[4].decode()), piece)
    if expected != chunk[5].decode():
        raise errors.ProtocolError(f"stream {stream!r} was damaged on its way, from byte {offset}")
    return Piece(stream=stream, offset=offset, data=piece)


def _algorithm(word: str | None) -> checksum.Algorithm:
    try:
        return checksum.Algorithm(word or "")
    except ValueError as error:
        raise errors.ProtocolError(f"the host has no checksum that we know: {word!r}") from error


def _entry(line: str) -> messages.StreamEntry:
    words = line.split(" ")
    try:
        name, size, algorithm, digest = words
        return messages.StreamEntry(
            name=name,
            size=int(size),
            algorithm=_algorithm(algorithm),
            digest=digest,
        )
    except ValueError as error:
        raise errors.ProtocolError(f"a line of the manifest is {line[:80]!r}") from error


def _plain(raw: bytes) -> str:
    """Text of a host for people: whatever would move a cursor is made visible."""
    text = raw.decode("utf-8", "replace")
    return "".join(letter if letter.isprintable() else " " for letter in text)
