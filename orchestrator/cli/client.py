"""The lab's API as the command line sees it: JSON or bytes, or an error of the lab.

It uses the standard library's HTTP client: a command is over before a larger one is imported.
"""

from __future__ import annotations

import http.client
import json
import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final
from urllib.parse import SplitResult, urlencode, urlsplit

from orchestrator.contract import errors
from orchestrator.settings import Settings

URL: Final = "BENCHRACK_URL"
TOKEN: Final = "BENCHRACK_TOKEN"

#: seconds; enrolling a host connects twice, each within its own deadline
_PATIENCE_S: Final = 180.0


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    body: bytes


class Client:
    """The API of the lab that the settings and the environment name."""

    def __init__(
        self, settings: Settings, environ: Mapping[str, str] = os.environ, *, named: bool = False
    ) -> None:
        """``named``: the operator gave the state folder, and is told to give it again."""
        self._settings = settings
        self._environ = environ
        self._named = named

    def get(self, path: str, **query: Any) -> Any:
        """What the API shows at a path.

        Raises: LabError, the one that the API answered with.
        """
        return self._json(self._ask("GET", path, query))

    def get_bytes(self, path: str, **query: Any) -> bytes:
        """A document of the API, byte for byte.

        Raises: LabError.
        """
        return self._ask("GET", path, query).body

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """What the API answers to an order.

        Raises: LabError.
        """
        data = b"" if body is None else json.dumps(body).encode()
        return self._json(self._ask("POST", path, {}, data=data, kind="application/json"))

    def post_bytes(self, path: str, data: bytes, **query: Any) -> Any:
        """What the API answers to a document.

        Raises: LabError.
        """
        return self._json(self._ask("POST", path, query, data=data, kind="text/plain"))

    def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any],
        *,
        data: bytes | None = None,
        kind: str = "",
    ) -> _Answer:
        given = {name: value for name, value in query.items() if value is not None}
        given = {name: "true" if value is True else value for name, value in given.items()}
        place = f"{self._url.path}/api/v1/{path}?{urlencode(given, doseq=True)}"
        headers = {"Authorization": f"Bearer {self._token}"}
        if kind:
            headers["Content-Type"] = kind
        connection = self._connection()
        try:
            connection.connect()
        except OSError as error:
            raise self._nobody() from error
        try:
            connection.request(method, place, body=data, headers=headers)
            response = connection.getresponse()
            answer = _Answer(response.status, response.read())
        except ValueError as error:
            raise errors.SettingsError(f"{TOKEN}: holds what no HTTP header may") from error
        except (OSError, http.client.HTTPException) as error:
            why = str(error) or type(error).__name__
            raise errors.ApiError(f"the lab's API broke off its answer: {why}") from error
        finally:
            connection.close()
        if answer.status >= 400:
            raise self._refusal(answer)
        return answer

    def _connection(self) -> http.client.HTTPConnection:
        secure = self._url.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        return kind(self._url.hostname or "", self._url.port, timeout=_PATIENCE_S)

    @cached_property
    def _url(self) -> SplitResult:
        given = self._environ.get(URL)
        try:
            url = urlsplit((given or self._announced()).rstrip("/"))
            if url.scheme in ("http", "https") and url.hostname and url.port != 0:
                return url
        except ValueError as error:
            raise self._no_url() from error
        raise self._no_url()

    def _announced(self) -> str:
        """The address that the running API wrote into the state folder."""
        try:
            found: object = json.loads(self._settings.api_file.read_bytes())
        except FileNotFoundError as error:
            raise self._nobody() from error
        except OSError as error:
            raise errors.SettingsError(
                f"{self._settings.api_file}: cannot be read ({error.strerror})"
            ) from error
        return str(found.get("url", "")) if isinstance(found, dict) else ""

    def _no_url(self) -> errors.LabError:
        if self._environ.get(URL):
            return errors.SettingsError(f"{URL}: not the URL of an API, as http://127.0.0.1:8000")
        return errors.ApiError(
            f"{self._settings.api_file}: holds no address of an API; restart the lab"
        )

    @cached_property
    def _token(self) -> str:
        given = self._environ.get(TOKEN)
        if given:
            return given.strip()
        try:
            return self._settings.token_file.read_text().strip()
        except OSError as error:
            raise errors.NotAuthorised(
                f"{self._settings.token_file}: the lab's token cannot be read "
                f"({error.strerror}); give it in {TOKEN}"
            ) from error

    def _nobody(self) -> errors.ApiError:
        if self._environ.get(URL):
            return errors.ApiError(f"no lab answers at {self._environ[URL]} ({URL})")
        state = self._settings.state
        again = f" --state {shlex.quote(str(state))}" if self._named else ""
        return errors.ApiError(f"no lab is running on {state}; start one with: benchrack up{again}")

    def _json(self, answer: _Answer) -> Any:
        try:
            return json.loads(answer.body)
        except ValueError as error:
            raise self._stranger(answer) from error

    def _refusal(self, answer: _Answer) -> errors.LabError:
        """The error that an answer tells of, as the class that it was raised as."""
        try:
            told = json.loads(answer.body)["error"]
            code, message = str(told["code"]), str(told["message"])
        except (ValueError, KeyError, TypeError):
            return self._stranger(answer)
        fallback = errors.LabError if answer.status >= 500 else errors.InputError
        return {kind.code: kind for kind in _tree(errors.LabError)}.get(code, fallback)(message)

    def _stranger(self, answer: _Answer) -> errors.ApiError:
        place = f"{self._url.scheme}://{self._url.netloc}"
        return errors.ApiError(
            f"what answers at {place} is not benchrack's API (HTTP status {answer.status})"
        )


def _tree(kind: type[errors.LabError]) -> Iterator[type[errors.LabError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _tree(child)
