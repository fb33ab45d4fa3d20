"""Answers of the API: views, bytes, and errors in one shape."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from orchestrator.contract import errors

#: what was measured, or what a host said, is never for a browser to interpret
_OPAQUE = {"X-Content-Type-Options": "nosniff", "Content-Disposition": "attachment"}


def refusal(error: errors.LabError) -> Response:
    """An error as every client gets it."""
    return _error(error.http_status, error.code, error.message)


def octets(data: bytes) -> Response:
    """Bytes as they are."""
    return Response(data, media_type="application/octet-stream", headers=_OPAQUE)


def text(content: str) -> Response:
    """Plain text."""
    return Response(content, media_type="text/plain; charset=utf-8", headers=_OPAQUE)


def install(app: FastAPI) -> None:
    """Have an application answer all its errors in one shape."""

    def on_error(_request: Request, error: Exception) -> Response:
        match error:
            case errors.LabError():
                return refusal(error)
            case RequestValidationError():
                return _error(422, errors.InputError.code, _sentence(error.errors()))
            case HTTPException():
                code = errors.InputError.code if error.status_code < 500 else errors.LabError.code
                return _error(error.status_code, code, _of_route(_request, error))
        # the server logs the error itself
        return _error(500, errors.LabError.code, "the API met a fault of its own; see its log")

    for kind in (errors.LabError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, on_error)


def _error(status: int, code: str, message: str) -> Response:
    # what was asked may hold lone surrogates, which no answer can
    sayable = message.encode("utf-8", "backslashreplace").decode()
    return JSONResponse({"error": {"code": code, "message": sayable}}, status_code=status)


def _of_route(request: Request, error: HTTPException) -> str:
    asked = f"{request.method} {request.url.path}"
    match error.status_code:
        case 404:
            return f"the API has no {asked}"
        case 405:
            return f"the API does not know {asked}: this path takes other methods"
    return f"{asked}: {error.detail}"


def _sentence(problems: Sequence[dict[str, object]]) -> str:
    """The first thing that is wrong with a request, and how many more there are."""
    first = problems[0]
    place = first["loc"]
    words = [str(part) for part in place] if isinstance(place, tuple) else []
    where = ".".join(words[1:]) or "the request"
    message = str(first["msg"])
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{where}: {message[:1].lower()}{message[1:]}{more}"
