"""The store's schema: made, and brought up to this version.

A module of its own because only the process that starts a lab needs Alembic.
"""

from __future__ import annotations

import os
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import make_url, select

from orchestrator.contract import errors
from orchestrator.contract.domain import new_id, utc_now
from orchestrator.store import tables
from orchestrator.store.session import Store, translated


def _alembic(url: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("sqlalchemy.url", url.replace("%", "%%"))
    return config


def prepare(url: str) -> None:
    """Bring a database to this version, making it where there is none.

    Raises: StoreTooNew if a newer benchrack wrote it; StoreReadOnly; StoreError.
    """
    store = Store(url)
    _check_writable(url)
    config = _alembic(url)
    script = ScriptDirectory.from_config(config)
    try:
        with store.reading() as db:
            found = MigrationContext.configure(db).get_current_revision()
        if found is not None and found not in {rev.revision for rev in script.walk_revisions()}:
            raise errors.StoreTooNew(
                f"{make_url(url).database} was written by a newer benchrack (revision {found}): "
                "update benchrack, or choose another state folder with --state"
            )
        with translated():
            command.upgrade(config, "head")
        with store.writing() as db:
            if db.execute(select(tables.lab.c.id)).first() is None:
                now = utc_now().timestamp()
                db.execute(tables.lab.insert().values(id=new_id(), created_at=now))
    finally:
        store.close()


def _check_writable(url: str) -> None:
    database = make_url(url).database
    if not database:
        raise errors.SettingsError(f"store {url!r} names no file")
    path = Path(database)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise errors.StoreReadOnly(
            f"the state folder {path.parent} cannot be made: {error.strerror}"
        ) from error
    for place in (path.parent, path):
        if place.exists() and not os.access(place, os.W_OK):
            raise errors.StoreReadOnly(
                f"{place} cannot be written: make it writable or choose another state folder "
                "with --state"
            )
