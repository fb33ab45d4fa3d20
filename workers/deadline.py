"""One deadline for everything an operation does; it travels down instead of timeouts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Deadline:
    """An instant of the monotonic clock, seconds."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """The instant that is so many seconds away."""
        return cls(time.monotonic() + seconds)

    @property
    def remaining(self) -> float:
        """Seconds that are left; never negative."""
        return max(0.0, self.at - time.monotonic())

    @contextmanager
    def watch(self, end: Callable[[], None]) -> Iterator[None]:
        """Call ``end`` from another thread if the deadline passes before the block is left."""
        timer = threading.Timer(self.remaining, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
