"""Routes: the catalogue of playbooks."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from orchestrator.api import answers
from orchestrator.api.asked import Lab
from orchestrator.service import playbooks as service

router = APIRouter()


@router.get("/playbooks")
def list_playbooks(lab: Lab) -> tuple[service.PlaybookView, ...]:
    """All playbooks, by name."""
    return service.list_playbooks(lab)


@router.get("/playbooks/{name}")
def show_playbook(lab: Lab, name: str) -> service.PlaybookView:
    """One playbook."""
    return service.show_playbook(lab, name)


@router.get("/playbooks/{name}/source")
def show_source(lab: Lab, name: str) -> Response:
    """The text of a playbook."""
    return answers.text(service.source(lab, name))
