"""The whole job of ``efface replay``: a file in, a folder of results out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from efface.batch.replay import replay
from efface.errors import InvalidValue, unusable
from efface.files.baselines import Baseline, baselines
from efface.files.output import REPORT, Form, Predictions, folder, refuse_folder, write_summary
from efface.files.readers import open_table
from efface.files.report import write_report
from efface.files.requests import NONE, Requests, read_requests
from efface.files.schema import Missing, Roles, Wish, assign
from efface.files.streaming import Journey, travel
from efface.files.summary import summarise
from efface.files.tables import Table
from efface.inputs.parameters import probability
from efface.live.policies import KeepFor
from efface.models.intervals import MethodName
from efface.models.linear import OLS, AdaptiveRidge, Ridge, SwitchingRidge
from efface.models.regression import Model

Kind = Literal["adaptive", "ridge", "ols", "switching"]
Tell = Callable[[int, float], None]

WINDOW = 500


@dataclass(frozen=True)
class Job:
    """What is to be done; None where the default will do."""

    file: str
    wish: Wish
    model: Kind = "adaptive"
    window: int | None = None
    keep: str | None = None
    alpha: float | None = None
    theta_max: float | None = None
    standardize: bool = False
    level: float = 0.95
    method: MethodName = "gaussian"
    forget: str | None = None
    compare: bool = False
    missing: Missing = "raise"
    delimiter: str | None = None
    time_format: str | None = None


def run(
    job: Job,
    out: Path,
    *,
    form: Form = "parquet",
    overwrite: bool = False,
    tell: Tell = lambda rows, share: None,
) -> dict[str, Any]:
    """Do a job, and give its summary; the folder ``out`` appears when all is written."""
    policy = _policy(job)
    model = _maker(job, policy)
    model().partial_fit(np.empty((0, 1)), np.empty(0))  # refuses parameters before reading
    probability("interval", job.level)
    refuse_folder(out, overwrite)
    table = open_table(job.file, job.delimiter, job.time_format)
    roles = assign(table, job.wish)
    journey = _journey(job, model, policy, table, roles)
    with folder(out, overwrite=overwrite) as inside, _one_thread():
        compiling = _compile(job, model, policy, roles)
        start = time.perf_counter()
        tell(0, 0.0)
        with Predictions(inside, form, roles) as predictions:
            for steps in travel(table, roles, journey, job.missing):
                predictions.write(steps)
                tell(journey.log.rows, table.progress())
        if not journey.log.rows:
            raise InvalidValue(unusable(table.name, "all gaps", "rows without", "impute some"))
        summary = summarise(
            journey,
            file=Path(job.file).name if job.file != "-" else table.name,
            roles=roles,
            model=_described(job, model()),
            interval={"level": job.level, "method": job.method},
            compiling=compiling,
            seconds=time.perf_counter() - start,
        )
        write_summary(inside, summary)
        write_report(inside / REPORT, summary, journey.log)
    return summary


def _compile(job: Job, model: Callable[[], Model], policy: Any, roles: Roles) -> float:
    """Let a few made-up rows through, so that kernels are compiled before rows are timed."""
    start = time.perf_counter()
    X = np.random.default_rng(0).normal(size=(8, 2))
    at: Any
    y, at = X.sum(axis=1), None if roles.time is None else np.arange(8.0)
    if _calendar(roles):
        at = np.arange(8).astype("datetime64[ns]")
    replay(model(), X, y, at=at, diagnostics=True, interval=job.level, method=job.method)
    if job.compare:
        for other in baselines(model, policy, standardize=job.standardize).values():
            other.predict(X, y, at)
    return time.perf_counter() - start


def _one_thread() -> Any:
    """Matrices of a window are small: threads of BLAS would wait for each other."""
    return threadpool_limits(limits=1, user_api="blas")


def _policy(job: Job) -> Any:
    if job.window is not None and job.keep is not None:
        raise InvalidValue("'--window' and '--keep' both say when rows leave: give one of them.")
    if job.keep is None:
        return WINDOW if job.window is None else job.window
    if job.wish.time is None:
        raise InvalidValue("'--keep' needs to know how old rows are: name their --time column.")
    try:
        return KeepFor(float(job.keep))
    except ValueError:
        return KeepFor(job.keep)


def _maker(job: Job, policy: Any) -> Callable[[], Model]:
    makers: dict[Kind, Any] = {
        "adaptive": AdaptiveRidge,
        "ridge": Ridge,
        "ols": OLS,
        "switching": SwitchingRidge,
    }
    options = {"alpha": job.alpha, "theta_max": job.theta_max}
    given = {name: value for name, value in options.items() if value is not None}
    fitting = {"ridge": {"alpha"}, "ols": set()}.get(job.model, {"theta_max"})
    for name in given:
        if name not in fitting:
            flag = "--" + name.replace("_", "-")
            raise InvalidValue(f"'{flag}' has no meaning for --model {job.model}: leave it out.")
    return lambda: makers[job.model](policy, **given, standardize=job.standardize)


def _journey(
    job: Job, model: Callable[[], Model], policy: Any, table: Table, roles: Roles
) -> Journey:
    def compare() -> dict[str, Baseline]:
        way = {"standardize": job.standardize}
        return baselines(model, policy, **way) if job.compare else {}

    return Journey(
        model,
        type(model()).__name__,
        level=job.level,
        method=job.method,
        requests=_requests(job, roles),
        compare=compare,
        warm_up=len(roles.names) + 1,
    )


def _requests(job: Job, roles: Roles) -> Requests:
    if job.forget is None:
        return NONE
    whole = roles.id is None or roles.types[roles.id] == pa.int64()
    return read_requests(job.forget, whole=whole, calendar=_calendar(roles))


def _calendar(roles: Roles) -> bool | None:
    """Whether times are calendar times and not numbers; None without times."""
    return None if roles.time is None else bool(pa.types.is_timestamp(roles.types[roles.time]))


def _described(job: Job, model: Model) -> dict[str, Any]:
    return {
        "name": type(model).__name__,
        "window": None if job.keep else model.window,
        "keep": job.keep,
        "alpha": getattr(model, "alpha", None),
        "theta_max": getattr(model, "theta_max", None),
        "standardize": model.standardize,
    }
