"""The command line: parse, call, print.

Exit codes: 0 done; 1 done, but something that was to hold does not; 2 nothing was done, and why.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
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


# -- reproduce: the paper's experiments ----------------------------------------------------------


@app.command()
def reproduce(
    figure: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="fig2, fig3, fig4, fig5, fig6, fig7, examples, coverage, claims or all.",
        ),
    ],
    runs: Annotated[int, typer.Option(help="Runs of each setting.")] = 100,
    horizon: Annotated[int, typer.Option(help="T, the time steps of a run.")] = 3000,
    reading: Annotated[
        str, typer.Option(help="How contexts are normalised: standardized, unit-norm or both.")
    ] = "standardized",
    jobs: Annotated[
        int, typer.Option(help="Processes.", show_default="one a core")
    ] = os.cpu_count() or 1,
    seed: Annotated[int, typer.Option(help="Seed of all runs.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("results"),
    backend: Annotated[str, typer.Option(help="loky (this machine) or dask.")] = "loky",
    scheduler: Annotated[
        str | None,
        typer.Option(help="Address of a Dask scheduler.", show_default="a local cluster"),
    ] = None,
) -> None:
    """Run the paper's experiments again and judge its findings.

    Finished settings are kept in the folder: a command that was stopped goes on from them.
    """
    from efface.reproduction import Request, readings_of, reproduce, workers_of
    from efface.screen import progress, show

    request = Request(figure, runs, horizon, readings_of(reading), seed)
    workers = workers_of(jobs, backend, scheduler)
    try:
        with progress(request.experiments(), runs) as advance:
            done = reproduce(request, out, workers, advance)
    except KeyboardInterrupt:
        print(
            "efface: stopped; finished settings are kept, the same command goes on from them.",
            file=sys.stderr,
        )
        raise typer.Exit(130) from None
    show(done)


# -- the door ------------------------------------------------------------------------------------


def main() -> None:
    """What ``efface`` runs: what is raised on purpose becomes one line and exit code 2."""
    try:
        app()
    except EffaceError as error:
        print(f"efface: {error}", file=sys.stderr)
        raise SystemExit(2) from None
