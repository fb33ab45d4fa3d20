"""A terminal that a test looks at."""

from __future__ import annotations

import os
import pty
import select
import termios
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def opened() -> Iterator[tuple[int, int]]:
    """A terminal of 100 columns: the side of the program, and that of who looks at it."""
    screen, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 100))
    try:
        yield terminal, screen
    finally:
        os.close(terminal)
        os.close(screen)


def read(screen: int) -> str:
    ready, _, _ = select.select([screen], [], [], 0.1)
    return os.read(screen, 65536).decode() if ready else ""
