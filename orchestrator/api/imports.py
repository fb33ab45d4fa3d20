"""Routes: results from elsewhere."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body

from orchestrator.api.asked import Lab, local_user
from orchestrator.report import JobView
from orchestrator.service import imports as service

router = APIRouter()


@router.post("/imports/mail", status_code=201)
def import_mail(
    lab: Lab,
    data: Annotated[bytes, Body(media_type="text/plain")],
    name: str,
    host: str | None = None,
) -> tuple[JobView, ...]:
    """Take in the tables of a mail; ``name`` is what messages call it."""
    return service.import_mail(lab, data, name=name, host=host, user=local_user())
