"""The lab's API as the command line sees it: JSON, text or bytes, or an error of the lab."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from orchestrator.contract import errors
from orchestrator.settings import Settings

if TYPE_CHECKING:
    import httpx

URL: Final = "BENCHRACK_URL"
TOKEN: Final = "BENCHRACK_TOKEN"

#: seconds; enrolling a host connects twice, each within its own deadline
_PATIENCE_S: Final = 180.0
_CONNECT_S: Final = 5.0


class Client:
    """The API of the lab that the settings and the environment name."""

    def __init__(self, settings: Settings, environ: Mapping[str, str] = os.environ) -> None:
        self._settings = settings
        self._environ = environ

    def get(self, path: str, **query: Any) -> Any:
        """What the API shows at a path.

        Raises: LabError, the one that the API answered with.
        """
        return self._json(self._ask("GET", path, query))

    def get_bytes(self, path: str, **query: Any) -> bytes:
        """A document of the API, byte for byte.

        Raises: LabError.
        """
        return self._ask("GET", path, query).content

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """What the API answers to an order.

        Raises: LabError.
        """
        return self._json(self._ask("POST", path, {}, json=body))

    def post_bytes(self, path: str, data: bytes, **query: Any) -> Any:
        """What the API answers to a document.

        Raises: LabError.
        """
        headers = {"Content-Type": "text/plain"}
        return self._json(self._ask("POST", path, query, content=data, headers=headers))

    def _ask(
        self, method: str, path: str, query: Mapping[str, Any], **options: Any
    ) -> httpx.Response:
        import httpx

        params = {name: value for name, value in query.items() if value not in (None, (), [])}
        try:
            response = self._connection.request(method, path, params=params, **options)
        except httpx.ConnectError as error:
            raise self._nobody() from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise errors.ApiError(f"the lab's API broke off: {error or type(error)}") from error
        if response.is_error:
            raise _refusal(response)
        return response

    @cached_property
    def _connection(self) -> httpx.Client:
        import httpx

        return httpx.Client(
            base_url=f"{self._url}/api/v1/",
            headers={"Authorization": f"Bearer {self._token}"},
            timeout=httpx.Timeout(_PATIENCE_S, connect=_CONNECT_S),
            # the lab is on this machine, and no proxy is to see the token
            trust_env=False,
        )

    @cached_property
    def _url(self) -> str:
        given = self._environ.get(URL)
        if given:
            if not given.startswith(("http://", "https://")):
                raise errors.SettingsError(
                    f"{URL}: not the URL of an API, as http://127.0.0.1:8000"
                )
            return given.rstrip("/")
        try:
            return str(json.loads(self._settings.api_file.read_text())["url"])
        except FileNotFoundError as error:
            raise self._nobody() from error
        except OSError as error:
            raise errors.SettingsError(
                f"{self._settings.api_file}: cannot be read ({error.strerror})"
            ) from error
        except (ValueError, KeyError, TypeError) as error:
            raise errors.ApiError(
                f"{self._settings.api_file}: holds no address of an API; restart the lab"
            ) from error

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
        return errors.ApiError(
            f"no lab is running on {self._settings.state}; start one with: benchrack up"
        )

    @staticmethod
    def _json(response: httpx.Response) -> Any:
        try:
            return response.json()
        except ValueError as error:
            raise _stranger(response) from error


def _refusal(response: httpx.Response) -> errors.LabError:
    """The error that an answer tells of, as the class that it was raised as."""
    try:
        told = response.json()["error"]
        code, message = str(told["code"]), str(told["message"])
    except (ValueError, KeyError, TypeError):
        return _stranger(response)
    fallback = errors.LabError if response.is_server_error else errors.InputError
    return {kind.code: kind for kind in _tree(errors.LabError)}.get(code, fallback)(message)


def _tree(kind: type[errors.LabError]) -> Iterator[type[errors.LabError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _tree(child)


def _stranger(response: httpx.Response) -> errors.ApiError:
    place = f"{response.url.scheme}://{response.url.netloc.decode()}"
    status = response.status_code
    return errors.ApiError(f"what answers at {place} is not benchrack (HTTP status {status})")
