"""What stands before every route: the Host header, the token, the size of the body.

A page in a browser on this machine can send requests to a loopback port, and by DNS rebinding under
a name of its own; the Host header gives such a request away.
"""

from __future__ import annotations

import ipaddress
import secrets
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orchestrator.api import answers
from orchestrator.contract import errors

#: bytes; a mail or a playbook is far smaller
BODY_LIMIT: Final = 8 * 1024 * 1024


class Gate:
    """An ASGI application that lets a request through to another one, or answers why not."""

    def __init__(self, app: ASGIApp, *, token: str) -> None:
        self.app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on with its whole body at hand."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            headers = Headers(scope=scope)
            _check_host(headers)
            self._check_token(headers)
            body = await _body(headers, receive)
        except errors.LabError as error:
            await answers.refusal(error)(scope, receive, send)
            return
        await self.app(scope, _replay(body, receive), send)

    def _check_token(self, headers: Headers) -> None:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        known = secrets.compare_digest(token.strip().encode(), self._token)
        if scheme.lower() != "bearer" or not known:
            raise errors.NotAuthorised(
                "the API's token is missing or wrong: send the content of the lab's token file "
                "as a bearer token"
            )


def _check_host(headers: Headers) -> None:
    given = headers.get("host", "")
    name = given[1:].partition("]")[0] if given.startswith("[") else given.partition(":")[0]
    try:
        local = name.lower() == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        local = False
    if not local:
        raise errors.ForeignHost(f"Host header {given[:80]!r} is not a name of this machine's own")


async def _body(headers: Headers, receive: Receive) -> bytes:
    declared = headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > BODY_LIMIT:
        raise _oversize()
    parts: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        part = message.get("body", b"")
        size += len(part)
        if size > BODY_LIMIT:
            raise _oversize()
        parts.append(part)
        more = message.get("more_body", False)
    return b"".join(parts)


def _oversize() -> errors.Oversize:
    return errors.Oversize(f"the request is over its limit of {BODY_LIMIT} bytes")


def _replay(body: bytes, receive: Receive) -> Receive:
    """A receive that first gives the body that was read, then whatever comes."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return pending.pop() if pending else await receive()

    return replayed
