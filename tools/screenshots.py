"""Write what commands show, as text and as SVG: ``screenshots.py FOLDER``."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

_COLUMNS = 100


def main() -> int:
    """Write a picture of each command; the first exit code that is not 0."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    benchrack = Path(sys.executable).with_name("benchrack")
    with tempfile.TemporaryDirectory() as state:
        for name, words in (("help", ("--help",)), ("demo", ("demo", "--state", state))):
            code, shown = _capture((str(benchrack), *words))
            (folder / f"{name}.txt").write_text(Text.from_ansi(shown).plain + "\n")
            _write_svg(folder / f"{name}.svg", shown, f"benchrack {words[0]}")
            if code != 0:
                return code
    return 0


def _capture(argv: tuple[str, ...]) -> tuple[int, str]:
    # a terminal for standard output only: progress is drawn on standard error
    ours, theirs = pty.openpty()
    environ = {**os.environ, "COLUMNS": str(_COLUMNS), "TERM": "xterm-256color"}
    with subprocess.Popen(argv, stdout=theirs, stderr=subprocess.DEVNULL, env=environ) as running:
        os.close(theirs)
        shown = bytearray()
        while piece := _read(ours):
            shown += piece
    os.close(ours)
    return running.returncode, shown.decode().replace("\r\n", "\n")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:
        # how Linux tells that the other end of a terminal is closed
        return b""


def _write_svg(path: Path, shown: str, title: str) -> None:
    console = Console(record=True, width=_COLUMNS, file=io.StringIO())
    console.print(Text.from_ansi(shown))
    path.write_text(console.export_svg(title=title))


if __name__ == "__main__":
    sys.exit(main())
