"""The controller's bell on a real broker: heard at once, never counted on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from orchestrator.contract.broker import Bell, make_app

#: seconds that nobody waits for in these tests, because a ring comes first
LONG = 60.0


@pytest.fixture
def bells(broker: str) -> Iterator[tuple[Bell, Bell]]:
    """One to ring and one to hear; nothing lies there from others."""
    ring, hear = (Bell(make_app(broker, role=role)) for role in ("ring", "hear"))
    while hear.wait(0.05):
        pass
    yield ring, hear
    ring.close()
    hear.close()


def test_ring_is_heard_at_once(bells: tuple[Bell, Bell]) -> None:
    ring, hear = bells
    threading.Timer(0.2, ring.ring).start()
    begun = time.monotonic()
    assert hear.wait(LONG)
    assert time.monotonic() - begun < LONG / 4


def test_rings_that_lie_there_are_heard_as_one(bells: tuple[Bell, Bell]) -> None:
    ring, hear = bells
    for _ in range(5):
        ring.ring()
    assert hear.wait(LONG)
    assert not hear.wait(0.05)


def test_without_a_broker_nobody_is_stopped() -> None:
    bell = Bell(make_app("redis+socket:///nonexistent/broker.sock", role="test"))
    bell.ring()
    assert not bell.wait(0.05)
