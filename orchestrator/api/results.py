"""Routes: results per host and kernel, and their exports."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import Field

from orchestrator.api import answers
from orchestrator.api.asked import Asked, Lab
from orchestrator.report import CheckList, ResultsTable, checks, headline, plain
from orchestrator.service import results as service

router = APIRouter()

Format = Literal["csv", "csv-summary", "mail"]


class ResultsRequest(Asked):
    """Which results; what is not given does not restrict them."""

    playbook: str | None = None
    metric: str | None = None
    host: tuple[str, ...] = ()
    job: str | None = None

    def query(self) -> service.ResultsQuery:
        """The same, for the service."""
        return service.ResultsQuery(
            playbook=self.playbook, metric=self.metric, hosts=self.host, job=self.job
        )


class TablesRequest(ResultsRequest):
    """Results to be shown."""

    format: Literal["json", "plain"] = "json"
    #: leave out what does not stand for its playbook, unless nothing does
    primary: bool = False
    #: of ``plain``, in characters
    width: int = Field(default=76, ge=40, le=400)


class ExportRequest(ResultsRequest):
    """Results to be taken elsewhere."""

    format: Format


@router.get("/results", response_model=tuple[ResultsTable, ...])
def show_results(
    lab: Lab, asked: Annotated[TablesRequest, Query()]
) -> tuple[ResultsTable, ...] | Response:
    """The tables, as objects or as text."""
    if asked.format == "plain":
        return answers.text(_text(service.shown(lab, asked.query(), primary=asked.primary), asked))
    tables = service.results(lab, asked.query())
    return headline(tables) if asked.primary else tables


@router.get("/checks")
def show_checks(lab: Lab, asked: Annotated[ResultsRequest, Query()]) -> tuple[CheckList, ...]:
    """The newest health check of each host, with the range that each number has to be in."""
    return service.select(lab, asked.query()).checks


@router.get("/export")
def export(lab: Lab, asked: Annotated[ExportRequest, Query()]) -> Response:
    """The results as a file."""
    return answers.octets(service.export(lab, asked.query(), form=asked.format))


def _text(shown: service.Shown, asked: TablesRequest) -> str:
    texts = [checks.plain(check, width=asked.width) for check in shown.checks]
    texts += [plain(table, width=asked.width) for table in shown.tables]
    return "\n".join(texts)
