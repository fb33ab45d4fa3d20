"""What a command prints: JSON, plain ASCII, or styled for a terminal."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from orchestrator.cli import plain
from orchestrator.cli.sheet import Sheet
from orchestrator.cli.text import safe, safe_lines

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Screen:
    """Standard output for what was asked, standard error for everything said about it."""

    json: bool = False
    #: asked for; what is not a terminal gets it anyway
    plain: bool = False

    @property
    def styled(self) -> bool:
        """Whether standard output is a terminal that may be styled."""
        return not self.plain and _is_terminal(sys.stdout.isatty())

    @property
    def lively(self) -> bool:
        """Whether progress may be redrawn on standard error."""
        return not self.plain and not self.json and _is_terminal(sys.stderr.isatty())

    @property
    def width(self) -> int:
        """Characters of a line: those of the terminal, or what fits into a mail."""
        return max(shutil.get_terminal_size().columns, 40) if self.styled else plain.WIDTH

    def show(self, data: Any, *sheets: Sheet) -> None:
        """Print what the API answered: as it is for ``--json``, as sheets otherwise."""
        if self.json:
            self.data(data)
        elif self.styled:
            from orchestrator.cli import styled

            for sheet in sheets:
                self.console.print(styled.render(sheet))
        else:
            print(plain.document(sheets))

    def data(self, data: Any) -> None:
        """Print JSON."""
        print(json.dumps(data, indent=2))

    def text(self, text: str) -> None:
        """Print a text that the lab laid out."""
        shown = safe_lines(text, ascii_only=not self.styled)
        print(shown, end="" if shown.endswith("\n") else "\n")

    def octets(self, data: bytes) -> None:
        """Print bytes: exactly, but never raw to a terminal."""
        if sys.stdout.isatty():
            self.text(data.decode(errors="backslashreplace"))
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)

    def say(self, sentence: str) -> None:
        """Say something about what is going on; never mixed into the output."""
        if self.lively:
            print(safe(sentence), file=sys.stderr)
        else:
            print("\n".join(plain.wrapped(sentence)), file=sys.stderr)

    @cached_property
    def console(self) -> Console:
        """The styled standard output."""
        return _console(stderr=False)

    @cached_property
    def progress(self) -> Console:
        """The styled standard error."""
        return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    return Console(stderr=stderr, markup=False, highlight=False, emoji=False, soft_wrap=False)


def _is_terminal(isatty: bool, environ: Mapping[str, str] = os.environ) -> bool:
    return isatty and environ.get("TERM", "") not in ("", "dumb")
