"""What every use case needs: the store, the catalogue, the clock and the controller's bell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from orchestrator.contract import broker
from orchestrator.contract.domain import utc_now
from orchestrator.service.catalogue import Catalogue
from orchestrator.settings import Settings
from orchestrator.store import hosts, session


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The surroundings of a use case, passed down and never global."""

    store: session.Store
    catalogue: Catalogue
    lab: str
    site: str
    #: wakes the controller
    ring: Callable[[], None]
    now: Callable[[], datetime] = utc_now


def open_context(settings: Settings) -> Context:
    """The context of a lab whose store was prepared.

    Raises: StoreError, PlaybookError.
    """
    store = session.Store(settings.database_url)
    with store.writing() as db:
        lab = session.lab_id(db)
        for path in sorted(settings.site_publics.glob("*.pub")):
            hosts.record_site(db, path.stem, path.read_text())
    return Context(
        store=store,
        catalogue=Catalogue.read(settings.state / "playbooks"),
        lab=lab,
        site=settings.site,
        ring=_bell(settings),
    )


def _bell(settings: Settings) -> Callable[[], None]:
    if settings.broker_url is None:
        return lambda: None
    return broker.Bell(broker.make_app(settings.broker_url, role="bell")).ring
