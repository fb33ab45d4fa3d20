"""TCP to a host: resolved and connected within the deadline, set up for short commands."""

from __future__ import annotations

import queue
import socket
import threading

from orchestrator.contract import errors
from workers.deadline import Deadline

#: seconds for one address
_CONNECT_S = 10.0
#: milliseconds that what was sent may stay unacknowledged
_UNACKNOWLEDGED_MS = 20_000

_Address = tuple[socket.AddressFamily, tuple[str, int] | tuple[str, int, int, int]]


def dial(address: str, port: int, *, deadline: Deadline) -> socket.socket:
    """A connected socket.

    Raises: Unreachable.
    """
    reason = "the name has no address"
    for family, place in _resolve(address, port, deadline):
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.settimeout(max(0.001, min(_CONNECT_S, deadline.remaining)))
            sock.connect(place)
        except TimeoutError:
            reason = "no answer"
        except OSError as error:
            reason = error.strerror or str(error)
        else:
            return _tuned(sock)
        sock.close()
    raise errors.Unreachable(f"{address}:{port} cannot be reached: {reason}")


def _tuned(sock: socket.socket) -> socket.socket:
    sock.settimeout(None)
    # a command and its input are small packets: Nagle would hold each back for some 40 ms
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # No keepalive: its packets would interrupt a host while it measures. A peer that is gone
    # shows at the next use, by this limit or by the watchdog.
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNACKNOWLEDGED_MS)
    return sock


def _resolve(address: str, port: int, deadline: Deadline) -> list[_Address]:
    """The addresses of a name. The system's resolver knows no deadline, so a thread asks it."""
    answers: queue.SimpleQueue[list[_Address] | OSError] = queue.SimpleQueue()

    def ask() -> None:
        try:
            # bytes: a label that is too long is then the resolver's error, not the codec's
            found = socket.getaddrinfo(address.encode(), port, type=socket.SOCK_STREAM)
            answers.put([(family, place) for family, _, _, _, place in found])  # type: ignore[misc]
        except OSError as error:
            answers.put(error)

    threading.Thread(target=ask, name="resolver", daemon=True).start()
    try:
        answer = answers.get(timeout=max(0.001, deadline.remaining))
    except queue.Empty:
        raise errors.Unreachable(f"the address of {address!r} was not found in time") from None
    if isinstance(answer, OSError):
        raise errors.Unreachable(f"{address!r} has no address: {answer.strerror or answer}")
    return answer
