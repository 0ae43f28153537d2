"""``efface tune``: how long to remember, and which model, for the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from efface.cli.replay_file import one_hot_levels, split_names

if TYPE_CHECKING:
    from efface.batch.tuning import Tuning

EXAMPLE = """[bold]Example[/bold], on hourly counts of bicycle hires:

  efface sample

  efface tune bikeshare.csv --target bikers --time time \\
    --features temp,hum,windspeed --one-hot slot"""


def tune(
    file: Annotated[
        list[str], typer.Argument(help="File or files, as of efface replay.", show_default=False)
    ],
    target: Annotated[str, typer.Option(help="Column to predict.")],
    features: Annotated[
        str | None, typer.Option(help="Columns to predict from.", metavar="A,B,C")
    ] = None,
    one_hot: Annotated[
        list[str] | None,
        typer.Option(help="Text column to encode as 0/1 columns.", metavar="COL[=A,B]"),
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="Time of each row: windows are durations.", metavar="COL")
    ] = None,
    weight: Annotated[str | None, typer.Option(help="Weight of each row.", metavar="COL")] = None,
    windows: Annotated[
        str | None,
        typer.Option(help="Windows to try: 100,500,all or 7d,30d,all.", metavar="A,B,C"),
    ] = None,
    halflives: Annotated[
        str | None,
        typer.Option("--half-lives", help="Half-lives to try: 20,100 or 1d,7d.", metavar="A,B,C"),
    ] = None,
    missing: Annotated[
        str, typer.Option(help="'raise' or 'skip' rows with missing values.")
    ] = "raise",
    delimiter: Annotated[
        str | None, typer.Option(help="Delimiter of CSV values.", metavar="CHARACTER")
    ] = None,
    chart: Annotated[
        Path | None, typer.Option(help="Also draw the errors: a PNG, SVG or PDF.", metavar="FILE")
    ] = None,
) -> None:
    """Compare windows, half-lives and models by how well they predict each next row."""
    from rich.console import Console

    from efface.files.schema import RequestedColumns
    from efface.files.text_readers import TextFormat
    from efface.files.tuning_job import TuningJob, command, run_tuning, save_chart
    from efface.inputs.parameters import choice

    levels, names = one_hot_levels(one_hot or []), split_names(features)
    roles = RequestedColumns(target, names, time=time, one_hot=levels, weight=weight)
    skip: Any = choice("--missing", missing, ("raise", "skip"))
    memories = _memories(windows), _memories(halflives)
    job = TuningJob(file, roles, *memories, skip, TextFormat(delimiter))
    console = Console(stderr=True)
    with console.status("replaying the rows with every model, window and half-life"):
        found = run_tuning(job)
    Console(highlight=False).print(_screen(found))
    print(command(found.recommended.model, job))  # in one line, to be pasted
    if chart is not None:
        save_chart(found, chart)
        print(chart)


def _memories(text: str | None) -> list[Any] | None:
    names = split_names(text)
    if names is None:
        return None
    return [None if n == "all" else int(n) if n.isdecimal() else n for n in names]


def _screen(found: Tuning) -> Any:
    from rich import box
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for title in ("model", "remembers"):
        table.add_column(title, no_wrap=True)
    for title in ("MAE", "above the best"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    most = max(trial.mae for trial in found.trials)
    for trial in sorted(found.trials, key=lambda trial: trial.mae):
        recommended = trial is found.recommended
        excess = f"{trial.excess:.2g} ± {trial.excess_error:.2g}"
        table.add_row(
            _name(trial.model),
            trial.label,
            f"{trial.mae:.4g} ± {trial.error:.2g}",
            "best" if trial is found.best else excess,
            Text("█" * max(1, round(5 * trial.mae / most)), "green" if recommended else "cyan"),
            style="bold green" if recommended else "",
        )
    chosen = f"{_name(found.recommended.model)}, {found.recommended.label}"
    text = Text.assemble(
        f"Each of {found.scored:,} rows was predicted, then learned. Recommended: ",
        (chosen, "bold green"),
        ".\nIt keeps the fewest rows of all that are within one standard error of the best.",
    )
    return Padding(Group(table, text), (1, 2))


def _name(model: Any) -> str:
    return type(model).__name__ + (", standardised" if model.standardize else "")
