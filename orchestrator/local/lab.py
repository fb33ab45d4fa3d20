"""A lab on this machine: broker, collector, controller, worker and API, kept running."""

from __future__ import annotations

import json
import logging
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

from orchestrator import settings as settings_
from orchestrator.contract import errors
from orchestrator.local import broker, process, state
from orchestrator.settings import Settings
from orchestrator.store import schema

#: processes of a lab and their modules, in the order of their start
MODULES: Final = {
    "api": "orchestrator.api",
    "collector": "orchestrator.collector",
    "controller": "orchestrator.controller",
    "worker": "workers.app",
}
BROKER: Final = "broker"

#: seconds
_READY_S: Final = 60.0
_LOOK_S: Final = 0.1
#: A worker may end with an operation under way: the controller sends it again.
_PATIENCE_S: Final = 5.0
#: seconds between the death of a process and its next start; the last one is kept to
_BACKOFF_S: Final = (0.1, 0.5, 2.0, 5.0)
#: a process that lived this long starts again without delay, seconds
_HEALTHY_S: Final = 30.0

_log = logging.getLogger(__name__)


def entry_environment(
    settings: Settings, environ: Mapping[str, str], broker_url: str
) -> dict[str, str]:
    """The environment in which the processes of a lab read these settings."""
    return {
        **environ,
        settings_.STATE: str(settings.state),
        settings_.BROKER_URL: broker_url,
        settings_.DATABASE_URL: settings.database_url,
        settings_.SITE: settings.site,
        settings_.API_HOST: settings.api_host,
        settings_.API_PORT: str(settings.api_port),
        settings_.SITE_FOLDER: str(settings.site_folder),
        # many threads of small allocations: two arenas keep a worker at a third of its memory
        "MALLOC_ARENA_MAX": "2",
        "LC_ALL": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
    }


class Lab:
    """A running lab, as a context manager. Whatever of it dies is started again.

    One thread starts, watches and ends all processes: the kernel ends them when that thread is
    gone, so nothing outlives the lab, however it ends.
    """

    def __init__(self, settings: Settings, *, environ: Mapping[str, str]) -> None:
        self.settings = settings
        #: address of the API; known inside the ``with`` block
        self.api_url = ""
        #: what the API asks for
        self.token = ""
        self._environ = environ
        self._broker: broker.Broker
        self._kept: dict[str, _Kept] = {}
        self._ready = threading.Event()
        self._ending = threading.Event()
        self._keeper = ThreadPoolExecutor(1, thread_name_prefix="lab")
        self._keeping: Future[None]

    @property
    def pids(self) -> dict[str, int]:
        """Process ids by name; they change when a process is started again."""
        return {name: kept.process.pid for name, kept in self._kept.items()}

    def __enter__(self) -> Self:
        """Start the lab; returns when its API answers.

        Raises: LabRunning, StoreReadOnly, StoreTooNew, BrokerError, LabError.
        """
        self._keeping = self._keeper.submit(self._keep)
        self._keeping.add_done_callback(lambda _: self._ready.set())
        try:
            self._ready.wait()
        except BaseException:
            self._end()
            raise
        if self._keeping.done():
            self._keeping.result()
        return self

    def wait(self) -> None:
        """Return when the lab has ended; it does not do so by itself.

        Raises: whatever kept the lab from going on.
        """
        self._keeping.result()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the lab; returns when nothing of it is running."""
        self._end()

    def _end(self) -> None:
        self._ending.set()
        self._keeper.shutdown()

    def _keep(self) -> None:
        with state.held(self.settings), ExitStack() as running:
            self._start(running)
            self._ready.set()
            while not self._ending.wait(_LOOK_S):
                for kept in self._kept.values():
                    kept.tend()

    def _start(self, running: ExitStack) -> None:
        running.callback(self.settings.api_file.unlink, missing_ok=True)
        url = self.settings.broker_url or self._start_broker(running)
        broker.check(url)
        schema.prepare(self.settings.database_url)
        environ = entry_environment(self.settings, self._environ, url)
        running.callback(self._stop)
        for name, module in MODULES.items():
            self._kept[name] = _Kept(name, self._launcher(name, module, environ))
        self._await_api()
        if self.api_url:
            # one started again keeps its address, as clients know it
            environ[settings_.API_PORT] = str(urlsplit(self.api_url).port)

    def _start_broker(self, running: ExitStack) -> str:
        current = running.enter_context(ExitStack())

        def launch() -> subprocess.Popen[bytes]:
            current.close()
            self._broker = current.enter_context(
                broker.embedded(
                    self.settings.broker_data,
                    log=self.settings.logs / "broker.log",
                    environ=self._environ,
                )
            )
            return self._broker.process

        self._kept[BROKER] = _Kept(BROKER, launch)
        # one started again finds the same folder, so this URL stays true
        return self._broker.url

    def _launcher(
        self, name: str, module: str, environ: Mapping[str, str]
    ) -> Callable[[], subprocess.Popen[bytes]]:
        log = self.settings.logs / f"{name}.log"
        return lambda: process.start(process.python(module), log=log, environ=environ)

    def _await_api(self) -> None:
        deadline = time.monotonic() + _READY_S
        while not self._ending.wait(0.02):
            for name in MODULES:
                if self._kept[name].process.poll() is not None:
                    raise errors.LabError(f"the {name} ends at its start: {self._words(name)}")
            if self._api_answers():
                self.token = self.settings.token_file.read_text().strip()
                return
            if time.monotonic() > deadline:
                raise errors.LabError(f"the api does not start: {self._words('api')}")

    def _api_answers(self) -> bool:
        if not self.settings.api_file.exists():
            return False
        self.api_url = str(json.loads(self.settings.api_file.read_text())["url"])
        parts = urlsplit(self.api_url)
        with socket.socket() as probe:
            return probe.connect_ex((parts.hostname, parts.port)) == 0

    def _words(self, name: str) -> str:
        log = self.settings.logs / f"{name}.log"
        return f"{process.last_line(log)} (see {log})"

    def _stop(self) -> None:
        # first those that make work, last the one that takes in what was done
        for names in (("api", "controller", "worker"), ("collector",)):
            running = [self._kept[name].process for name in names if name in self._kept]
            for each in running:
                each.terminate()
            for each in running:
                process.stop(each, patience_s=_PATIENCE_S)


class _Kept:
    """A process that is started again when it ends, sooner if it had lived long."""

    def __init__(self, name: str, launch: Callable[[], subprocess.Popen[bytes]]) -> None:
        self.name = name
        self.launch = launch
        self.process = launch()
        self.started = time.monotonic()
        self.deaths = 0
        self.due: float | None = None

    def tend(self) -> None:
        """Look after the process; start it again when that is due."""
        status = self.process.poll()
        now = time.monotonic()
        if status is None:
            return
        if self.due is None:
            self.deaths = 0 if now - self.started > _HEALTHY_S else self.deaths
            wait = _BACKOFF_S[min(self.deaths, len(_BACKOFF_S) - 1)]
            self.deaths += 1
            self.due = now + wait
            _log.warning("%s ended (%s); it starts again in %g s", self.name, status, wait)
        elif now >= self.due:
            process.stop(self.process, patience_s=0)
            self.due = None
            self.started = now
            self._start_again()

    def _start_again(self) -> None:
        try:
            self.process = self.launch()
        except errors.LabError as error:
            # the old process is still an ended one, so the next look tries again
            _log.warning("%s: %s", self.name, error)
