"""Words of a step -> words for the shell. References are replaced once, and quoted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from orchestrator.playbook import consistency, params
from orchestrator.playbook.model import Playbook
from orchestrator.playbook.quoting import quote
from orchestrator.playbook.scalars import Value
from orchestrator.playbook.stages import Step

#: built-in references that only the host knows: the shell variable
ON_HOST = {"workdir": '"$P_workdir"', "cpus": '"$P_cpus"'}


def command(playbook: Playbook, step: Step, values: Mapping[str, Value]) -> tuple[str, ...]:
    """The words that a step executes; what only the run or the host knows stays ``{name}``."""
    known = params.canonical_values(playbook, values)
    return tuple(
        consistency.REFERENCE.sub(lambda match: known.get(match[1], match[0]), word)
        for word in step.run or ()
    )


def shell_word(word: str, known: Mapping[str, str]) -> str:
    """One word for the shell. What a reference stands for is never looked at again."""
    pieces: list[str] = []
    text, end = "", 0
    for match in consistency.REFERENCE.finditer(word):
        text, end = text + word[end : match.start()], match.end()
        if match[1] in ON_HOST:
            pieces += [quote(text)] if text else []
            pieces.append(ON_HOST[match[1]])
            text = ""
        else:
            text += known[match[1]]
    text += word[end:]
    if text or not pieces:
        pieces.append(quote(text))
    return "".join(pieces)


def shell_words(words: Iterable[str]) -> str:
    """Fixed words for the shell."""
    return " ".join(quote(word) for word in words)


def as_root(known: Mapping[str, str]) -> str:
    """How a step becomes root: with all that it would see otherwise."""
    carried = ["BENCHRACK_DIR", "BENCHRACK_RUN", "BENCHRACK_STEP", "PATH", "LC_ALL", "TZ", "TERM"]
    carried += [f"P_{name}" for name in (*known, *ON_HOST)]
    return "exec $BR_ROOT env " + " ".join(f'{name}="${name}"' for name in carried)
