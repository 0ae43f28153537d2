"""``efface replay`` without the command line: a file in, a folder of results out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from efface.batch.replay import replay
from efface.errors import InvalidValue, unusable
from efface.files.answers import ModelHolder, answer
from efface.files.baselines import Baseline, baselines
from efface.files.joined_tables import expand, open_tables, short_name
from efface.files.model_options import DEFAULT, accepted_by, factory, values_of
from efface.files.output import (
    REPORT,
    Coefficients,
    Form,
    Predictions,
    check_folder,
    folder,
    write_summary,
)
from efface.files.report import write_report
from efface.files.requests import NONE, Request, Requests, read_requests
from efface.files.row_batches import Missing
from efface.files.saved_models import (
    check_options,
    check_table,
    check_target,
    read_model,
    write_model,
)
from efface.files.schema import RequestedColumns, Schema, resolve_schema
from efface.files.streaming import Outputs, StreamRun, stream_table
from efface.files.summary import Setting, summarise
from efface.files.tables import Table
from efface.files.text_readers import PLAIN, TextFormat
from efface.files.window_options import DEFAULT as DEFAULT_WINDOW
from efface.files.window_options import WindowOptions, written
from efface.live.half_life import remembering
from efface.live.policies import FIFD, KeepAll, KeepFor
from efface.models.intervals import DEFAULT_METHOD, MethodName, as_method

Progress = Callable[[int, float], None]  # rows done, share of the table


@dataclass(frozen=True)
class Job:
    """What to do. ``options`` are those of ``model_options``; None means the default.

    ``file`` is a path, or several that are read one after another; a path may be a pattern.
    ``start`` is the file of a model to go on from, ``save`` the file for the model at the end.
    """

    file: str | Sequence[str]
    roles: RequestedColumns
    model: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    window: int | None = None
    keep: str | None = None
    policy: str | None = None
    level: float = 0.95
    method: MethodName = DEFAULT_METHOD
    lower: float | None = None
    upper: float | None = None
    forget: str | None = None
    redact: bool = False
    compare: bool = False
    coefficients: bool = False
    start: str | None = None
    save: str | None = None
    missing: Missing = "raise"
    text: TextFormat = PLAIN

    @property
    def files(self) -> list[str]:
        """The files to read, in order."""
        return expand([self.file] if isinstance(self.file, str) else self.file)

    @property
    def intervals(self) -> dict[str, Any]:
        """The options of the intervals, as they are in the summary."""
        limits = {"lower": self.lower, "upper": self.upper}
        return {"level": self.level, "method": self.method, **limits}

    @property
    def windows(self) -> WindowOptions:
        """The options that decide when rows leave."""
        return WindowOptions(self.window, self.keep, self.policy)

    def new_window(self) -> Any:
        """The ``window`` argument of a new model."""
        halflife = self.options.get("halflife")
        usual = FIFD(DEFAULT_WINDOW) if halflife is None else KeepAll()
        policy = self.windows.chosen() or usual
        fades = isinstance(halflife, str)
        if (policy.needs_time or fades) and self.roles.time is None:
            option = "--half-life" if fades else "--policy" if self.keep is None else "--keep"
            raise InvalidValue(f"'{option}' needs the age of rows: name their --time column.")
        if isinstance(policy, KeepAll) and halflife is not None:
            return None
        return policy.rows if isinstance(policy, FIFD) else policy


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
    as_method(**job.intervals, subject="interval")
    check_folder(out, overwrite)
    check_target(job.save, grouped=job.roles.group is not None, overwrite=overwrite)
    names = job.files
    table = open_tables(names, job.text)
    schema = resolve_schema(table, job.roles)
    stream = _stream(job, models, schema)
    one_thread = threadpool_limits(limits=1, user_api="blas")  # matrices of a window are small
    with folder(out, overwrite=overwrite) as inside, one_thread:
        compiling = models.compile(schema)
        start = time.perf_counter()
        progress(0, 0.0)
        with ExitStack() as files:
            outputs = [files.enter_context(each) for each in _outputs(job, inside, form, schema)]
            for predicted in stream_table(table, schema, stream, job.missing):
                for output in outputs:
                    output.write(predicted)
                progress(stream.log.rows, table.progress())
        _refuse_nothing(job, table, stream)
        described = models.described()
        setting = Setting(short_name(names), schema, described, job.intervals, job.redact)
        seconds = time.perf_counter() - start
        summary = summarise(stream, setting, compiling=compiling, seconds=seconds)
        write_summary(inside, summary)
        write_report(inside / REPORT, summary, stream.log.history)
        if job.save is not None:
            write_model(job.save, stream.groups.models[None], schema.names)
    return summary


def _outputs(job: Job, inside: Path, form: Form, schema: Schema) -> list[Any]:
    """The files that get every row that is shown."""
    found: list[Any] = [Predictions(inside, form, schema)]
    if job.coefficients:
        found.append(Coefficients(inside, schema, schema.feature_names(redact=job.redact)))
    return found


def _refuse_nothing(job: Job, table: Table, stream: StreamRun) -> None:
    """Raise if there is no row to report on."""
    if not stream.log.rows:
        advice = "impute missing values"
        raise InvalidValue(unusable(table.name, "all gaps", "a complete row", advice))
    if not stream.log.history.rows:
        text = f"'{job.forget}' names too many rows: '--redact' leaves no row of '{table.name}'"
        raise InvalidValue(f"{text} to report on; run without --redact.")


class _Models:
    """Makes the models of a job and their baselines."""

    def __init__(self, job: Job) -> None:
        self._job, self.saved = job, None if job.start is None else read_model(job.start)
        if self.saved is None:
            self.make = factory(job.model or DEFAULT, job.new_window(), job.options)
        else:
            check_options(self.saved, job.model, job.windows, job.options)
            self.make = partial(clone, self.saved.model)
        model = self.make().partial_fit(np.empty((0, 1)), np.empty(0))  # checks its parameters
        self.name = type(model).__name__

    def baselines(self) -> dict[str, Baseline]:
        if not self._job.compare:
            return {}
        model = self.make()
        options = accepted_by("ridge", values_of(model))
        return baselines(self.make, model.window, **options)

    def compile(self, schema: Schema) -> float:
        """Run made-up rows, so that compiling is not timed with the rows; returns the seconds."""
        start = time.perf_counter()
        level, method, coef = self._job.level, self._job.method, self._job.coefficients
        n = 8
        X = np.random.default_rng(0).normal(size=(n, 2))
        y, at = X.sum(axis=1), None if schema.time is None else np.arange(float(n))
        if at is not None and schema.calendar:
            at = at.astype("datetime64[ns]")
        options: Any = {"diagnostics": True, "interval": level, "method": method, "coef": coef}
        model = self.make()
        replay(model, X, y, at=at, ids=range(n), **options)
        if self._job.forget is not None:
            request = Request(id=model.ids_[-1])
            answer(request, ModelHolder(request, [model]), row=n, arrived=n - 1)
        for other in self.baselines().values():
            other.predict(X, y, at)
        return time.perf_counter() - start

    def described(self) -> dict[str, Any]:
        """The model in the summary."""
        model = self.make()
        policy = remembering(model.window, model.halflife)[1]
        return {
            "name": self.name,
            "window": policy.rows if isinstance(policy, FIFD) else None,
            "keep": written(policy).partition(":")[2] if isinstance(policy, KeepFor) else None,
            "policy": written(policy),
            **values_of(model),
        }


def _stream(job: Job, models: _Models, schema: Schema) -> StreamRun:
    if models.saved is not None:
        check_table(models.saved, schema)
    named = job.save is not None or job.start is not None
    return StreamRun(
        models.make,
        models.name,
        Outputs(**job.intervals, redact=job.redact, named=named),
        requests=_requests(job, schema),
        compare=models.baselines,
        grouped=schema.group is not None,
        warm_up=len(schema.names) + 1,
        start=models.saved,
    )


def _requests(job: Job, schema: Schema) -> Requests:
    if job.forget is None:
        return NONE
    whole, owners = schema.whole_ids, schema.whole_owners
    return read_requests(job.forget, whole=whole, calendar=schema.calendar, whole_owners=owners)
