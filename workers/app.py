"""The worker of a site: ``python -m workers.app``."""

from __future__ import annotations

import functools
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from celery import Celery, signals

from orchestrator.contract import broker, errors, keys, messages
from workers import operations, pool, tasks

#: what a supervisor sees when the worker gave itself up
GAVE_UP: Final = 3

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a worker is told by its environment."""

    broker_url: str
    site: str
    #: holds ``site.key``, ``lab.pub``, ``ssh/`` and ``cache/``
    folder: Path
    #: operations at once
    concurrency: int = 64
    #: seconds without a message after which the worker gives itself up; the controller sends one
    #: every 30 s. 0: never
    silence_s: float = 180.0

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Settings:
        """The settings in an environment.

        Raises: SettingsError, naming the variable.
        """
        return cls(
            broker_url=_needed(environ, "BENCHRACK_BROKER_URL"),
            site=_needed(environ, "BENCHRACK_SITE"),
            folder=Path(_needed(environ, "BENCHRACK_SITE_FOLDER")),
            concurrency=int(_number(environ, "BENCHRACK_CONCURRENCY", 64, least=1)),
            silence_s=_number(environ, "BENCHRACK_SILENCE_S", 180, least=0),
        )


class Watch:
    """Ends the process when no message was handled for too long.

    A consumer that stopped consuming after a lost connection looks alive from everywhere else.
    """

    def __init__(self, silence_s: float) -> None:
        self._silence_s = silence_s
        self._heard_at = time.monotonic()

    def heard(self) -> None:
        """A message was handled."""
        self._heard_at = time.monotonic()

    def start(self) -> None:
        """Watch from now on."""
        if self._silence_s > 0:
            threading.Thread(target=self._run, name="watch", daemon=True).start()

    def _run(self) -> NoReturn:
        while (left := self._heard_at + self._silence_s - time.monotonic()) > 0:
            time.sleep(left)
        _log.critical("no message for %.0f s: the worker ends, to be started anew", self._silence_s)
        # nothing less ends threads that hang
        os._exit(GAVE_UP)


def make_worker(settings: Settings, hosts: pool.Pool, watch: Watch) -> Celery:
    """The Celery app of a site.

    Raises: SettingsError.
    """
    queue = broker.site_queue(settings.site)
    app = broker.make_app(settings.broker_url, role=queue, consumes=queue)
    operator = tasks.Operator(
        identity=tasks.Identity(
            site=settings.site,
            worker=f"{socket.gethostname()}-{os.getpid()}"[:100],
            site_key=keys.read_private(settings.folder / "site.key"),
            lab_key=keys.read_public(settings.folder / "lab.pub"),
        ),
        station=operations.Station(pool=hosts, cache=settings.folder / "cache"),
        send=functools.partial(broker.send, app, messages.INGEST, broker.RESULTS),
        handled=watch.heard,
    )

    @app.task(name=messages.OPERATE, max_retries=0)  # type: ignore[untyped-decorator]
    def operate(*arguments: Any) -> None:
        operator.handle(*arguments)

    return app


def main() -> int:
    """Operate hosts until SIGTERM; the exit code."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    # one line an operation is ours; Celery's own two or three about it add nothing
    logging.getLogger("celery").setLevel(logging.WARNING)
    # a refused key or a cut connection is evidence, not a traceback of paramiko's thread
    logging.getLogger("paramiko").setLevel(logging.CRITICAL)
    signals.setup_logging.connect(_keep_logging)
    try:
        settings = Settings.read(os.environ)
        hosts, watch = pool.Pool(settings.folder / "ssh"), Watch(settings.silence_s)
        app = make_worker(settings, hosts, watch)
    except errors.SettingsError as error:
        _log.critical("%s", error.message)
        return error.exit_code

    def ready(**_: object) -> None:
        _log.info("worker of site %s is ready", settings.site)
        watch.heard()

    signals.worker_ready.connect(ready, weak=False)
    watch.start()
    try:
        app.worker_main(
            (
                "--quiet",
                *("worker", "--pool", "threads", "--concurrency", str(settings.concurrency)),
                *("--queues", broker.site_queue(settings.site), "--loglevel", "WARNING"),
                *("--without-gossip", "--without-mingle", "--without-heartbeat"),
            )
        )
    finally:
        hosts.close()
    return 0


def _keep_logging(**_: object) -> None:
    """Being connected is enough for Celery to leave logging as it is."""


def _needed(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name)
    if not value:
        raise errors.SettingsError(f"{name}: a worker needs it, and it is not set")
    return value


def _number(environ: Mapping[str, str], name: str, default: float, *, least: float) -> float:
    text = environ.get(name) or str(default)
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not least <= value < 1e6:
        raise errors.SettingsError(f"{name}: {text!r} is not a number from {least:g} on")
    return value


if __name__ == "__main__":
    sys.exit(main())
