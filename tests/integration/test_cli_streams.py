"""The command line at its edges: endless files, closed or full outputs, words that are no text."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHRACK = Path(sys.executable).with_name("benchrack")


def said(command: str, *words: str | bytes, **environ: str) -> tuple[int, str]:
    """Exit code and standard error of a shell command in which ``$0`` is benchrack."""
    done = subprocess.run(
        ("sh", "-c", command, BENCHRACK, *words),
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stderr


def test_endless_file_is_refused_and_not_read_to_its_end() -> None:
    code, sentence = said('"$0" submit /dev/zero.yaml --host h; "$0" import mail /dev/zero')
    assert code == 2
    assert "is over 8 MiB" in sentence


def test_full_output_is_one_sentence() -> None:
    code, sentence = said('"$0" --version >/dev/full')
    assert code == 1
    assert sentence == ("benchrack: standard output cannot be written (No space left on device)\n")


def test_closed_output_is_no_fault() -> None:
    code, sentence = said('"$0" --version >&-')
    assert "Traceback" not in sentence
    assert "a fault of its own" not in sentence
    assert code in (0, 1)


@pytest.mark.parametrize("words", [(b"\xff",), ("",)])
def test_name_that_is_none_is_refused(words: tuple[bytes | str, ...], tmp_path: Path) -> None:
    command = f'"$0" --state {tmp_path} job show "$@"'
    code, sentence = said(command, *words)
    assert (code, sentence.count("\n")) == (2, 1)


def test_token_that_no_header_may_hold_is_refused() -> None:
    code, sentence = said('"$0" status', BENCHRACK_URL="http://127.0.0.1:9", BENCHRACK_TOKEN="a\nb")
    assert code in (2, 4)
    assert sentence.count("\n") == 1
