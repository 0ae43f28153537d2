"""``efface replay`` and ``efface sample``: a file through a model, and data to try it on."""

from __future__ import annotations

import os
import signal
import sys
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from efface.files.model_options import MODELS, OPTIONS

if TYPE_CHECKING:
    from efface.files.job import Job
    from efface.files.text_readers import TextFormat

REPLAY_EXAMPLE = """[bold]Example[/bold], on hourly counts of bicycle hires:

  efface sample

  efface replay bikeshare.csv --target bikers --time time \\
    --features temp,hum,windspeed --one-hot slot --keep 30d \\
    --model ridge --alpha 0.1 --forget requests.csv --compare

[dim]Exit code 0: done. 1: done, but an audit failed or a request named an
unknown id or owner.
2: nothing was done, the error says why. 3: a library is not installed.
The results folder appears complete or not at all.[/dim]"""
SAMPLE_EXAMPLE = """[bold]Example[/bold]

  efface sample"""


class _Method(StrEnum):
    local = "local"
    gaussian = "gaussian"
    conformal = "conformal"
    self_normalized = "self-normalized"


class MissingValues(StrEnum):
    raise_ = "raise"
    skip = "skip"


class _Form(StrEnum):
    parquet = "parquet"
    csv = "csv"


column, _model, _output = (
    partial(typer.Option, rich_help_panel=title)
    for title in ("Columns", "Model and forgetting", "Output")
)
Features = Annotated[
    str | None,
    column(
        help="Columns to predict from, comma-separated; by default all without a role.",
        metavar="A,B,C",
    ),
]
OneHot = Annotated[
    list[str] | None,
    column(
        help="Text column to encode as 0/1 columns; can be repeated. COL=a,b names the levels.",
        metavar="COL[=A,B]",
    ),
]
Missing = Annotated[MissingValues, column(help="Refuse or skip rows with missing values.")]
Delimiter = Annotated[str | None, column(help="Delimiter of CSV values.", metavar="CHARACTER")]
TimeFormat = Annotated[
    str | None,
    column(help="Format of times that are not ISO 8601: '%d/%m/%Y %H:%M'.", metavar="FORMAT"),
]
Decimal = Annotated[
    str, column(help="Decimal mark of CSV numbers; ',' reads 1,5.", metavar="CHARACTER")
]
Thousands = Annotated[
    str | None, column(help="Separator of thousands in CSV numbers: 1.234.", metavar="CHARACTER")
]
Encoding = Annotated[
    str | None,
    column(help="Encoding of text other than UTF-8, UTF-16: cp1252, latin-1.", metavar="NAME"),
]


