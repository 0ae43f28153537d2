"""The command line: parse, call, print.

Exit codes: 0 done; 1 done, but something that was to hold does not; 2 nothing was done, and why.
"""

from __future__ import annotations

import os
import signal
import sys
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

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


# -- replay ----------------------------------------------------------------------------------------


class _Model(StrEnum):
    adaptive = "adaptive"
    ridge = "ridge"
    ols = "ols"
    switching = "switching"


class _Method(StrEnum):
    gaussian = "gaussian"
    conformal = "conformal"
    self_normalized = "self-normalized"


class _Missing(StrEnum):
    raise_ = "raise"
    skip = "skip"


class _Form(StrEnum):
    parquet = "parquet"
    csv = "csv"


_column, _forgetting, _output = (
    partial(typer.Option, rich_help_panel=panel)
    for panel in ("Columns", "Model and forgetting", "Output")
)

_REPLAY_EXAMPLE = """[bold]Example[/bold], on hourly counts of a bicycle hire:

  efface sample

  efface replay bikeshare.csv --target bikers --time time \\
    --features temp,hum,windspeed --one-hot slot --keep 30d \\
    --model ridge --alpha 0.1 --forget requests.csv --compare

[dim]Exit code 0: done. 1: done, but a request named an unknown id or an audit failed.
2: nothing was done, and why. Results appear as a whole or not at all.[/dim]"""


