"""Operations on hosts beside any run, dead letters: small tables of the controller's own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select, update

from orchestrator.contract import messages
from orchestrator.contract.domain import OperationName
from orchestrator.store import tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """An operation that somebody waits for: sent again until evidence comes or time is up."""

    id: str
    op: OperationName
    site: str
    host: messages.HostRef
    created_at: datetime
    give_up_at: datetime
    next_at: datetime
    tries: int = 0


def _errand(row: Row[Any]) -> Errand:
    return Errand(
        id=row.id,
        op=OperationName(row.op),
        site=row.site,
        host=messages.HostRef.model_validate(
            {**row.host_ref, "host_keys": tuple(row.host_ref["host_keys"])}
        ),
        created_at=datetime.fromtimestamp(row.created_at, UTC),
        give_up_at=datetime.fromtimestamp(row.give_up_at, UTC),
        next_at=datetime.fromtimestamp(row.next_at, UTC),
        tries=row.tries,
    )


def insert_errand(db: Connection, errand: Errand) -> None:
    """Remember an errand; it is due at once."""
    db.execute(
        tables.errand.insert().values(
            id=errand.id,
            op=str(errand.op),
            site=errand.site,
            host_ref=errand.host.model_dump(mode="json"),
            created_at=errand.created_at.timestamp(),
            give_up_at=errand.give_up_at.timestamp(),
            next_at=errand.next_at.timestamp(),
            tries=0,
        )
    )


def find_errand(db: Connection, ident: str) -> Errand | None:
    """The errand of this id."""
    row = db.execute(select(tables.errand).where(tables.errand.c.id == ident)).first()
    return None if row is None else _errand(row)


def open_errands(db: Connection, now: datetime) -> tuple[Errand, ...]:
    """Errands without evidence whose time is not up."""
    column = tables.errand.c
    query = select(tables.errand).where(
        column.evidence.is_(None), column.give_up_at > now.timestamp()
    )
    return tuple(_errand(row) for row in db.execute(query))


def errand_sent(db: Connection, errand: Errand, next_at: datetime) -> None:
    """Remember that an errand was sent, and when it is sent again."""
    column = tables.errand.c
    db.execute(
        update(tables.errand)
        .where(column.id == errand.id)
        .values(tries=errand.tries + 1, next_at=next_at.timestamp())
    )


def errand_done(db: Connection, ident: str, evidence: str) -> bool:
    """File the first evidence of an errand; False if there is no such errand open."""
    column = tables.errand.c
    done = db.execute(
        update(tables.errand)
        .where(column.id == ident, column.evidence.is_(None))
        .values(evidence=evidence)
    )
    return bool(done.rowcount == 1)


def errand_evidence(db: Connection, ident: str) -> str | None:
    """The evidence that came for an errand."""
    column = tables.errand.c
    found = db.execute(select(column.evidence).where(column.id == ident)).scalar()
    return None if found is None else str(found)


def drop_errands(db: Connection, before: datetime) -> None:
    """Forget errands that nobody waits for any more."""
    column = tables.errand.c
    db.execute(tables.errand.delete().where(column.give_up_at < before.timestamp()))


def insert_dead_letter(db: Connection, now: datetime, reason: str, body: str) -> None:
    """Keep a refused message with the reason, cut to a size that is worth keeping."""
    db.execute(
        tables.dead_letter.insert().values(at=now.timestamp(), reason=reason, body=body[:16_384])
    )


def dead_letters(db: Connection) -> int:
    """How many messages were refused."""
    return int(db.execute(select(func.count()).select_from(tables.dead_letter)).scalar_one())
