"""Routes: jobs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from orchestrator.api.asked import Lab, local_user
from orchestrator.report import JobView, RunView
from orchestrator.service import jobs as service

router = APIRouter()


@router.get("/jobs")
def list_jobs(lab: Lab, limit: Annotated[int, Query(ge=1, le=1000)] = 50) -> tuple[JobView, ...]:
    """The newest jobs, newest first."""
    return service.list_jobs(lab, limit)


@router.post("/jobs", status_code=201)
def submit(lab: Lab, order: service.JobOrder) -> JobView:
    """Queue a job. Whose it is follows from the token, whatever the order says."""
    return service.submit(lab, order.model_copy(update={"user": local_user()}))


@router.get("/jobs/{ident}")
def show_job(lab: Lab, ident: str) -> JobView:
    """The job whose id begins so."""
    return service.show_job(lab, ident)


@router.get("/jobs/{ident}/runs")
def runs_of_job(lab: Lab, ident: str) -> tuple[RunView, ...]:
    """The runs of a job in their order."""
    return service.runs_of_job(lab, ident)


@router.post("/jobs/{ident}/cancel")
def cancel_job(lab: Lab, ident: str) -> JobView:
    """Cancel what has not ended of a job."""
    return service.cancel_job(lab, ident)
