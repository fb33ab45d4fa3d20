"""How the lab's own processes begin: settings, context and broker, and a sentence if that fails."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable

from orchestrator.contract import errors
from orchestrator.service.context import Context, open_context
from orchestrator.settings import Settings

#: what a process does with the lab's settings, its context and the broker's URL
Work = Callable[[Settings, Context, str], None]


def execute(name: str, work: Work) -> int:
    """Do the work of a process of the lab; its exit code."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    try:
        settings = Settings.read(os.environ)
        if settings.broker_url is None:
            raise errors.SettingsError("BENCHRACK_BROKER_URL: set it to the lab's broker")
        work(settings, open_context(settings), settings.broker_url)
    except errors.LabError as error:
        sys.stderr.write(f"benchrack {name}: {error.message}\n")
        return error.exit_code
    return 0
