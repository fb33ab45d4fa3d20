"""Quoting: what it gives, and what it refuses. That it holds is tested in real shells."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.contract import errors
from orchestrator.playbook import quoting


@pytest.mark.parametrize(
    ("word", "quoted"), [("", "''"), ("a b", "'a b'"), ("it's", r"'it'\''s'"), ("'", r"''\'''")]
)
def test_quote_gives_one_word(word: str, quoted: str) -> None:
    assert quoting.quote(word) == quoted


@given(st.text(st.characters(exclude_characters="\0")))
def test_quote_is_read_back_as_the_word(word: str) -> None:
    assert shlex.split(quoting.quote(word)) == [word]


def test_quote_of_a_nul_is_refused() -> None:
    with pytest.raises(errors.InputError, match="NUL"):
        quoting.quote("a\0b")


def test_here_document_ends_at_a_mark_that_the_text_does_not_hold() -> None:
    text = "END_OF_TEXT\nEND_OF_TEXT_"
    assert quoting.here_document(text, path="x") == (
        "cat >x <<'END_OF_TEXT__'\nEND_OF_TEXT\nEND_OF_TEXT_\nEND_OF_TEXT__\n"
    )
