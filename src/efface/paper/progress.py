"""The terminal output of ``efface reproduce``: a progress bar, then verdicts and files."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from efface.paper.experiments import Experiment
from efface.paper.findings import Claim
from efface.paper.reproduction import Reproduced
from efface.paper.scorecard import by_finding, number, readings_in, to_verdicts
from efface.paper.sweep import Advance

_COLOURS = {"holds": "green", "fails": "red", "open": "yellow"}


@contextmanager
def progress(experiments: Sequence[Experiment], runs: int) -> Iterator[Advance]:
    """A progress bar with the remaining time; a line per setting where there is no terminal."""
    console = Console(stderr=True)
    left = {each: each.runs(runs) for each in experiments}
    start = time.monotonic()
    total = sum(each.cost * count for each, count in left.items())
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(
        *columns,
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
        speed_estimate_period=120,
    ) as bar:
        task = bar.add_task(f"0 of {len(left)} settings", total=total)

        def advance(experiment: Experiment, count: int) -> None:
            left[experiment] -= count
            finished = sum(runs_left == 0 for runs_left in left.values())
            text = f"{finished} of {len(left)} settings, {experiment.id}"
            bar.update(task, advance=experiment.cost * count, description=text)
            if not console.is_terminal and left[experiment] == 0:
                seconds = time.monotonic() - start
                console.out(f"{text} ({experiment.reading}), {seconds:.0f} s", highlight=False)

        yield advance


def show(done: Reproduced, console: Console | None = None) -> None:
    """Print the text of the files and the verdicts, then the names of the files.

    On a terminal the verdicts are a table; a pipe gets them as text.
    """
    console = console or Console()
    judged = "claims.md" in {path.name for path in done.files}
    if done.text and not (judged and console.is_terminal):
        console.out(done.text, highlight=False)
    if done.claims and console.is_terminal:
        console.print(verdicts(done.claims))
    elif done.claims and not judged:
        console.out(to_verdicts(done.claims), highlight=False)
    folder = os.path.commonpath([path.parent for path in done.files])
    names = ", ".join(path.name for path in done.files)
    console.print(f"Files written to {folder}: {names}", highlight=False, soft_wrap=True)


def verdicts(claims: Sequence[Claim]) -> Table:
    """A table with one line per finding and one column per reading."""
    table = Table(
        box=box.SIMPLE_HEAD, title="The paper's findings, checked", expand=True, leading=1
    )
    table.add_column("finding", ratio=4)
    table.add_column("number", ratio=3, style="dim")
    for reading in readings_in(claims):
        table.add_column(reading, ratio=3)
    for found in by_finding(claims):
        finding, cells = found[0].finding, [_cell(claim) for claim in found]
        table.add_row(finding.sentence, f"{finding.number}, {finding.wanted}", *cells)
    return table


def _cell(claim: Claim) -> str:
    colour, place = _COLOURS[claim.verdict], claim.decided_by
    return f"[{colour}]{claim.verdict}[/]  {number(place)}\n[dim]{place.setting}[/]"
