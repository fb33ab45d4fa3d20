"""The Celery and Redis settings, in one place.

Redis and Celery are a transport that loses, repeats and reorders. Correctness lives in the store
and on the host; what is set here only keeps delays short: no late acks (a lost connection would
execute an operation twice), no prefetch (a killed worker would strand messages), no result
backend, no remote control, and no retries but the reconciler's own.
"""

from __future__ import annotations

import logging
import threading
import time
from queue import Empty
from typing import Any

import kombu.compression
from celery import Celery
from kombu import Connection, Queue
from kombu.exceptions import KombuError, OperationalError
from kombu.simple import SimpleBuffer

from orchestrator.contract import errors
from orchestrator.contract.messages import Envelope

log = logging.getLogger("benchrack.broker")

RESULTS = "results"
#: a wake-up for the controller, never a carrier of facts
WAKE = "wake"
KEY_PREFIX = "benchrack:"


def site_queue(site: str) -> str:
    """The queue that the workers of a site consume."""
    return f"site.{site}"


def make_app(
    url: str, *, role: str, consumes: str | None = None, sites: tuple[str, ...] = ()
) -> Celery:
    """A configured Celery app. ``role`` names the set of unacknowledged messages and the client."""
    # kombu inflates whatever a message's header asks for, without a limit; we never compress
    kombu.compression._decoders.clear()
    queues = {RESULTS, *(site_queue(site) for site in sites)}
    if consumes:
        queues.add(consumes)
    app = Celery("benchrack", broker=url, set_as_current=False)
    app.conf.update(
        task_serializer="json",
        accept_content=["json"],
        result_backend=None,
        task_ignore_result=True,
        task_store_errors_even_if_ignored=False,
        task_acks_late=False,
        task_reject_on_worker_lost=False,
        worker_prefetch_multiplier=1,
        worker_disable_prefetch=True,
        worker_cancel_long_running_tasks_on_connection_loss=True,
        broker_connection_retry=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_channel_error_retry=True,
        broker_pool_limit=16,
        broker_pool_acquire_timeout=10,
        task_publish_retry=False,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        task_send_sent_event=False,
        task_create_missing_queues=False,
        task_queues=[Queue(name) for name in sorted(queues)],
        task_default_queue=consumes or RESULTS,
        task_track_started=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        timezone="UTC",
        enable_utc=True,
        broker_transport_options=_transport(role, patient=consumes is not None),
    )
    return app


def _transport(role: str, *, patient: bool) -> dict[str, Any]:
    # who only sends has its own way of trying again, and better things to do than to wait
    retries = {} if patient else {"max_retries": 0}
    return {
        **retries,
        "global_keyprefix": KEY_PREFIX,
        # longer than the longest operation (60 s)
        "visibility_timeout": 120,
        "unacked_restore_interval": 10,
        "unacked_restore_throttle": 1,
        # keys of one's own, so that an access list can keep sites apart
        "unacked_key": f"u.{role}",
        "unacked_index_key": f"ui.{role}",
        "unacked_mutex_key": f"um.{role}",
        "socket_timeout": 15,
        "socket_connect_timeout": 5,
        "socket_keepalive": True,
        "health_check_interval": 25,
        "client_name": f"benchrack-{role}",
    }


def send(app: Celery, task: str, queue: str, envelope: Envelope) -> None:
    """Send one signed message.

    Raises: BrokerError if the broker does not take it.
    """
    arguments = [envelope.body, envelope.key_id, envelope.signature]
    try:
        app.send_task(task, args=arguments, queue=queue, retry=False)
    except (KombuError, OSError) as error:
        raise errors.BrokerError(f"the broker does not take a message: {error}") from error


class Bell:
    """Wakes the controller. A ring that is lost costs a tick, never a fact."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._buffer: SimpleBuffer | None = None

    def _open(self) -> SimpleBuffer:
        if self._buffer is None:
            self._connection = self._app.connection_for_write()
            self._buffer = SimpleBuffer(self._connection, WAKE)
        return self._buffer

    def _troubles(self) -> tuple[type[Exception], ...]:
        transport = self._app.connection_for_write()
        return (
            OperationalError,
            OSError,
            *transport.connection_errors,
            *transport.channel_errors,
        )

    def close(self) -> None:
        """Give the connection back."""
        connection, self._connection, self._buffer = self._connection, None, None
        if connection is not None:
            connection.release()

    def ring(self) -> None:
        """Wake the controller, if the broker can be reached."""
        with self._lock:
            try:
                self._open().put("")
            except self._troubles() as error:
                # the tick of the controller does what this ring would have done
                log.debug("no ring: %s", error)
                self.close()

    def wait(self, seconds: float) -> bool:
        """Wait for a ring, at most this long; all that lie there are heard at once."""
        begun = time.monotonic()
        heard = False
        with self._lock:
            try:
                buffer = self._open()
                buffer.get(timeout=max(seconds, 0.01))
                heard = True
                while True:
                    buffer.get(block=False)
            except Empty:
                return heard
            except self._troubles() as error:
                log.debug("cannot hear: %s", error)
                self.close()
                # without a broker the tick goes on
                time.sleep(max(0.0, min(seconds - (time.monotonic() - begun), 1.0)))
                return heard
