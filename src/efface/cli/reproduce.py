"""``efface reproduce``: the paper's experiments and its findings."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

EXAMPLE = """[bold]Example[/bold] (half a minute; 'all' with 100 runs takes about 17 minutes):

  efface reproduce fig3 --runs 5"""


def reproduce(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="A figure of the paper (fig1 to fig7) with the verdicts on it; the error against "
            "the number of rows (memory); the example windows (examples); the coverage of the "
            "confidence radii (coverage); a verdict on each finding (claims); or all.",
        ),
    ],
    runs: Annotated[int, typer.Option(help="Simulated runs per setting.")] = 100,
    horizon: Annotated[int, typer.Option(help="Time steps per run (T in the paper).")] = 3000,
    reading: Annotated[
        str, typer.Option(help="How features are normalised: standardized, unit-norm or both.")
    ] = "standardized",
    methods: Annotated[
        str,
        typer.Option(
            help="Lines of the figures: adaptive, switching, fixed, oracle, zero, auto; or all. "
            "AutoRidge (auto) takes several times as long as all others together.",
            metavar="A,B,C",
        ),
    ] = "adaptive,switching,fixed,oracle,zero",
    jobs: Annotated[
        int, typer.Option(help="Number of processes.", show_default="one per core")
    ] = os.cpu_count() or 1,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("results"),
) -> None:
    """Repeat the experiments of the paper and check its findings.

    Each finished setting is stored in the output folder.
    Run an interrupted command again to continue with the other settings.
    """
    from efface.paper.progress import progress, show
    from efface.paper.reproduction import (
        ReproductionPlan,
        methods_of,
        readings_of,
        reproduce,
        workers_of,
    )

    lines = methods_of(methods)
    plan = ReproductionPlan(target, runs, horizon, readings_of(reading), seed, lines)
    workers = workers_of(jobs)
    try:
        with progress(plan.experiments(), runs) as advance:
            done = reproduce(plan, out, workers, advance)
    except KeyboardInterrupt:
        print(
            "efface: interrupted; run the same command again to continue with the unfinished "
            "settings.",
            file=sys.stderr,
        )
        raise typer.Exit(130) from None
    show(done)
