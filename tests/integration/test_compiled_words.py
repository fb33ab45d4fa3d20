"""Any value of a parameter arrives byte for byte, as a word and in the environment."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.scripts import SHELLS, Shell, compiled, execute

NASTY = [
    "",
    " ",
    "a b  c",
    "it's",
    "''",
    "'\\''",
    '"',
    "$(id) `id` $HOME ${P_run}",
    "*",
    "~",
    "?[a-z]",
    "-n",
    "\\",
    "\\n\\c\\0",
    "a\nb\n",
    "\n",
    "\t",
    "\r\n",
    "%s%n",
    "{a,b}",
    "{run}",
    "!x",
    "#",
    ";&|<>",
    "\x01\x02\x7f\x1b[31m",
    "ÄöÜ ß 試験 \U0001f600",
    # bytes 0x81 to 0x88, which some shells use inside
    "\u0081\u0088 \xc1\xc8",
    "END_OF_TEXT",
    # three times in one word: more than this no kernel takes
    "x" * 40_000,
]
TEXT = """\
params:
  a: {type: text, max_length: 100000, default: ""}
stages:
  run:
    steps:
      - {id: main, run: [printf, "%s.", "{a}", "<{a}>{a}{run}"]}
      - {id: shell, script: 'printf "%s" "$P_a"'}
"""


def arrived(shell: Shell, value: str, folder: Path) -> tuple[bytes, bytes]:
    done = execute(shell, compiled(TEXT, {"a": value}, run_id="ef" * 16), folder)
    assert done.end == ("finished", "")
    return done.streams["run.main.out"], done.streams["run.shell.out"]


def expected(value: str) -> tuple[bytes, bytes]:
    run = "ef" * 16
    return f"{value}.<{value}>{value}{run}.".encode(), value.encode()


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("value", NASTY, ids=lambda value: ascii(value)[:20])
def test_nasty_value_arrives_intact(shell: Shell, value: str, tmp_path: Path) -> None:
    assert arrived(shell, value, tmp_path) == expected(value)


@pytest.mark.parametrize("shell", SHELLS)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(value=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_any_text_arrives_intact(shell: Shell, value: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert arrived(shell, value[:200], Path(folder)) == expected(value[:200])


@pytest.mark.parametrize("shell", SHELLS)
def test_script_of_a_step_is_executed_as_it_is_written(shell: Shell, tmp_path: Path) -> None:
    text = (
        "stages:\n  run:\n    steps:\n      - id: main\n        script: |\n"
        "          cat <<'END_OF_TEXT'\n          $x `id` \\ 'q' {a}\n          END_OF_TEXT\n"
        '          printf "%s\\n" \'it is\' "$(echo "a  b")"'
    )
    done = execute(shell, compiled(text), tmp_path)
    assert done.end == ("finished", "")
    assert done.streams["run.main.out"] == b"$x `id` \\ 'q' {a}\nit is\na  b\n"
