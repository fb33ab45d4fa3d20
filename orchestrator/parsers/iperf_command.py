"""What an iperf command asked for: the measure that its output is held against."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

#: seconds that iperf runs when nobody says how long
DEFAULT_SECONDS = 10.0

#: short options of iperf 2 and 3 that take no value; any other letter ends a cluster
_SWITCHES = frozenset("uesJVRdrD461zNvh")
_LONG = {
    "time": "t",
    "parallel": "P",
    "num": "n",
    "bytes": "n",
    "blockcount": "k",
    "interval": "i",
    "udp": "u",
    "server": "s",
    "client": "c",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options that matter. None: the command does not say, or is not known."""

    known: bool = False
    server: bool = False
    udp: bool = False
    seconds: float | None = None
    streams: int | None = None
    interval: float | None = None


def asked(command: tuple[str, ...]) -> Asked:
    """What the command asked for, from its words or from one shell line."""
    words = re.findall(r"[^\s'\"]+", " ".join(command))
    tool = next(
        (i for i, word in enumerate(words) if re.search(r"(^|/)iperf[0-9.-]*$", word)), None
    )
    if tool is None:
        return Asked()
    options = dict(_options(words[tool + 1 :]))
    if "s" in options:
        return Asked(known=True, server=True, udp="u" in options)
    limited = "n" in options or "k" in options
    seconds = None if limited else _number(options.get("t"), DEFAULT_SECONDS)
    streams = _number(options.get("P"), 1.0)
    return Asked(
        known=True,
        udp="u" in options,
        # -t 0 means for ever
        seconds=seconds or None,
        streams=int(streams) if streams else None,
        interval=_number(options.get("i"), None),
    )


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    """Each option by its short name with its value, if it has one."""
    for word, following in pairwise([*words, ""]):
        if word.startswith("--"):
            name, given, value = word[2:].partition("=")
            yield _LONG.get(name, name), value if given else following
        elif word.startswith("-"):
            cluster = word[1:]
            while cluster[:1] in _SWITCHES and cluster:
                yield cluster[0], ""
                cluster = cluster[1:]
            if cluster:
                yield cluster[0], cluster[1:] or following


def _number(text: str | None, default: float | None) -> float | None:
    if text is None:
        return default
    found = re.fullmatch(r"\d+(\.\d+)?", text)
    return float(found.group()) if found else None
