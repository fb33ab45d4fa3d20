"""Become another program that dies with the process that started it.

Executed as a script: ``launch.py PARENT SIGNAL PROGRAM ARGUMENT...``. It stands between fork and
exec in place of a ``preexec_fn``, which is not safe beside threads.
"""

from __future__ import annotations

import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask the kernel for SIGNAL at PARENT's death, then execute PROGRAM."""
    parent, death, *argv = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(death), 0, 0, 0)
    # the parent may have died before the kernel was asked
    if os.getppid() == int(parent):
        os.execv(argv[0], argv)


if __name__ == "__main__":
    main()
