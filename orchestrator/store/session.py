"""The database behind the store: opened, and its errors translated.

SQLite runs in WAL mode with synchronous=FULL, because a purge on the host follows a commit here: a
commit must survive a power loss. A write transaction takes the write lock at its beginning
(BEGIN IMMEDIATE), so that what it read is still true when it commits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url, select
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import QueuePool

from orchestrator.contract import errors
from orchestrator.store import tables

#: milliseconds that a writer waits for another
BUSY_TIMEOUT = 30_000
_WRITE = "benchrack_write"


class Store:
    """A database of a lab."""

    def __init__(self, url: str) -> None:
        self.engine = _engine(url)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that holds the write lock from its beginning.

        Raises: StoreError.
        """
        with (
            translated(),
            self.engine.connect().execution_options(**{_WRITE: True}) as db,
            db.begin(),
        ):
            yield db

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A consistent view of the store.

        Raises: StoreError.
        """
        with translated(), self.engine.connect() as db, db.begin():
            yield db

    def close(self) -> None:
        """Give the connections back."""
        self.engine.dispose()


@contextmanager
def translated() -> Iterator[None]:
    """Translate the database's errors into those of the lab."""
    try:
        yield
    except DBAPIError as error:
        cause = str(error.orig)
        if "readonly" in cause or "read-only" in cause:
            raise errors.StoreReadOnly(
                f"the state folder cannot be written ({cause}): make it writable or choose "
                "another with --state"
            ) from error
        raise errors.StoreError(f"the store cannot be used: {cause}") from error


def _engine(url: str) -> Engine:
    try:
        backend = make_url(url).get_backend_name()
    except ArgumentError as error:
        raise errors.SettingsError(f"BENCHRACK_DATABASE_URL: {url!r} is not a URL") from error
    if backend != "sqlite":
        raise errors.SettingsError(f"store {url!r}: this version keeps its state in SQLite")
    engine = create_engine(url, poolclass=QueuePool, pool_size=8, max_overflow=16)

    @event.listens_for(engine, "connect")
    def on_connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions are begun by us, not by the driver
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT}")
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def on_begin(db: Connection) -> None:
        write = db.get_execution_options().get(_WRITE)
        db.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def lab_id(db: Connection) -> str:
    """The lab's own id, by which hosts tell labs apart."""
    return str(db.execute(select(tables.lab.c.id)).scalar_one())
