"""What routes have in common: the context, and models of what is asked for."""

from __future__ import annotations

import os
import pwd
from typing import Annotated, cast

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict

from orchestrator.service import Context


class Asked(BaseModel):
    """The body or the query of a request; a field that is not known is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _context(request: Request) -> Context:
    return cast(Context, request.app.state.ctx)


Lab = Annotated[Context, Depends(_context)]


def local_user() -> str:
    """Whose token it is: the user that the API serves."""
    uid = os.getuid()
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
