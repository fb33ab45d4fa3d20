"""What iperf says when something went wrong; its exit status does not tell."""

from __future__ import annotations

import re
from collections.abc import Iterable

from orchestrator.parsers import text

#: on standard output other programs speak too: only iperf's own ways of complaining
_OUT = re.compile(
    r"(?:\[.*?\] )?(?:"
    r"iperf3?: .*|(?:tcp |udp )?(?:connect|write|read|shutdown|accept|bind|listen|send|recv)"
    r"[\w ]* failed\b.*|.*WARNING: did not receive ack.*|.*Host name lookup failure.*)",
    re.IGNORECASE,
)
_ERR = re.compile(
    r"fail|error|refused|unable|cannot|can't|reset by peer|broken pipe|not known|timed out|busy"
    r"|did not receive ack|no route|unreachable|denied|not found|segmentation|interrupt - ",
    re.IGNORECASE,
)
_HARMLESS = re.compile(r"invalid option|unrecognized option|warning:|ignoring", re.IGNORECASE)
NO_RECEIVER = "did not receive ack"


def find(out: Iterable[str], err: Iterable[str]) -> tuple[str, ...]:
    """The complaints, those of standard error first."""
    complaints = [line for line in err if text.is_plain(line) and _ERR.search(line)]
    complaints += [line for line in out if text.is_plain(line) and _OUT.fullmatch(line.strip())]
    return tuple(
        text.quote(line) for line in complaints if NO_RECEIVER in line or not _HARMLESS.search(line)
    )


def why(complaints: tuple[str, ...], rc: int | None, default: str) -> str:
    """The sentence for an output without a result."""
    if complaints:
        return "iperf says: " + next((c for c in complaints if NO_RECEIVER in c), complaints[0])
    if rc:
        return f"{default} (exit status {rc})"
    return default
