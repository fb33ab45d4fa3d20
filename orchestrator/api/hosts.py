"""Routes: hosts and the keys that they show."""

from __future__ import annotations

from fastapi import APIRouter

from orchestrator.api.asked import Asked, Lab
from orchestrator.contract import messages
from orchestrator.contract.domain import Exclusive
from orchestrator.inventory import HostSpec
from orchestrator.report import HostView
from orchestrator.service import hosts as service

router = APIRouter()


class ScanRequest(Asked):
    """Where to look for an SSH server; without a site, that of the lab itself."""

    address: str
    port: int = 22
    site: str | None = None


class HostRequest(Asked):
    """A host to enrol. ``key`` names a private key that its site holds."""

    name: str
    address: str
    port: int = 22
    user: str
    key: str
    #: of the host key that the operator trusts, ``SHA256:...``
    fingerprint: str
    site: str | None = None
    base: str | None = None
    exclusive: Exclusive = Exclusive.MACHINE
    tags: tuple[str, ...] = ()


@router.post("/scan")
def scan(lab: Lab, asked: ScanRequest) -> tuple[messages.HostKey, ...]:
    """The keys that an SSH server shows."""
    return service.scan(lab, site=asked.site or lab.site, address=asked.address, port=asked.port)


@router.get("/hosts")
def list_hosts(lab: Lab) -> tuple[HostView, ...]:
    """All hosts, by name."""
    return service.list_hosts(lab)


@router.post("/hosts", status_code=201)
def add_host(lab: Lab, asked: HostRequest) -> HostView:
    """Enrol a host: it is connected to, and refused where that fails."""
    values = asked.model_dump(exclude={"fingerprint", "site"})
    spec = HostSpec(**values, site=asked.site or lab.site)
    return service.add_host(lab, spec, fingerprint=asked.fingerprint)


@router.get("/hosts/{name}")
def show_host(lab: Lab, name: str) -> HostView:
    """One host."""
    return service.show_host(lab, name)


@router.post("/hosts/{name}/check")
def check_host(lab: Lab, name: str) -> HostView:
    """Connect to a host and read anew what it is."""
    return service.check_host(lab, name)
