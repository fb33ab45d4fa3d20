"""``benchrack up``: a lab in the foreground, until it is told to end."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Final

from orchestrator.local.lab import Lab
from orchestrator.settings import Settings

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def up(settings: Settings, *, environ: Mapping[str, str], ready: Callable[[Lab], None]) -> int:
    """Keep a lab running until a signal ends it; ``ready`` is called once it answers.

    Raises: LabError where it cannot be started.
    """
    with (
        contextlib.suppress(KeyboardInterrupt),
        interruptible(),
        Lab(settings, environ=environ) as lab,
    ):
        ready(lab)
        lab.wait()
    return 0


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Turn the first SIGINT, SIGTERM or SIGHUP of the block into KeyboardInterrupt.

    Later ones are ignored: what ends the block has begun, and takes a few seconds at most. Main
    thread only.
    """

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, on_signal) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