def replay(
    context: typer.Context,
    file: Annotated[
        list[str],
        typer.Argument(
            help="CSV, TSV, JSON Lines, Parquet or Arrow file, perhaps compressed; - for standard "
            "input. Several files, or a quoted pattern such as 'rides-*.csv', are read one after "
            "another.",
            show_default=False,
        ),
    ],
    target: Annotated[str, column(help="Column to predict.")],
    features: Features = None,
    one_hot: OneHot = None,
    time: Annotated[
        str | None, column(help="Time of each row; rows must be sorted by it.", metavar="COL")
    ] = None,
    id: Annotated[
        str | None, column(help="Id of each row; by default the row number from 0.", metavar="COL")
    ] = None,
    group: Annotated[
        str | None, column(help="Fit one model per value of this column.", metavar="COL")
    ] = None,
    weight: Annotated[
        str | None,
        column(help="Weight of each row; 1 by default, 0 has no effect.", metavar="COL"),
    ] = None,
    owner: Annotated[
        str | None,
        column(help="Person whose row it is; empty for a row of nobody.", metavar="COL"),
    ] = None,
    until: Annotated[
        str | None,
        column(
            help="Time at which a row must leave, whatever the window; empty for a row without "
            "an end. Needs --time.",
            metavar="COL",
        ),
    ] = None,
    missing: Missing = MissingValues.raise_,
    delimiter: Delimiter = None,
    time_format: TimeFormat = None,
    decimal: Decimal = ".",
    thousands: Thousands = None,
    encoding: Encoding = None,
    model: Annotated[
        str | None,
        _model(help="Regression model; auto by default.", metavar=f"<{'|'.join(MODELS)}>"),
    ] = None,
    window: Annotated[
        int | None,
        _model(
            help="Keep the newest ROWS rows; 500 unless --keep or --policy is given.",
            metavar="ROWS",
        ),
    ] = None,
    keep: Annotated[
        str | None,
        _model(
            help="Keep rows for this long, by --time: 90d, 3mo, 1y; a number if times are numbers.",
            metavar="DURATION",
        ),
    ] = None,
    policy: Annotated[
        str | None,
        _model(
            help="Another rule by which rows leave: add-drop:3 drops the oldest row after every 3 "
            "arrivals (add-drop:ADD,DROP,START), keep-all drops none.",
            metavar="POLICY",
        ),
    ] = None,
    halflife: Annotated[
        str | None, _model("--half-life", help=OPTIONS["halflife"].help, metavar="ROWS|DURATION")
    ] = None,
    alpha: Annotated[float | None, _model(help=OPTIONS["alpha"].help)] = None,
    delta: Annotated[float | None, _model(help=OPTIONS["delta"].help)] = None,
    theta_max: Annotated[float | None, _model(help=OPTIONS["theta_max"].help)] = None,
    switch_at: Annotated[float | None, _model(help=OPTIONS["switch_at"].help)] = None,
    fit_intercept: Annotated[
        bool | None, _model("--intercept/--no-intercept", help=OPTIONS["fit_intercept"].help)
    ] = None,
    standardize: Annotated[
        bool | None, _model("--standardize", help=OPTIONS["standardize"].help)
    ] = None,
    start: Annotated[
        str | None,
        _model(
            "--from",
            help="Go on from a saved model: its rows, window and parameters.",
            metavar="MODEL",
        ),
    ] = None,
    forget: Annotated[
        str | None,
        _model(
            help="Requests to forget rows, each checked by an audit: one id per line for the end "
            "of the stream, or CSV with a header: id or owner, and when, by time or row "
            "(time,id or row,owner).",
            metavar="FILE",
        ),
    ] = None,
    interval: Annotated[float, _model(help="Level of the prediction intervals.")] = 0.95,
    method: Annotated[
        _Method, _model(help="Method of the intervals; conformal is the slowest.")
    ] = _Method.local,
    lower: Annotated[
        float | None,
        _model(help="Limit that no response is below, such as 0; predictions respect it too."),
    ] = None,
    upper: Annotated[float | None, _model(help="Limit that no response is above.")] = None,
    compare: Annotated[
        bool,
        _output(
            "--compare",
            help="Also run baselines: never forget (keeps all rows in memory), refit every 100 "
            "rows, fixed penalties, and River if installed.",
        ),
    ] = False,
    redact: Annotated[
        bool,
        _output(
            "--redact",
            help="Leave the rows that --forget names out of all outputs: no file holds their ids, "
            "owners or values.",
        ),
    ] = False,
    coefficients: Annotated[
        bool,
        _output("--coefficients", help="Also write the coefficients at every row, as Parquet."),
    ] = False,
    save: Annotated[
        str | None,
        _output(help="Save the model at the end, for --from and efface.load.", metavar="MODEL"),
    ] = None,
    out: Annotated[
        Path | None, _output(help="Results folder; NAME-replay by default.", metavar="DIR")
    ] = None,
    format: Annotated[_Form, _output(help="Format of the predictions.")] = _Form.parquet,
    overwrite: Annotated[
        bool, _output("--overwrite", help="Replace an earlier results folder and --save file.")
    ] = False,
    json: Annotated[bool, _output("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Stream the rows of a file through a model: predict, learn, forget, and write a report."""
    from efface.files.job import Job
    from efface.files.schema import RequestedColumns

    roles = RequestedColumns(
        target,
        split_names(features),
        time=time,
        id=id,
        group=group,
        one_hot=one_hot_levels(one_hot or []),
        weight=weight,
        owner=owner,
        until=until,
    )
    job = Job(
        file,
        roles,
        model=model,
        options={name: as_number(context.params[name]) for name in OPTIONS},
        window=window,
        keep=keep,
        policy=policy,
        level=interval,
        method=method.value,
        lower=lower,
        upper=upper,
        forget=forget,
        redact=redact,
        compare=compare,
        coefficients=coefficients,
        start=start,
        save=save,
        missing=missing.value,
        text=text_format(delimiter, time_format, encoding, decimal, thousands),
    )
    folder = out or Path(f"{_stem(job.files[0])}-replay")
    try:
        summary = _run(job, folder, form=format.value, overwrite=overwrite, json=json)
    except KeyboardInterrupt:
        _leave(128 + signal.SIGINT)
    except SystemExit as stop:  # raised on SIGTERM
        _leave(int(stop.code or 0))
    if summary["audits"]["failed"]:
        raise typer.Exit(1)


def _stem(file: str) -> str:
    return "stdin" if file == "-" else Path(file).name.split(".")[0]


def _leave(code: int) -> NoReturn:
    """End the process at once, with nothing left behind: the files of the job are removed already.

    A thread of the reader may be blocked in a read of stdin. The interpreter would wait for it.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _run(job: Job, folder: Path, *, form: Any, overwrite: bool, json: bool) -> dict[str, Any]:
    """Run a job with a progress bar, and print the result."""
    from rich.console import Console

    from efface.files.job import run
    from efface.files.output import REPORT, as_json
    from efface.files.terminal import progress, screen

    with progress(Console(stderr=True), "replay") as update:
        summary = run(job, folder, form=form, overwrite=overwrite, progress=update)
    if json:
        print(as_json(summary), end="")
    else:
        Console(highlight=False).print(screen(summary, folder / REPORT))
    return summary


def as_number(given: Any) -> Any:
    """The number that was typed; anything else as it is."""
    try:
        return float(given) if isinstance(given, str) else given
    except ValueError:
        return given


def as_delimiter(typed: str | None) -> str | None:
    """A delimiter as it is in the file: a tab can be typed as ``tab`` or ``\\t``."""
    return {"\\t": "\t", "tab": "\t"}.get(typed or "", typed)


def text_format(
    delimiter: str | None,
    time_format: str | None,
    encoding: str | None,
    decimal: str,
    thousands: str | None,
) -> TextFormat:
    """How the values of a text file are written, as it was typed."""
    from efface.files.number_text import NumberFormat
    from efface.files.text_readers import TextFormat

    numbers = NumberFormat(decimal, thousands)
    return TextFormat(as_delimiter(delimiter), time_format, encoding, numbers)


def split_names(names: str | None) -> list[str] | None:
    """Comma-separated names as a list."""
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]


def one_hot_levels(texts: list[str]) -> dict[str, tuple[str, ...]]:
    """``COL`` or ``COL=a,b`` as a column and its levels; () means those in the file."""
    pairs = (text.partition("=") for text in texts)
    return {column.strip(): tuple(split_names(levels) or ()) for column, _, levels in pairs}


def sample(
    folder: Annotated[
        Path, typer.Argument(help="Folder to write to.", show_default="the current folder")
    ] = Path(),
) -> None:
    """Write the example data to a folder: bikeshare.csv and requests.csv."""
    from importlib.resources import files

    from efface.errors import InvalidValue

    names = ("bikeshare.csv", "requests.csv")
    for name in names:
        if (folder / name).exists():
            raise InvalidValue(f"'{folder / name}' already exists: choose another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(files("efface.files").joinpath("sample", name).read_bytes())
        print(folder / name)
