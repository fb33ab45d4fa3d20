"""Routes: runs and the bytes that they left."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from orchestrator.api import answers
from orchestrator.api.asked import Lab
from orchestrator.report import RunView
from orchestrator.service import runs as service

router = APIRouter()


@router.get("/runs/{ident}")
def show_run(lab: Lab, ident: str) -> RunView:
    """The run whose id begins so."""
    return service.show_run(lab, ident)


@router.get("/runs/{ident}/streams")
def list_streams(lab: Lab, ident: str) -> tuple[service.StreamView, ...]:
    """What a run left, by name."""
    return service.streams(lab, ident)


@router.get("/runs/{ident}/raw")
def show_raw(lab: Lab, ident: str, stream: str) -> Response:
    """One stream of a run, byte for byte."""
    return answers.octets(service.raw(lab, ident, stream))


@router.get("/runs/{ident}/script")
def show_script(lab: Lab, ident: str) -> Response:
    """The script that the host was given."""
    return answers.octets(service.script(lab, ident))
