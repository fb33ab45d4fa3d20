"""The application: all routes under /api/v1, behind the gate."""

from __future__ import annotations

from fastapi import FastAPI

from orchestrator import __version__
from orchestrator.api import answers, hosts, imports, jobs, playbooks, results, runs, status
from orchestrator.api.gate import Gate
from orchestrator.service import Context

PREFIX = "/api/v1"


def make_app(ctx: Context, token: str) -> FastAPI:
    """The API of a lab, for those who know the token.

    The pages that FastAPI makes of a schema load scripts from elsewhere, so they are off.
    """
    app = FastAPI(
        title="benchrack",
        version=__version__,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    app.state.ctx = ctx
    answers.install(app)
    for module in (status, hosts, playbooks, jobs, runs, results, imports):
        app.include_router(module.router, prefix=PREFIX)
    app.add_middleware(Gate, token=token)
    return app
