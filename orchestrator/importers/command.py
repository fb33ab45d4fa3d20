"""The iperf command line that a mail quotes, as parameters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_COMMAND: Final = re.compile(
    r"(?<![\w/.-])[\w/.-]{0,200}\biperf2?(?:[ \n]+-{1,2}\w[\w-]*(?:[ =]+(?!-)\S+)?)+"
)
_OPTION: Final = re.compile(r"(?<!\S)(-{1,2}\w[\w-]*)(?:[ =\n]+([^\s-]\S*))?")
_NO_ARGUMENT: Final = re.compile("-[CDNRUVZdehmrsuvz]")
_LONG: Final = {"--client": "-c", "--parallel": "-P", "--time": "-t"}
_LOOPBACK: Final = re.compile(r"localhost|127\.\S+|::1|ip6-localhost")


@dataclass(frozen=True)
class Settings:
    """What a command line says; None where there was none, or nothing of it."""

    server: str | None = None
    streams: str | None = None
    seconds: str | None = None

    @property
    def playbook(self) -> str:
        """What the runs are of; without a command line the mail is taken for a loopback one."""
        loopback = self.server is None or _LOOPBACK.fullmatch(self.server)
        return "loopback-throughput" if loopback else "network-throughput"

    @property
    def params(self) -> tuple[tuple[str, str], ...]:
        """The parameters that are known, sorted."""
        known = [("seconds", self.seconds), ("streams", self.streams), ("tool", "iperf2")]
        if self.playbook == "network-throughput":
            known.append(("server", self.server))
        return tuple(sorted((name, value) for name, value in known if value is not None))


def spans(body: str, begin: int, end: int) -> list[tuple[int, int]]:
    """Begin and end of each command line in a part of the text."""
    return [(found.start(), _end(found)) for found in _COMMAND.finditer(body, begin, end)]


def last(body: str, begin: int, end: int) -> Settings | None:
    """What the last command line of a part of the text says."""
    found = spans(body, begin, end)
    if not found:
        return None
    options = {
        _LONG.get(name, name): value for name, value in _OPTION.findall(body[slice(*found[-1])])
    }
    return Settings(server=options.get("-c"), streams=options.get("-P"), seconds=options.get("-t"))


def _end(found: re.Match[str]) -> int:
    """Where a command line ends: a word after an option that takes none belongs to the text."""
    text = found.group()
    tail = re.search(r"(?<!\S)(-\w)[ =]+\S+$", text)
    if tail and _NO_ARGUMENT.fullmatch(tail[1]):
        return found.start() + tail.end(1)
    return found.end()
