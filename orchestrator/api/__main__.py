"""Entry: ``python -m orchestrator.api``."""

from __future__ import annotations

import contextlib
import logging
import os
import sys

from orchestrator import service
from orchestrator.api import app, serve
from orchestrator.contract import errors
from orchestrator.settings import Settings


def main() -> int:
    """Serve the API of the lab that the environment names; its exit code."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        _run(Settings.read(os.environ))
    except errors.LabError as error:
        sys.stderr.write(f"benchrack api: {error.message}\n")
        return error.exit_code
    return 0


def _run(settings: Settings) -> None:
    token = _token(settings)
    with contextlib.suppress(KeyboardInterrupt), serve.interruptible():
        ctx = service.open_context(settings)
        with contextlib.closing(ctx.store), serve.listen(settings) as listening:
            application = app.make_app(ctx, token)
            with serve.announced(settings, serve.url_of(listening)):
                serve.serve(application, listening)


def _token(settings: Settings) -> str:
    try:
        token = settings.token_file.read_text().strip()
    except OSError as error:
        raise errors.SettingsError(
            f"{settings.token_file}: the API's token cannot be read ({error.strerror})"
        ) from error
    if not token:
        raise errors.SettingsError(f"{settings.token_file}: holds no token")
    return token


if __name__ == "__main__":
    code = main()
    logging.shutdown()
    # an answer that waits for a worker sits in a thread, which would be waited for in its turn
    os._exit(code)
