"""Operation (down) and evidence (up): strict bodies inside a signed envelope.

The task arguments are (body, key id, signature): Ed25519 over the exact bytes of the body, both
ways. A body that does not verify, does not parse, is oversize or of another version is refused
as a whole with MessageError; nothing in it is believed.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Annotated, Final, Literal, Self, TypeVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    StringConstraints,
    ValidationError,
    model_validator,
)

from orchestrator.contract import errors
from orchestrator.contract.checksum import Algorithm
from orchestrator.contract.domain import OperationName, Status

VERSION: Final = 1
#: bytes; a message over this is refused unread
MAX_BODY = 256 * 1024
#: bytes of chunks that one evidence may carry
MAX_CHUNKS = 160 * 1024

#: Celery task names
OPERATE = "benchrack.operate"
INGEST = "benchrack.ingest"

Hex32 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]
#: a name of a stream or file; a label only, never a path
StreamName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$")]
BootId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]{1,64}$")]
Sentence = Annotated[str, StringConstraints(max_length=500)]
Ordinal = Annotated[int, Field(ge=0, le=2**53)]


class _Body(BaseModel):
    # strict JSON, but enums, dates and base64 arrive as text
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, ser_json_bytes="base64", val_json_bytes="base64"
    )


class HostRef(_Body):
    """All that a worker needs to reach a host. ``key`` is a name in the worker's own key folder."""

    name: Slug
    address: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.:-]{1,253}$")]
    port: Annotated[int, Field(ge=1, le=65535)] = 22
    user: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,63}$")]
    #: known_hosts style, ``ssh-ed25519 AAAA...``; empty only for scan
    host_keys: tuple[Annotated[str, StringConstraints(max_length=2000)], ...] = ()
    key: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$")]
    #: absolute path of the base folder on the host; None: the host's own choice
    base: Annotated[str, StringConstraints(pattern=r"^/[A-Za-z0-9_./-]{1,200}$")] | None = None


class StartOrder(_Body):
    """What ``start`` carries. ``if_boot``: under another boot id the host does nothing."""

    script: bytes
    if_boot: BootId
    #: seconds that start may wait for the end on the idle connection; 0: answer at once
    attend_s: FiniteFloat = 0.0
    #: seconds after which the host itself stops the run
    max_runtime_s: FiniteFloat
    #: free space that the host needs before it starts, bytes
    need_free: Ordinal = 0


class PutOrder(_Body):
    """A piece of a file for the host's shelf, by the checksum of the whole."""

    sha256: Sha256
    size: Ordinal
    offset: Ordinal
    data: bytes


class ChunkOrder(_Body):
    """A range of a stream."""

    stream: StreamName
    offset: Ordinal
    length: Annotated[int, Field(ge=1, le=MAX_CHUNKS)]


class FetchOrder(_Body):
    """The ranges that are still missing; at most MAX_CHUNKS bytes in all."""

    chunks: Annotated[tuple[ChunkOrder, ...], Field(min_length=1, max_length=256)]


class Operation(_Body):
    """One short, idempotent operation on one host."""

    v: Literal[1] = VERSION
    id: Hex32
    op: OperationName
    site: Slug
    lab: Hex32
    host: HostRef | None = None
    run: Hex32 | None = None
    attempt: Ordinal = 0
    fence: Ordinal = 0
    #: seconds for connect, banner, authentication and command together
    deadline_s: Annotated[FiniteFloat, Field(gt=0, le=55)] = 55.0
    sent_at: AwareDatetime
    start: StartOrder | None = None
    put: PutOrder | None = None
    fetch: FetchOrder | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        op = self.op
        if (op is OperationName.ECHO) != (self.host is None):
            raise ValueError("every operation but echo names a host")
        if op in RUN_OPERATIONS and (self.run is None or self.attempt < 1 or self.fence < 1):
            raise ValueError(f"{op} names a run, an attempt and a fence")
        for name in ("start", "put", "fetch"):
            if (op == name) != (getattr(self, name) is not None):
                raise ValueError(f"the order of {name} goes with {name} only")
        return self


#: operations on a run
RUN_OPERATIONS = frozenset(
    {
        OperationName.START,
        OperationName.POLL,
        OperationName.FETCH,
        OperationName.KILL,
        OperationName.REAP,
        OperationName.PURGE,
    }
)


class StreamEntry(_Body):
    """One line of the manifest that a finished script leaves."""

    name: StreamName
    size: Ordinal
    algorithm: Algorithm
    digest: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{1,64}$")]


