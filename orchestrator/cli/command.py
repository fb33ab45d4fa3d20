"""How a command is registered, and what it works with.

Every command takes ``--json``, ``--plain`` and ``--state``, whether they stand before its name or
after it; it gets a Desk instead of them.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Concatenate, Final, ParamSpec

import typer

from orchestrator.cli.client import Client
from orchestrator.cli.screen import Screen
from orchestrator.contract import errors
from orchestrator.settings import STATE, Settings

P = ParamSpec("P")

Json = Annotated[bool, typer.Option("--json", help="Print what the API answers, as JSON.")]
Plain = Annotated[
    bool, typer.Option("--plain", help="Print ASCII of at most 76 columns, as is done into a pipe.")
]
State = Annotated[
    Path | None,
    typer.Option(
        "--state",
        metavar="DIR",
        help="State folder of the lab. [default: $BENCHRACK_STATE, else one in your home]",
        show_default=False,
    ),
]

_CONTEXT: Final = "ctx"
_COMMON: Final = {"json": Json, "plain": Plain, "state": State}


@dataclass(frozen=True)
class Desk:
    """What a command works with: the screen, the settings, and the lab's API."""

    screen: Screen
    state: Path | None = None
    #: the words after ``benchrack``, to be repeated in advice
    words: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)

    @cached_property
    def settings(self) -> Settings:
        """The settings of the environment.

        Raises: SettingsError.
        """
        return Settings.read(self.environ, state=self.state)

    @cached_property
    def lab(self) -> Client:
        """The API of the lab; nothing is connected to before it is asked."""
        named = self.state is not None or STATE in self.environ
        return Client(self.settings, self.environ, named=named)

    def given(self, *, json: bool, plain: bool, state: Path | None) -> Desk:
        """The desk with what an option says about it."""
        screen = Screen(json=self.screen.json or json, plain=self.screen.plain or plain)
        return replace(self, screen=screen, state=state or self.state)


def noun(name: str, summary: str) -> typer.Typer:
    """A group of commands; without one of them it says which there are."""
    group = typer.Typer(name=name, help=summary, rich_markup_mode=None)

    @group.callback(invoke_without_command=True)
    def which(ctx: typer.Context) -> None:
        if ctx.invoked_subcommand is None:
            raise errors.InputError(f"{name} needs a command: {_listed(_names(group))}")

    which.__doc__ = summary
    return group


def command(
    group: typer.Typer, name: str
) -> Callable[[Callable[Concatenate[Desk, P], None]], Callable[Concatenate[Desk, P], None]]:
    """Register a function as a command of a group; its docstring is the command's help."""

    def register(
        function: Callable[Concatenate[Desk, P], None],
    ) -> Callable[Concatenate[Desk, P], None]:
        group.command(name, help=inspect.getdoc(function))(_with_common_options(function))
        return function

    return register


def _with_common_options(function: Callable[..., None]) -> Callable[..., None]:
    def call(**values: Any) -> None:
        ctx: typer.Context = values.pop(_CONTEXT)
        common = {option: values.pop(option) for option in _COMMON}
        function(ctx.obj.given(**common), **values)

    _, *own = inspect.signature(function, eval_str=True).parameters.values()
    kind = inspect.Parameter.KEYWORD_ONLY
    defaults = {"json": False, "plain": False, "state": None}
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(_CONTEXT, kind, annotation=typer.Context),
            *(parameter.replace(kind=kind) for parameter in own),
            *(
                inspect.Parameter(option, kind, default=defaults[option], annotation=annotation)
                for option, annotation in _COMMON.items()
            ),
        ]
    )
    call.__annotations__ = {}
    return call


def _names(group: typer.Typer) -> Sequence[str]:
    return [info.name for info in group.registered_commands if info.name]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(sorted(names))
