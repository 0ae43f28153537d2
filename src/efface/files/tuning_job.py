"""``efface tune`` without the command line: a file in, trials and a command to paste out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from threadpoolctl import threadpool_limits

from efface.batch.tuning import Tuning, tune
from efface.errors import InvalidValue
from efface.files.joined_tables import expand, open_tables
from efface.files.model_options import MODELS, OPTIONS, flag
from efface.files.row_batches import Missing, RowBatch, joined, read_rows
from efface.files.schema import RequestedColumns, resolve_schema
from efface.files.text_readers import PLAIN, TextFormat
from efface.inputs.parameters import positive
from efface.inputs.types import Matrix, Vector
from efface.models.regression import Model
from efface.theory.memory_size import NoiseAndSignal, noise_and_signal, rows_needed


@dataclass(frozen=True)
class TuningJob:
    """Which file to tune on; without ``windows`` and ``halflives``, the usual ones are tried."""

    file: list[str]
    roles: RequestedColumns
    windows: Iterable[Any] | None = None
    halflives: Iterable[Any] | None = None
    missing: Missing = "raise"
    text: TextFormat = PLAIN


@dataclass(frozen=True)
class NeededRows:
    """The rows that an accepted error asks for, if coefficients stay the same.

    ``accepted`` is the excess squared error over the noise variance. ``floor`` is the number that
    no method goes below for standardised Gaussian features, ``ols`` that of least squares.
    """

    accepted: float
    found: NoiseAndSignal
    floor: int
    ols: int


def run_tuning(job: TuningJob) -> Tuning:
    """Read all rows of a file, and tune on them."""
    return tune_rows(read_all(job.file, job.roles, job.missing, job.text), job)


def needed_rows(X: Matrix, y: Vector, accepted: float) -> NeededRows | None:
    """How many rows to keep for an accepted error; None if the rows do not tell the noise.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 20))
    >>> needed_rows(X, X[:, 0] + rng.normal(size=1000), 0.1).ols
    232
    """
    found = noise_and_signal(X, y)
    if found is None or not found.noise or not found.features:
        return None
    error, d = positive("--accept", accepted) * found.noise**2, found.features
    signal: Any = {"theta_norm": found.signal} if found.signal else {"theta_norm": 1e-9}
    floor = rows_needed(error, d, sigma=found.noise, **signal)
    ols = rows_needed(error, d, sigma=found.noise, method="ols", fit_intercept=True)
    return NeededRows(accepted, found, floor, ols)


def tune_rows(rows: RowBatch, job: TuningJob) -> Tuning:
    """Tune on rows that are in memory."""
    with threadpool_limits(limits=1, user_api="blas"):
        memories: Any = {"windows": job.windows, "halflives": job.halflives}
        return tune(rows.X, rows.y, at=rows.at, sample_weight=rows.weights, **memories)


def read_all(
    file: list[str], roles: RequestedColumns, missing: Missing = "raise", text: TextFormat = PLAIN
) -> RowBatch:
    """All rows of a file, or of several, in memory."""
    table = open_tables(expand(file), text)
    parts = list(read_rows(table, resolve_schema(table, roles), missing))
    if not parts:
        raise InvalidValue(f"'{table.name}' has no complete row: impute missing values.")
    return joined(parts)


def command(model: Model, job: TuningJob) -> str:
    """The ``efface replay`` command that runs a model on the file.

    >>> from efface import Ridge
    >>> job = TuningJob(["rides.csv"], RequestedColumns("hires", ["temp"], time="day"))
    >>> command(Ridge(window="30d", standardize=True), job)
    'efface replay rides.csv --target hires --features temp --time day --model ridge --standardize \
--keep 30d'
    """
    roles = job.roles
    words = ["efface", "replay", *job.file, "--target", roles.target]
    if roles.features is not None:
        words += ["--features", ",".join(roles.features)]
    for name, levels in roles.one_hot.items():
        words += ["--one-hot", f"{name}={','.join(levels)}" if levels else name]
    for role in ("time", "weight"):
        if getattr(roles, role) is not None:
            words += [f"--{role}", getattr(roles, role)]
    if job.missing != "raise":
        words += ["--missing", job.missing]
    return " ".join(map(quote, [*words, *_text_words(job.text), *_model_words(model)]))


def _text_words(text: TextFormat) -> list[str]:
    given = {
        "--delimiter": text.delimiter,
        "--time-format": text.times,
        "--encoding": text.encoding,
        "--decimal": None if text.numbers.decimal == "." else text.numbers.decimal,
        "--thousands": text.numbers.thousands,
    }
    return [word for option, value in given.items() if value for word in (option, value)]


def _model_words(model: Model) -> list[str]:
    names = {cls: name for name, cls in MODELS.items()}
    words, usual = ["--model", names[type(model).__name__]], type(model)().get_params(deep=False)
    for option, value in model.get_params(deep=False).items():
        if option in OPTIONS and value != usual[option]:
            words += [flag(option)] if value is True else [flag(option), str(value)]
    window = model.window
    if window is None and model.halflife is not None:
        return words
    if window is None:
        return [*words, "--policy", "keep-all"]
    return [*words, "--window" if isinstance(window, int) else "--keep", str(window)]


def save_chart(tuning: Tuning, path: Path) -> None:
    """Draw the trials to a file, in the format that its extension names."""
    figure = tuning.plot().figure
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise InvalidValue(f"'{path}' cannot be written: {error}; name another --chart.") from error