@app.command(epilog=_REPLAY_EXAMPLE)
def replay(
    file: Annotated[
        str,
        typer.Argument(
            help="CSV, TSV, JSON Lines, Parquet or Arrow; - for CSV on standard input.",
            show_default=False,
        ),
    ],
    target: Annotated[str, _column(help="The column to predict.")],
    features: Annotated[
        str | None,
        _column(
            help="Columns to predict it from, with commas; all others without a role by default.",
            metavar="A,B,C",
        ),
    ] = None,
    one_hot: Annotated[
        list[str] | None,
        _column(
            help="A column of text to make zeros and ones of; once each. COL=a,b names its levels.",
            metavar="COL[=A,B]",
        ),
    ] = None,
    time: Annotated[
        str | None, _column(help="The time of a row; rows come in its order.", metavar="COL")
    ] = None,
    id: Annotated[
        str | None,
        _column(help="The id of a row; rows are numbered from 0 by default.", metavar="COL"),
    ] = None,
    group: Annotated[
        str | None, _column(help="One model for each value of this column.", metavar="COL")
    ] = None,
    weight: Annotated[
        str | None,
        _column(help="How often a row counts, 0 for not at all; 1 by default.", metavar="COL"),
    ] = None,
    missing: Annotated[
        _Missing, _column(help="What to do about rows with gaps.")
    ] = _Missing.raise_,
    delimiter: Annotated[
        str | None, _column(help="What separates values in CSV.", metavar="MARK")
    ] = None,
    time_format: Annotated[
        str | None,
        _column(
            help="How times are written, if not as ISO 8601: '%d/%m/%Y %H:%M'.", metavar="FORMAT"
        ),
    ] = None,
    model: Annotated[_Model, _forgetting(help="How rows are regressed on.")] = _Model.adaptive,
    window: Annotated[
        int | None,
        _forgetting(
            help="Keep the newest so many rows; 500 unless --keep says otherwise.", metavar="ROWS"
        ),
    ] = None,
    keep: Annotated[
        str | None,
        _forgetting(
            help="Keep a row so long by its --time: 90d, 12h; a number if times are numbers.",
            metavar="AGE",
        ),
    ] = None,
    alpha: Annotated[float | None, _forgetting(help="The penalty of ridge; 1 by default.")] = None,
    theta_max: Annotated[
        float | None,
        _forgetting(
            help="The largest coefficient, for adaptive and switching; a pilot fit tells it "
            "by default."
        ),
    ] = None,
    standardize: Annotated[
        bool,
        _forgetting(
            "--standardize", help="Scale features by mean and deviation of the rows that are alive."
        ),
    ] = False,
    forget: Annotated[
        str | None,
        _forgetting(
            help="Rows to forget on request, each proven by an audit: ids, one a line, at the end; "
            "or CSV with the header time,id or row,id, each at its place.",
            metavar="FILE",
        ),
    ] = None,
    interval: Annotated[float, _forgetting(help="The level of the intervals.")] = 0.95,
    method: Annotated[
        _Method, _forgetting(help="How intervals are made; conformal ones take longest.")
    ] = _Method.gaussian,
    compare: Annotated[
        bool,
        _output(
            "--compare",
            help="Also run what one would do otherwise: never forget (which keeps all rows in "
            "memory), refit now and then, fixed penalties, River if it is installed.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        _output(help="The folder of the results; NAME-replay by default.", metavar="DIR"),
    ] = None,
    format: Annotated[_Form, _output(help="Of the predictions.")] = _Form.parquet,
    overwrite: Annotated[
        bool, _output("--overwrite", help="Replace a folder of earlier results.")
    ] = False,
    json: Annotated[bool, _output("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Let the rows of a file through a model that forgets: predict, learn, let go, and report."""
    from efface.files.job import Job
    from efface.files.schema import Wish

    wish = Wish(target, _listed(features), time, id, group, _levels(one_hot or []), weight)
    job = Job(
        file,
        wish,
        model=model.value,
        window=window,
        keep=keep,
        alpha=alpha,
        theta_max=theta_max,
        standardize=standardize,
        level=interval,
        method=method.value,
        forget=forget,
        compare=compare,
        missing=missing.value,
        delimiter=_mark(delimiter),
        time_format=time_format,
    )
    folder = out or Path(f"{'stdin' if file == '-' else Path(file).name.split('.')[0]}-replay")
    summary = _shown(job, folder, form=format.value, overwrite=overwrite, json=json)
    if summary["audits"]["failed"]:
        raise typer.Exit(1)


def _shown(job: Any, folder: Path, *, form: Any, overwrite: bool, json: bool) -> dict[str, Any]:
    """Run a job with a bar on the terminal, and print what came of it."""
    from rich.console import Console

    from efface.files.job import run
    from efface.files.output import REPORT, as_json
    from efface.files.terminal import progress, screen

    with progress(Console(stderr=True), "replay") as tell:
        summary = run(job, folder, form=form, overwrite=overwrite, tell=tell)
    if json:
        print(as_json(summary), end="")
    else:
        Console(highlight=False).print(screen(summary, folder / REPORT))
    return summary


def _listed(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]


def _levels(texts: list[str]) -> dict[str, tuple[str, ...]]:
    """``COL`` or ``COL=a,b`` as a column and its levels, () where the file has to tell them."""
    pairs = (text.partition("=") for text in texts)
    return {column.strip(): tuple(_listed(levels) or ()) for column, _, levels in pairs}


def _mark(delimiter: str | None) -> str | None:
    return {"\\t": "\t", "tab": "\t"}.get(delimiter or "", delimiter)


_SAMPLE_EXAMPLE = """[bold]Example[/bold]

  efface sample"""


@app.command(epilog=_SAMPLE_EXAMPLE)
def sample(
    folder: Annotated[Path, typer.Argument(help="Where to put it.", show_default="here")] = Path(),
) -> None:
    """Put a data set to try things on into a folder: bikeshare.csv and requests.csv."""
    from importlib.resources import files

    from efface.errors import InvalidValue

    names = ("bikeshare.csv", "requests.csv")
    for name in names:
        if (folder / name).exists():
            raise InvalidValue(f"'{folder / name}' is there already: choose another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(files("efface.files").joinpath("sample", name).read_bytes())
        print(folder / name)


# -- reproduce -------------------------------------------------------------------------------------

_REPRODUCE_EXAMPLE = """[bold]Example[/bold] (one minute; 'all' with 100 runs takes 15 minutes):

  efface reproduce fig3 --runs 5"""


@app.command(epilog=_REPRODUCE_EXAMPLE)
def reproduce(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="A figure of the paper (fig2 to fig7); its example windows (examples); the "
            "coverage of its confidence radii (coverage); a verdict on each of its findings "
            "(claims); or all.",
        ),
    ],
    runs: Annotated[int, typer.Option(help="Simulated runs per setting.")] = 100,
    horizon: Annotated[int, typer.Option(help="Time steps per run (T in the paper).")] = 3000,
    reading: Annotated[
        str, typer.Option(help="How features are normalised: standardized, unit-norm or both.")
    ] = "standardized",
    jobs: Annotated[
        int, typer.Option(help="Number of processes.", show_default="one per core")
    ] = os.cpu_count() or 1,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("results"),
    backend: Annotated[
        str, typer.Option(help="loky (processes on this machine) or dask.")
    ] = "loky",
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Address of a Dask scheduler, with --backend dask.",
            show_default="a local cluster",
        ),
    ] = None,
) -> None:
    """Repeat the experiments of the paper and check its findings.

    Each finished setting is stored in the output folder.
    Run an interrupted command again to continue with the other settings.
    """
    from efface.paper.progress import progress, show
    from efface.paper.reproduction import ReproductionPlan, readings_of, reproduce, workers_of

    plan = ReproductionPlan(target, runs, horizon, readings_of(reading), seed)
    workers = workers_of(jobs, backend, scheduler)
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


# -- the way in ------------------------------------------------------------------------------------


def main() -> None:
    """What ``efface`` runs: what is raised on purpose becomes one line and exit code 2."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        app()
    except EffaceError as error:
        print(f"efface: {error}", file=sys.stderr)
        raise SystemExit(2) from None


def _stop(*_: object) -> None:
    """Asked to end: clean up on the way out."""
    raise SystemExit(128 + signal.SIGTERM)
