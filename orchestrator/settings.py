"""The settings: read once, by entry modules, and passed down from there."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

from orchestrator.contract import errors

STATE: Final = "BENCHRACK_STATE"
BROKER_URL: Final = "BENCHRACK_BROKER_URL"
DATABASE_URL: Final = "BENCHRACK_DATABASE_URL"
SITE: Final = "BENCHRACK_SITE"
#: the one variable besides the broker's URL that a worker reads
SITE_FOLDER: Final = "BENCHRACK_SITE_FOLDER"
API_HOST: Final = "BENCHRACK_API_HOST"
API_PORT: Final = "BENCHRACK_API_PORT"

_BROKER_SCHEMES: Final = ("redis", "rediss", "redis+socket")
_SITE_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where this lab keeps its state and how its processes find each other."""

    #: absolute path of the state folder
    state: Path
    #: None: ``up`` starts an embedded broker
    broker_url: str | None
    database_url: str
    site: str = "main"
    api_host: str = "127.0.0.1"
    #: 0: any free port; the API writes the one it got to ``api_file``
    api_port: int = 0

    @classmethod
    def read(cls, environ: Mapping[str, str], *, state: Path | None = None) -> Settings:
        """The settings in an environment; ``state`` goes before BENCHRACK_STATE.

        Raises: SettingsError, which names the variable.
        """
        folder = _state_folder(environ) if state is None else state.expanduser().absolute()
        return cls(
            state=folder,
            broker_url=_broker_url(environ),
            database_url=environ.get(DATABASE_URL) or f"sqlite:///{folder / 'benchrack.db'}",
            site=_site(environ),
            api_host=_api_host(environ),
            api_port=_api_port(environ),
        )

    @property
    def keys(self) -> Path:
        """The controller's secrets, mode 0700."""
        return self.state / "keys"

    @property
    def lab_key(self) -> Path:
        """Private key that signs operations."""
        return self.keys / "lab.key"

    @property
    def lab_public(self) -> Path:
        """Public half of ``lab_key``."""
        return self.keys / "lab.pub"

    @property
    def token_file(self) -> Path:
        """The API's token for the local user."""
        return self.keys / "token"

    @property
    def site_publics(self) -> Path:
        """Public keys of the sites whose evidence is believed, ``SITE.pub`` each."""
        return self.keys / "sites"

    @property
    def site_folder(self) -> Path:
        """All that a worker of this site reads and writes; the only folder it needs."""
        return self.state / "site" / self.site

    @property
    def site_key(self) -> Path:
        """Private key that signs this site's evidence."""
        return self.site_folder / "site.key"

    @property
    def site_lab_public(self) -> Path:
        """The lab's public key as this site knows it."""
        return self.site_folder / "lab.pub"

    @property
    def ssh_keys(self) -> Path:
        """Private SSH keys of this site, by name; no other process reads them."""
        return self.site_folder / "ssh"

    @property
    def site_cache(self) -> Path:
        """What a worker may lose: built probes."""
        return self.site_folder / "cache"

    @property
    def api_file(self) -> Path:
        """Address of the running API, written by the API."""
        return self.state / "api.json"

    @property
    def logs(self) -> Path:
        """One log file a process."""
        return self.state / "logs"

    @property
    def broker_data(self) -> Path:
        """Data of the embedded broker."""
        return self.state / "broker"

    @property
    def lock_file(self) -> Path:
        """Held, and filled with a process id, by the lab that uses this state folder."""
        return self.state / "up.lock"


def _state_folder(environ: Mapping[str, str]) -> Path:
    if environ.get(STATE):
        return Path(environ[STATE]).absolute()
    # the XDG rules: a relative path is to be ignored
    if environ.get("XDG_STATE_HOME", "").startswith("/"):
        return Path(environ["XDG_STATE_HOME"]) / "benchrack"
    if environ.get("HOME", "").startswith("/"):
        return Path(environ["HOME"]) / ".local" / "state" / "benchrack"
    raise errors.SettingsError(f"{STATE}: set it to a folder, as there is no home folder (HOME)")


def _broker_url(environ: Mapping[str, str]) -> str | None:
    url = environ.get(BROKER_URL)
    if not url:
        return None
    # the message never repeats the value: it may hold a password
    parts = _split(BROKER_URL, url)
    if parts.scheme not in _BROKER_SCHEMES or not (parts.hostname or parts.path.strip("/")):
        raise errors.SettingsError(
            f"{BROKER_URL}: not the URL of a Redis or Valkey server, as redis://HOST:6379/0"
        )
    return url


def _split(name: str, url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise errors.SettingsError(f"{name}: not a URL ({error})") from error
    return parts


def _site(environ: Mapping[str, str]) -> str:
    site = environ.get(SITE) or "main"
    if not _SITE_NAME.fullmatch(site):
        raise errors.SettingsError(
            f"{SITE}: {site!r} is no name of a site; use small letters, digits and hyphens"
        )
    return site


def _api_host(environ: Mapping[str, str]) -> str:
    host = environ.get(API_HOST) or "127.0.0.1"
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise errors.SettingsError(
            f"{API_HOST}: {host!r} is not a loopback address; the API serves this machine only"
        )
    return host


def _api_port(environ: Mapping[str, str]) -> int:
    text = environ.get(API_PORT) or "0"
    if not re.fullmatch(r"[0-9]{1,5}", text) or int(text) > 65535:
        raise errors.SettingsError(f"{API_PORT}: {text!r} is not a port (0 to 65535)")
    return int(text)
