"""The command line: parse, call, print.

Exit codes: 0 done; 1 done, but something that was to hold does not; 2 nothing was done, and why.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import efface
from efface.errors import EffaceError

app = typer.Typer(
    help="Linear regression that forgets exactly.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"efface {efface.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Linear regression that forgets exactly."""


def main() -> None:
    """What ``efface`` runs: what is raised on purpose becomes one line and exit code 2."""
    try:
        app()
    except EffaceError as error:
        print(f"efface: {error}", file=sys.stderr)
        raise SystemExit(2) from None
