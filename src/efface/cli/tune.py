"""``efface tune``: how long to remember, and which model, for the rows of a file."""

from __future__ import annotations

from math import floor, log10
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from efface.cli.replay_file import (
    Decimal,
    Delimiter,
    Encoding,
    Features,
    OneHot,
    Thousands,
    TimeFormat,
    as_delimiter,
    column,
    one_hot_levels,
    split_names,
)

if TYPE_CHECKING:
    from efface.batch.tuning import Tuning
    from efface.files.tuning_job import NeededRows

EXAMPLE = """[bold]Example[/bold], on hourly counts of bicycle hires:

  efface sample

  efface tune bikeshare.csv --target bikers --time time \\
    --features temp,hum,windspeed --one-hot slot"""


def tune(
    file: Annotated[
        list[str], typer.Argument(help="File or files, as of efface replay.", show_default=False)
    ],
    target: Annotated[str, column(help="Column to predict.")],
    features: Features = None,
    one_hot: OneHot = None,
    time: Annotated[
        str | None, column(help="Time of each row: windows are durations.", metavar="COL")
    ] = None,
    weight: Annotated[str | None, column(help="Weight of each row.", metavar="COL")] = None,
    windows: Annotated[
        str | None, typer.Option(help="Windows to try: 100,500,all or 7d,30d,all.", metavar="A,B,C")
    ] = None,
    halflives: Annotated[
        str | None,
        typer.Option("--half-lives", help="Half-lives to try: 20,100 or 1d,7d.", metavar="A,B,C"),
    ] = None,
    missing: Annotated[str, column(help="'raise' or 'skip' rows with missing values.")] = "raise",
    delimiter: Delimiter = None,
    time_format: TimeFormat = None,
    decimal: Decimal = ".",
    thousands: Thousands = None,
    encoding: Encoding = None,
    accept: Annotated[
        float,
        typer.Option(help="Accepted excess squared error, as a share of the noise variance."),
    ] = 0.1,
    chart: Annotated[
        Path | None, typer.Option(help="Also draw the errors: a PNG, SVG or PDF.", metavar="FILE")
    ] = None,
) -> None:
    """Compare windows, half-lives and models by how well they predict each next row."""
    from rich.console import Console

    from efface.files.number_text import NumberFormat
    from efface.files.schema import RequestedColumns
    from efface.files.text_readers import TextFormat
    from efface.files.tuning_job import (
        TuningJob,
        command,
        needed_rows,
        read_all,
        save_chart,
        tune_rows,
    )
    from efface.inputs.parameters import choice, positive

    levels, names = one_hot_levels(one_hot or []), split_names(features)
    roles = RequestedColumns(target, names, time=time, one_hot=levels, weight=weight)
    skip: Any = choice("--missing", missing, ("raise", "skip"))
    share = positive("--accept", accept)
    memories = _memories(windows), _memories(halflives)
    numbers = NumberFormat(decimal, thousands)
    text = TextFormat(as_delimiter(delimiter), time_format, encoding, numbers)
    job = TuningJob(file, roles, *memories, skip, text)
    console = Console(stderr=True)
    with console.status("replaying the rows with every model, window and half-life"):
        rows = read_all(job.file, job.roles, job.missing, job.text)
        found = tune_rows(rows, job)
    Console(highlight=False).print(_screen(found))
    print(_needed(needed_rows(rows.X, rows.y, share)))
    print(command(found.recommended.model, job))  # in one line, to be pasted
    if chart is not None:
        save_chart(found, chart)
        print(chart)


def _needed(needed: NeededRows | None) -> str:
    """How many rows to keep if coefficients stay the same, in a paragraph."""
    if needed is None:
        return "The rows are too few to tell noise from signal, and how many are needed."
    about = needed.found
    ratio = (about.signal / about.noise) ** 2
    return (
        f"For an excess error of {needed.accepted:.3g} times the noise variance, with "
        f"{about.features:,} features\nand a signal of {ratio:.3g} times it, least squares needs "
        f"{needed.ols:,} rows,\nand no method fewer than {needed.floor:,}: for coefficients that "
        "stay the same\nand standardised Gaussian features (efface theory rows)."
    )


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

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    table.add_column("model", no_wrap=True)
    for title in ("window", "half-life", "MAE", "above the best"):
        table.add_column(title, justify="right", no_wrap=True)
    digits = _digits(max(trial.error for trial in found.trials))
    for trial in sorted(found.trials, key=lambda trial: trial.mae):
        window, halflife = trial.memory
        excess = f"{trial.excess:.{digits + 1}f} ± {trial.excess_error:.{digits + 1}f}"
        table.add_row(
            _name(trial.model),
            window or ("all rows" if halflife is None else "-"),
            halflife or "-",
            f"{trial.mae:.{digits}f} ± {trial.error:.{digits}f}",
            "best" if trial is found.best else excess,
            style="bold green" if trial is found.recommended else "",
        )
    chosen = f"{_name(found.recommended.model)}, {found.recommended.label}"
    text = Text.assemble(
        f"Each of {found.scored:,} rows was predicted, then learned. Recommended: ",
        (chosen, "bold green"),
        ".\nIt keeps the fewest rows of all that are within one standard error of the best.",
    )
    return Padding(Group(table, Text(), text), (1, 2))


def _digits(error: float) -> int:
    """Decimals that show two digits of a standard error."""
    return max(0, 1 - floor(log10(error))) if error > 0.0 else 2


def _name(model: Any) -> str:
    return type(model).__name__ + (", standardised" if model.standardize else "")
