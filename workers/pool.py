"""One connection and one lock per way into a host, closed on any doubt."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.contract import errors, messages
from workers import hostcall, ssh
from workers.deadline import Deadline

#: seconds after which an unused connection is closed
IDLE_S: Final = 600.0


@dataclass(slots=True)
class Link:
    """An open session, and what the host at its other end said when it was met."""

    session: ssh.Session
    #: host keys and name of our key: a session is trusted no longer than what it was opened with
    opened_with: tuple[object, ...]
    meeting: hostcall.Meeting | None = None


class Slot:
    """The way into one host: who holds it may use its session, one command at a time."""

    def __init__(self, keys: Path) -> None:
        self._keys = keys
        self._lock = threading.Lock()
        #: guards the fields below against those who do not hold the slot
        self._guard = threading.Lock()
        self._link: Link | None = None
        self._attending = False
        self._urgent = 0
        self._used_at = time.monotonic()

    def link(self, ref: messages.HostRef, *, deadline: Deadline) -> tuple[Link, bool]:
        """The link to the host, and whether it was made just now.

        Raises: Unreachable, HostKeyChanged, AuthRefused.
        """
        wanted = (ref.host_keys, ref.key, ref.base)
        link = self._link
        if link is not None and link.session.alive and link.opened_with == wanted:
            return link, False
        self.drop()
        link = Link(ssh.connect(ref, self._keys, deadline=deadline), wanted)
        self._link = link
        return link, True

    def drop(self) -> None:
        """Close the session, if there is one."""
        link, self._link = self._link, None
        if link is not None:
            link.session.close()

    @contextmanager
    def attend(self, *, wanted: bool) -> Iterator[bool]:
        """Whether the holder may wait on an idle connection; while it does, a kill may end it."""
        with self._guard:
            self._attending = wanted and self._urgent == 0
        try:
            yield self._attending
        finally:
            with self._guard:
                self._attending = False

    @property
    def pressed(self) -> bool:
        """Whether a kill waits for the slot."""
        return self._urgent > 0

    @contextmanager
    def hold(self, *, deadline: Deadline, urgent: bool) -> Iterator[Slot]:
        """Hold the slot. ``urgent`` does not wait for an attending to end: it ends it.

        Raises: DeadlineExceeded if others hold it all the while.
        """
        held = self._press_in(deadline) if urgent else self._wait(deadline)
        if not held:
            raise errors.DeadlineExceeded("another operation on this host took all of the time")
        try:
            yield self
        finally:
            self._used_at = time.monotonic()
            self._lock.release()

    def _wait(self, deadline: Deadline) -> bool:
        return self._lock.acquire(timeout=deadline.remaining)

    def _press_in(self, deadline: Deadline) -> bool:
        with self._guard:
            # counted first: who has not begun to attend by now will not begin
            self._urgent += 1
            if self._attending and self._link is not None:
                self._link.session.interrupt()
        try:
            return self._wait(deadline)
        finally:
            with self._guard:
                self._urgent -= 1

    def close_if_idle(self, since: float) -> None:
        """Close the session if nobody holds the slot and it was last used before an instant."""
        if self._lock.acquire(blocking=False):
            try:
                if self._used_at <= since:
                    self.drop()
            finally:
                self._lock.release()


class Pool:
    """All slots of a worker."""

    def __init__(self, keys: Path) -> None:
        self._keys = keys
        self._guard = threading.Lock()
        self._slots: dict[tuple[str, int, str], Slot] = {}

    @contextmanager
    def hold(
        self, ref: messages.HostRef, *, deadline: Deadline, urgent: bool = False
    ) -> Iterator[Slot]:
        """Hold the slot of a host; other operations on it wait their turn.

        Raises: DeadlineExceeded.
        """
        with self._guard:
            slot = self._slots.setdefault((ref.address, ref.port, ref.user), Slot(self._keys))
        with slot.hold(deadline=deadline, urgent=urgent):
            yield slot

    def close_idle(self, *, after_s: float = IDLE_S) -> None:
        """Close the connections that were not used for so many seconds."""
        since = time.monotonic() - after_s
        with self._guard:
            slots = tuple(self._slots.values())
        for slot in slots:
            slot.close_if_idle(since)

    def close(self) -> None:
        """Close every connection that is not in use."""
        self.close_idle(after_s=0.0)
