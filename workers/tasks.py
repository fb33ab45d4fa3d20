"""From a sealed operation to sealed evidence: the only task of a worker."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import pydantic
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from orchestrator.contract import domain, errors, messages
from workers import operations

#: name of the key that signs operations
LAB: Final = "lab"
#: seconds between tries to send evidence; after the last it is dropped, as a poll brings it again
PAUSES_S: Final = (0.5, 1.0, 2.0, 4.0, 8.0)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who this worker is and whom it believes."""

    site: str
    worker: str
    site_key: Ed25519PrivateKey
    lab_key: Ed25519PublicKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """Handles the messages of a site's queue."""

    identity: Identity
    station: operations.Station
    #: gives an envelope to the broker; raises BrokerError
    send: Callable[[messages.Envelope], None]
    #: called once a message was handled
    handled: Callable[[], None]
    pauses_s: tuple[float, ...] = PAUSES_S

    def handle(self, *arguments: Any) -> None:
        """Do what a message asks for and send what came of it; a bad message is dropped."""
        try:
            operation = self._open(arguments)
        except errors.MessageError as error:
            _log.warning("a message was dropped: %s", error.message)
        else:
            self._send(self._evidence(operation))
        finally:
            self.handled()
            self.station.pool.close_idle()

    def _open(self, arguments: tuple[Any, ...]) -> messages.Operation:
        if len(arguments) != 3:
            raise errors.MessageError("the arguments of a task are three texts")
        envelope = messages.Envelope(*arguments)
        operation = messages.open_operation(envelope, {LAB: self.identity.lab_key})
        if operation.site != self.identity.site:
            raise errors.MessageError(f"an operation for site {operation.site!r} came here")
        return operation

    def _evidence(self, operation: messages.Operation) -> messages.Envelope:
        began = time.monotonic()
        finding = operations.operate(operation, self.station)
        elapsed = time.monotonic() - began
        _log.info(
            "%s host=%s run=%s status=%s ms=%.0f%s",
            operation.op,
            operation.host.name if operation.host else "-",
            operation.run[:8] if operation.run else "-",
            finding.status,
            elapsed * 1000,
            f": {finding.detail}" if finding.detail else "",
        )
        try:
            return self._seal(operation, finding, elapsed)
        except (pydantic.ValidationError, errors.MessageError) as error:
            _log.warning("%s: the host's answer does not go into evidence: %s", operation.op, error)
        refused = operations.Finding(
            status=domain.Status.PROTO,
            commanded=finding.commanded,
            detail="the host's answer has a form or size that evidence cannot carry",
        )
        return self._seal(operation, refused, elapsed)

    def _seal(
        self, operation: messages.Operation, finding: operations.Finding, elapsed: float
    ) -> messages.Envelope:
        fields = {f.name: getattr(finding, f.name) for f in dataclasses.fields(finding)}
        evidence = messages.Evidence(
            id=domain.new_id(),
            operation=operation.id,
            op=operation.op,
            lab=operation.lab,
            site=operation.site,
            worker=self.identity.worker,
            host=operation.host.name if operation.host else None,
            run=operation.run,
            attempt=operation.attempt,
            fence=operation.fence,
            at=domain.utc_now(),
            duration_s=elapsed,
            **fields,
        )
        return messages.seal(evidence, self.identity.site, self.identity.site_key)

    def _send(self, envelope: messages.Envelope) -> None:
        for pause in self.pauses_s:
            try:
                return self.send(envelope)
            except errors.BrokerError as error:
                _log.warning("evidence waits %.1f s: %s", pause, error.message)
                time.sleep(pause)
        _log.error("evidence was dropped: the broker did not take it")
        return None
