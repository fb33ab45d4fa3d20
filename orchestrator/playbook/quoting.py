"""POSIX single quotes: a word for the shell, whatever it holds."""

from __future__ import annotations

from orchestrator.contract import errors


def quote(word: str) -> str:
    """The word in single quotes, each ``'`` as ``'\\''``.

    Raises: InputError for a word that no program can be given.
    """
    if "\0" in word:
        raise errors.InputError("a word holds a NUL, which no program can be given")
    return "'" + word.replace("'", "'\\''") + "'"


def here_document(text: str, *, path: str) -> str:
    """Shell text that writes ``text``, byte for byte, to the file that ``path`` (quoted) names.

    The text ends with a newline: a here-document always does.
    """
    if "\0" in text:
        raise errors.InputError("a script holds a NUL")
    body = text if text.endswith("\n") else text + "\n"
    lines = set(body.split("\n"))
    mark = "END_OF_TEXT"
    while mark in lines:
        mark += "_"
    return f"cat >{path} <<'{mark}'\n{body}{mark}\n"


def function(name: str, lines: list[str]) -> str:
    """A shell function of these lines."""
    body = "\n".join(lines or ["    :"])
    return f"{name}() {{\n{body}\n}}\n"
