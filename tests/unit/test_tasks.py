"""What a worker does with messages, short of the broker."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from orchestrator.contract import domain, errors, messages
from orchestrator.contract.domain import OperationName
from workers import operations, pool, tasks

LAB_KEY = Ed25519PrivateKey.generate()
SITE_KEY = Ed25519PrivateKey.generate()


class Broker:
    """Takes envelopes after it refused some."""

    def __init__(self, *, refusals: int) -> None:
        self.refusals = refusals
        self.tries = 0
        self.taken: list[messages.Envelope] = []

    def take(self, envelope: messages.Envelope) -> None:
        self.tries += 1
        if self.tries <= self.refusals:
            raise errors.BrokerError
        self.taken.append(envelope)


def handle(broker: Broker, folder: Path, *arguments: object) -> int:
    """Handle one message; how often it was reported as handled."""
    handled: list[int] = []
    tasks.Operator(
        identity=tasks.Identity(
            site="bench", worker="w", site_key=SITE_KEY, lab_key=LAB_KEY.public_key()
        ),
        station=operations.Station(pool=pool.Pool(folder), cache=folder),
        send=broker.take,
        handled=lambda: handled.append(1),
        pauses_s=(0.0,) * len(tasks.PAUSES_S),
    ).handle(*arguments)
    return len(handled)


def echo() -> tuple[str, str, str]:
    operation = messages.Operation(
        id=domain.new_id(),
        op=OperationName.ECHO,
        site="bench",
        lab="0" * 32,
        sent_at=domain.utc_now(),
    )
    envelope = messages.seal(operation, "lab", LAB_KEY)
    return envelope.body, envelope.key_id, envelope.signature


@pytest.mark.parametrize("refusals", [0, 1, 4])
def test_handle_evidence_is_sent_once_whatever_the_broker_refused(
    tmp_path: Path, refusals: int
) -> None:
    broker = Broker(refusals=refusals)
    assert handle(broker, tmp_path, *echo()) == 1
    [envelope] = broker.taken
    evidence = messages.open_evidence(envelope, {"bench": SITE_KEY.public_key()})
    assert evidence.op is OperationName.ECHO


def test_handle_evidence_that_is_never_taken_is_dropped(tmp_path: Path) -> None:
    broker = Broker(refusals=100)
    assert handle(broker, tmp_path, *echo()) == 1
    assert (broker.tries, broker.taken) == (5, [])


def test_handle_bad_message_counts_as_handled_and_sends_nothing(tmp_path: Path) -> None:
    broker = Broker(refusals=0)
    body, key_id, _ = echo()
    assert handle(broker, tmp_path, body, key_id, "AAAA") == 1
    assert broker.tries == 0