class Chunk(_Body):
    """A range of a stream, as fetched and checked against the host's checksum of it."""

    stream: StreamName
    offset: Ordinal
    data: bytes
    sha256: Sha256


class HostKey(_Body):
    """A key that a server showed to scan."""

    line: Annotated[str, StringConstraints(max_length=2000)]
    fingerprint: Annotated[str, StringConstraints(max_length=100)]


class Scene(_Body):
    """What a probe found: the machine, its boot, its base folder and its facts."""

    boot: BootId
    machine_id: Annotated[str, StringConstraints(max_length=64)] | None
    instance: Hex32
    base: Annotated[str, StringConstraints(max_length=255)]
    volatile: bool
    #: per-lab fence high-water mark on the host
    fence: Ordinal
    uid: Ordinal
    #: the facts snippet's whole output
    facts: bytes


class Evidence(_Body):
    """What came of one operation."""

    v: Literal[1] = VERSION
    id: Hex32
    operation: Hex32
    op: OperationName
    site: Slug
    lab: Hex32
    worker: Annotated[str, StringConstraints(max_length=100)]
    host: Slug | None = None
    run: Hex32 | None = None
    attempt: Ordinal = 0
    fence: Ordinal = 0
    status: Status
    #: whether any command was sent to the host
    commanded: bool
    #: one sentence for people where status is not a plain success
    detail: Sentence = ""
    #: exit status of the script
    rc: Annotated[int, Field(ge=0, le=255)] | None = None
    #: owner of the host's lock as the host names it, whatever it holds
    owner: Annotated[str, StringConstraints(max_length=200)] | None = None
    #: per-lab fence high-water mark on the host
    host_fence: Ordinal | None = None
    boot: BootId | None = None
    manifest: Annotated[tuple[StreamEntry, ...], Field(max_length=400)] = ()
    chunks: Annotated[tuple[Chunk, ...], Field(max_length=256)] = ()
    host_keys: Annotated[tuple[HostKey, ...], Field(max_length=16)] = ()
    scene: Scene | None = None
    #: what was left behind, one line each, where reap is unsure
    left: Annotated[tuple[Sentence, ...], Field(max_length=20)] = ()
    at: AwareDatetime
    duration_s: FiniteFloat


@dataclass(frozen=True, slots=True)
class Envelope:
    """Task arguments: the body's exact text, who signed it, and the signature in base64."""

    body: str
    key_id: str
    signature: str


def seal(body: Operation | Evidence, key_id: str, key: Ed25519PrivateKey) -> Envelope:
    """Sign a message.

    Raises: MessageError if it is larger than a receiver would read.
    """
    text = body.model_dump_json(exclude_defaults=False)
    raw = text.encode()
    if len(raw) > MAX_BODY:
        raise errors.MessageError(f"a message of {len(raw)} bytes is over the limit of {MAX_BODY}")
    return Envelope(text, key_id, base64.b64encode(key.sign(raw)).decode())


def open_operation(envelope: Envelope, keys: dict[str, Ed25519PublicKey]) -> Operation:
    """The operation in an envelope.

    Raises: MessageError.
    """
    return _open(envelope, keys, Operation)


def open_evidence(envelope: Envelope, keys: dict[str, Ed25519PublicKey]) -> Evidence:
    """The evidence in an envelope; a site speaks for itself only.

    Raises: MessageError.
    """
    evidence = _open(envelope, keys, Evidence)
    if evidence.site != envelope.key_id:
        raise errors.MessageError(f"key {envelope.key_id!r} signed for site {evidence.site!r}")
    return evidence


_M = TypeVar("_M", Operation, Evidence)


def _open(envelope: Envelope, keys: dict[str, Ed25519PublicKey], kind: type[_M]) -> _M:
    parts = (envelope.body, envelope.key_id, envelope.signature)
    if not all(isinstance(part, str) for part in parts):
        raise errors.MessageError("the arguments of a task are three texts")
    if len(envelope.body) > MAX_BODY:
        raise errors.MessageError(f"a body over {MAX_BODY} bytes is not read")
    key = keys.get(envelope.key_id)
    if key is None:
        raise errors.MessageError(f"no key named {envelope.key_id[:80]!r} is known")
    try:
        raw = envelope.body.encode()
        key.verify(base64.b64decode(envelope.signature, validate=True), raw)
        return kind.model_validate_json(raw)
    except (InvalidSignature, binascii.Error, UnicodeEncodeError):
        raise errors.MessageError(f"the signature of {envelope.key_id!r} does not verify") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "body"
        raise errors.MessageError(f"{kind.__name__.lower()}: {place}: {first['msg']}") from error
