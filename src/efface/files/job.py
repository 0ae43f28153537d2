"""``efface replay`` without the command line: a file in, a folder of results out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from efface.batch.replay import replay
from efface.errors import InvalidValue, unusable
from efface.files.baselines import Baseline, baselines
from efface.files.model_options import accepted_by, factory, values_of
from efface.files.output import REPORT, Form, Predictions, check_folder, folder, write_summary
from efface.files.readers import open_table
from efface.files.report import write_report
from efface.files.requests import NONE, Requests, read_requests
from efface.files.row_batches import Missing
from efface.files.schema import RequestedColumns, Schema, resolve_schema
from efface.files.streaming import StreamRun, stream_table
from efface.files.summary import summarise
from efface.inputs.parameters import probability
from efface.live.policies import KeepFor
from efface.models.intervals import MethodName

Progress = Callable[[int, float], None]  # rows done, share of the table

WINDOW = 500


@dataclass(frozen=True)
class Job:
    """What to do. ``options`` are those of ``model_options``; None means the default."""

    file: str
    roles: RequestedColumns
    model: str = "adaptive"
    options: Mapping[str, Any] = field(default_factory=dict)
    window: int | None = None
    keep: str | None = None
    level: float = 0.95
    method: MethodName = "gaussian"
    forget: str | None = None
    compare: bool = False
    missing: Missing = "raise"
    delimiter: str | None = None
    time_format: str | None = None

    def policy(self) -> Any:
        """The ``window`` argument of the model."""
        if self.window is not None and self.keep is not None:
            text = "'--window' and '--keep' both decide when rows leave: give only one of them."
            raise InvalidValue(text)
        if self.keep is None:
            return WINDOW if self.window is None else self.window
        if self.roles.time is None:
            raise InvalidValue("'--keep' needs the age of rows: name their --time column.")
        try:
            return KeepFor(float(self.keep))
        except ValueError:
            return KeepFor(self.keep)


def run(
    job: Job,
    out: Path,
    *,
    form: Form = "parquet",
    overwrite: bool = False,
    progress: Progress = lambda rows, share: None,
) -> dict[str, Any]:
    """Do a job and return its summary; the folder ``out`` appears when everything is written."""
    models = _Models(job)
    probability("interval", job.level)
    check_folder(out, overwrite)
    table = open_table(job.file, job.delimiter, job.time_format)
    schema = resolve_schema(table, job.roles)
    stream = _stream(job, models, schema)
    one_thread = threadpool_limits(limits=1, user_api="blas")  # matrices of a window are small
    with folder(out, overwrite=overwrite) as inside, one_thread:
        compiling = models.compile(schema)
        start = time.perf_counter()
        progress(0, 0.0)
        with Predictions(inside, form, schema) as predictions:
            for predicted in stream_table(table, schema, stream, job.missing):
                predictions.write(predicted)
                progress(stream.log.rows, table.progress())
        if not stream.log.rows:
            advice = "impute missing values"
            raise InvalidValue(unusable(table.name, "all gaps", "a complete row", advice))
        summary = summarise(
            stream,
            file=Path(job.file).name if job.file != "-" else table.name,
            schema=schema,
            model=models.described(),
            interval={"level": job.level, "method": job.method},
            compiling=compiling,
            seconds=time.perf_counter() - start,
        )
        write_summary(inside, summary)
        write_report(inside / REPORT, summary, stream.log.history)
    return summary


class _Models:
    """Makes the models of a job and their baselines."""

    def __init__(self, job: Job) -> None:
        self._job, self._policy = job, job.policy()
        self.make = factory(job.model, self._policy, job.options)
        model = self.make().partial_fit(np.empty((0, 1)), np.empty(0))  # checks its parameters
        self.name = type(model).__name__

    def baselines(self) -> dict[str, Baseline]:
        if not self._job.compare:
            return {}
        return baselines(self.make, self._policy, **accepted_by("ridge", self._job.options))

    def compile(self, schema: Schema) -> float:
        """Run made-up rows, so that compiling is not timed with the rows; returns the seconds."""
        start = time.perf_counter()
        X = np.random.default_rng(0).normal(size=(8, 2))
        y, at = X.sum(axis=1), None if schema.time is None else np.arange(8.0)
        if at is not None and schema.calendar:
            at = at.astype("datetime64[ns]")
        level, method = self._job.level, self._job.method
        replay(self.make(), X, y, at=at, diagnostics=True, interval=level, method=method)
        for other in self.baselines().values():
            other.predict(X, y, at)
        return time.perf_counter() - start

    def described(self) -> dict[str, Any]:
        """The model in the summary."""
        model, keep = self.make(), self._job.keep
        window = None if keep else model.window
        return {"name": self.name, "window": window, "keep": keep, **values_of(model)}


def _stream(job: Job, models: _Models, schema: Schema) -> StreamRun:
    return StreamRun(
        models.make,
        models.name,
        level=job.level,
        method=job.method,
        requests=_requests(job, schema),
        compare=models.baselines,
        warm_up=len(schema.names) + 1,
    )


def _requests(job: Job, schema: Schema) -> Requests:
    if job.forget is None:
        return NONE
    return read_requests(job.forget, whole=not schema.text_ids, calendar=schema.calendar)
