"""The console script ``benchrack``."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Annotated

import typer

from orchestrator import __version__
from orchestrator.cli import (
    host,
    imports,
    job,
    local,
    playbook,
    results,
    run,
    status,
    submit,
)
from orchestrator.cli.command import Desk, Json, Plain, State
from orchestrator.cli.screen import Screen
from orchestrator.cli.text import safe, safe_lines
from orchestrator.contract import errors

#: what a shell says of a program whose reader went away (128 + SIGPIPE)
_PIPE_CLOSED = 141
_STDOUT = 1

app = typer.Typer(
    name="benchrack",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group in (host.app, playbook.app, job.app, run.app, imports.app):
    app.add_typer(group)
for module in (submit, status, results, local):
    module.register(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"benchrack {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _benchrack(
    ctx: typer.Context,
    json: Json = False,
    plain: Plain = False,
    state: State = None,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
) -> None:
    """Queue benchmark runs on remote hosts, get the table per host and kernel.

    Exit codes: 0 good, 1 not all runs finished, 2 bad input, 4 trouble in the lab.
    """
    ctx.obj = ctx.obj.given(json=json, plain=plain, state=state)
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


def main(words: Sequence[str] | None = None) -> int:
    """Do what the words of a command line say; the exit code."""
    sys.excepthook = _confess
    if isinstance(sys.stdout, io.TextIOWrapper):
        # what is piped beside standard error stays in order, and comes when it is said
        sys.stdout.reconfigure(line_buffering=True)
    given = tuple(sys.argv[1:] if words is None else words)
    try:
        return _execute(given)
    except errors.LabError as error:
        return _fail(error.message, error.exit_code)
    except typer.TyperException as error:
        return _fail(_lowered(error.format_message()), errors.InputError.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("stopped", 1)
    except BrokenPipeError:
        # nothing may be flushed into it again when the interpreter ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), _STDOUT)
        return _PIPE_CLOSED
    except OSError as error:
        # of standard output: what has to do with files or the lab was translated where it happened
        os.dup2(os.open(os.devnull, os.O_WRONLY), _STDOUT)
        return _fail(f"standard output cannot be written ({error.strerror})", 1)


def _execute(words: tuple[str, ...]) -> int:
    command = typer.main.get_command(app)
    desk = Desk(screen=Screen(), words=words)
    try:
        with command.make_context("benchrack", list(words), obj=desk) as ctx:
            command.invoke(ctx)
    except typer.Exit as end:
        return end.exit_code
    finally:
        if sys.stdout is not None:
            sys.stdout.flush()
    return 0


def _fail(message: str, code: int) -> int:
    print(f"benchrack: {safe_lines(message)}", file=sys.stderr)
    return code


def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _confess(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Name a fault of benchrack itself, and its place, in one sentence."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})" if trace else ""
    print(safe(f"benchrack: a fault of its own: {kind.__name__}: {error}{place}"), file=sys.stderr)
