"""``efface reproduce``: the paper's experiments and its findings."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

EXAMPLE = """[bold]Example[/bold], which takes a minute; all figures with 100 runs take fifteen:

  efface reproduce fig3 --runs 5"""


def reproduce(
    figure: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="fig2, fig3, fig4, fig5, fig6, fig7, examples, coverage, claims or all.",
        ),
    ],
    runs: Annotated[int, typer.Option(help="Number of runs per setting.")] = 100,
    horizon: Annotated[int, typer.Option(help="T, the number of time steps per run.")] = 3000,
    reading: Annotated[
        str, typer.Option(help="How contexts are normalised: standardized, unit-norm or both.")
    ] = "standardized",
    jobs: Annotated[
        int, typer.Option(help="Number of processes.", show_default="one per core")
    ] = os.cpu_count() or 1,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("results"),
    backend: Annotated[str, typer.Option(help="loky (this machine) or dask.")] = "loky",
    scheduler: Annotated[
        str | None,
        typer.Option(help="Address of a Dask scheduler.", show_default="a local cluster"),
    ] = None,
) -> None:
    """Repeat the paper's experiments and check its findings.

    Finished settings are kept in the folder. After an interruption, the same command continues.
    """
    from efface.paper.progress import progress, show
    from efface.paper.reproduction import Request, readings_of, reproduce, workers_of

    request = Request(figure, runs, horizon, readings_of(reading), seed)
    workers = workers_of(jobs, backend, scheduler)
    try:
        with progress(request.experiments(), runs) as advance:
            done = reproduce(request, out, workers, advance)
    except KeyboardInterrupt:
        text = "efface: interrupted; finished settings are kept, the same command continues."
        print(text, file=sys.stderr)
        raise typer.Exit(130) from None
    show(done)
