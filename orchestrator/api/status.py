"""Routes: the lab at a glance, and which benchrack it is."""

from __future__ import annotations

from fastapi import APIRouter

from orchestrator import __version__
from orchestrator.api.asked import Lab
from orchestrator.report import StatusView
from orchestrator.service import status as service

router = APIRouter()


@router.get("/status")
def show_status(lab: Lab) -> StatusView:
    """The lab at a glance."""
    return service.status(lab)


@router.get("/version")
def show_version() -> dict[str, str]:
    """The version of benchrack that answers."""
    return {"version": __version__}
