"""The console script ``benchrack``: it can be interrupted from its first moment on."""

from __future__ import annotations

import signal


def main() -> int:
    """Do what the command line says; the exit code."""
    # until the command line is there to say something better, Ctrl-C ends the process at once
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from orchestrator.cli.main import main as execute

    signal.signal(signal.SIGINT, before)
    return execute()
