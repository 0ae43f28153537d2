"""The regression on every window of whole arrays, beside the rows as they were given."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from efface.batch.grouped import Panel, Rows, panel_of, taken
from efface.batch.results import Rolling
from efface.batch.statistics import Statistics, statistics
from efface.batch.varying_windows import Regression, interval_of
from efface.batch.windows import Task, Windows, slide, starts_of
from efface.engine.windows.inference import Inference
from efface.errors import InvalidValue, unusable
from efface.inputs.arrays import Matrix, Vector, as_matrix, as_vector, as_weights
from efface.inputs.parameters import choice, non_negative, truth, whole
from efface.inputs.roles import ColumnRoles, column_roles
from efface.inputs.times import as_times, kind_of
from efface.live.policies import FIFD, Policy, as_policy
from efface.models.intervals import MethodName, as_method

Ints = NDArray[np.int64]
Output = Literal["coef", "intercept", "rank", "fitted", "prediction", "residual", "error"]

_USUAL: tuple[Output, ...] = ("coef", "intercept", "rank", "fitted", "prediction")
OUTPUTS: tuple[Output, ...] = (*_USUAL, "residual", "error")


def rolling(
    X: Any,
    y: Any,
    window: Any,
    alpha: float = 0.0,
    fit_intercept: bool = False,
    min_rows: int | None = None,
    groups: Any = None,
    threads: int | None = None,
    missing: Literal["raise", "skip"] = "raise",
    outputs: Iterable[Output] | None = None,
    stats: bool = False,
    *,
    x: Any = None,
    by: Any = None,
    at: Any = None,
    interval: float | None = None,
    method: MethodName = "gaussian",
    sample_weight: Any = None,
    standardize: bool = False,
) -> Rolling:
    """Regress on the last ``window`` rows, at every row.

    ``window`` may also be a duration ("90d", a timedelta, KeepFor): the rows younger than that at
    the time of the row, by the times ``at``; or None for all rows so far. ``min_rows`` rows are
    needed for an answer: by default a full window, and where no number says what is full, one for
    each coefficient. With fewer, the first windows are shorter.

    ``groups``, or ``by``, holds a label for each row: every group has windows of its own, and
    groups are spread over ``threads`` threads (by default one a core). With ``missing="skip"`` a
    row with NaN neither is learned nor makes another leave; coefficients carry over it.

    ``outputs`` names what to compute, by default all but residual and error, and the rank only when
    ``alpha`` is 0: nothing in a ridge regression tells it, so asking for it costs a second pass.
    ``stats=True`` adds standard errors, t- and p-values and the share explained, for least squares
    only. ``interval`` is the level of an interval around each prediction, by ``method``: that of
    ``predict_interval`` of a model on the window before.

    With ``standardize`` each window's regression is on features less its mean, over its standard
    deviation: ``alpha`` and the rank are for those, coefficients for the features as they are.

    ``sample_weight`` holds a weight for each row; windows count rows whatever these weigh. The
    statistics are those of rows whose noise has the variance sigma^2 / weight.

    Of a frame, ``y``, ``at``, ``sample_weight`` and ``groups`` may be columns by name, the last
    several, and ``x`` names the features, by default all others; results are then columns of its
    kind.

    >>> rolling([[1.0], [1.0], [2.0]], [1.0, 3.0, 5.0], window=2).coef.ravel()
    array([nan, 2. , 2.6])
    """
    stats = truth("stats", stats)
    fit = _fit(alpha, fit_intercept, standardize, stats)
    policy, least = _window(window, min_rows)
    asked = _asked(outputs, fit.alpha)
    way = None if interval is None else as_method(interval, method, "interval")
    skip = choice("missing", missing, ("raise", "skip")) == "skip"
    workers = os.cpu_count() or 1 if threads is None else whole("threads", threads, 1)
    parts = column_roles(X, x, y=y, groups=_either(groups, by), at=at, sample_weight=sample_weight)
    rows = as_matrix(parts.X, missing=skip)
    name = y if parts.table is not None and isinstance(y, str) else None
    responses = as_vector(parts.one("y"), len(rows), missing=skip, name=name)
    least = least or rows.shape[1] + fit.intercept
    task = Task(policy, fit, least, "rank" in asked, stats, way)
    panel = _panel(rows, responses, parts, skip, policy)
    result = _report(task, asked, rows, responses, panel, slide(task, panel, workers))
    if parts.table is None:
        return result
    return parts.table.dressed(replace(result, keys=parts.keys), room=rows)  # which are ours


def _either(groups: Any, by: Any) -> Any:
    if groups is not None and by is not None:
        raise InvalidValue(unusable("by", by, "None beside 'groups'", "they mean the same"))
    return by if groups is None else groups


def _fit(alpha: object, fit_intercept: object, standardize: object, stats: bool) -> Regression:
    penalty, intercept = non_negative("alpha", alpha), truth("fit_intercept", fit_intercept)
    scaled = truth("standardize", standardize)
    if stats and penalty > 0:
        advice = "pass alpha=0, or use predict_interval for a penalised model"
        raise InvalidValue(unusable("alpha", penalty, "0 where stats=True", advice))
    if stats and scaled and not intercept:
        advice = "standardised features have no regression through the origin"
        expected = "True where stats and standardize are"
        raise InvalidValue(unusable("fit_intercept", False, expected, advice))
    return Regression(penalty, intercept, scaled)


def _window(window: object, min_rows: object) -> tuple[Policy, int]:
    """When rows leave, and how many an answer needs; 0 for as many as there are coefficients."""
    if isinstance(window, int | np.integer) and not isinstance(window, bool):
        window = whole("window", window, 1)
    policy = as_policy(window)
    full = policy.rows if isinstance(policy, FIFD) else 0
    least = full if min_rows is None else whole("min_rows", min_rows, 1)
    if full and least > full:
        raise InvalidValue(unusable("min_rows", least, f"at most the window, {full}", "lower it"))
    return policy, least


def _asked(outputs: Any, penalty: float) -> frozenset[str]:
    if outputs is None:
        return frozenset(_USUAL) - ({"rank"} if penalty > 0 else set())
    names = [outputs] if isinstance(outputs, str) else list(outputs)
    for name in names:
        if name not in OUTPUTS:
            raise InvalidValue(unusable("outputs", name, f"some of {OUTPUTS}", "choose among them"))
    return frozenset(names)


def _panel(X: Matrix, y: Vector, parts: ColumnRoles, skip: bool, policy: Policy) -> Panel:
    at = parts.one("at")
    times = None if at is None else as_times(at, len(y))
    given = Rows(X, y, as_weights(parts.one("sample_weight"), len(y)), times)
    policy.refuse_time(kind_of(times))
    return panel_of(given, parts.roles["groups"], at, skip=skip)


def _report(
    task: Task, asked: frozenset[str], X: Matrix, y: Vector, panel: Panel, found: Windows
) -> Rolling:
    """What was asked for, at the rows as they were given."""
    here, ahead = None, None
    if asked & {"coef", "intercept", "fitted", "residual"} or task.stats:
        here = taken(found.coef, panel.upto), taken(found.level, panel.upto)
    if asked & {"prediction", "error"} or task.method:
        ahead = _predictions(X, panel.before, found)
    fitted = _values(X, *here) if here and asked & {"fitted", "residual"} else None
    rank = None if found.rank is None else taken(found.rank, panel.upto)
    lower, upper = (None, None) if ahead is None else _intervals(task, X, panel, found, ahead)
    return Rolling(
        coef=here[0] if here and "coef" in asked else None,
        intercept=here[1] if here and "intercept" in asked else None,
        rank=rank,
        fitted=fitted if "fitted" in asked else None,
        prediction=ahead if "prediction" in asked else None,
        stats=_statistics(task, panel, found, *here) if here and task.stats else None,
        residual=y - fitted if fitted is not None and "residual" in asked else None,
        error=y - ahead if ahead is not None and "error" in asked else None,
        lower=lower,
        upper=upper,
        singular=None if rank is None else (rank >= 0) & (rank < X.shape[1]),
    )


def _intervals(
    task: Task, X: Matrix, panel: Panel, found: Windows, ahead: Vector
) -> tuple[Vector | None, Vector | None]:
    """Bounds of what was predicted; for rows that were not learned, from the window before."""
    if task.method is None or found.lower is None or found.upper is None:
        return None, None
    upto, before = panel.upto, panel.before
    lower, upper = taken(found.lower, upto), taken(found.upper, upto)
    if upto is not None and before is not None:
        starts = starts_of(task.policy, panel)
        for t in np.flatnonzero((upto == before) & ~np.isnan(ahead)):
            window = panel.rows.at(slice(starts[before[t]], before[t] + 1))
            lower[t], upper[t] = interval_of(X[t], *window[:3], task.fit, task.method)
    for bound in (lower, upper):
        bound[np.isnan(ahead)] = np.nan
    return lower, upper


def _statistics(
    task: Task, panel: Panel, found: Windows, coef: Matrix, level: Vector
) -> Statistics:
    assert found.inference is not None
    nobs = taken(_heard(panel.rows, starts_of(task.policy, panel)), panel.upto)
    nobs = np.where(np.isnan(level) | (nobs < 0), 0, nobs)
    here = Inference(*(taken(values, panel.upto) for values in found.inference))
    return statistics(coef, level, here, nobs, task.fit.intercept)


def _heard(rows: Rows, starts: Ints) -> Ints:
    """How many rows that have weight the window that ends at each row has."""
    if rows.weights is None:
        return np.asarray(np.arange(1, starts.size + 1) - starts)
    heard = np.concatenate([[0], np.cumsum(rows.weights > 0.0)])
    return np.asarray(heard[1:] - heard[starts])


def _predictions(X: Matrix, before: Ints | None, found: Windows) -> Vector:
    if before is not None:
        return _values(X, taken(found.coef, before), taken(found.level, before))
    predictions = np.full(len(X), np.nan)
    predictions[1:] = _values(X[1:], found.coef[:-1], found.level[:-1])
    return predictions


def _values(X: Matrix, coef: Matrix, level: Vector) -> Vector:
    return np.asarray(np.einsum("ij,ij->i", X, coef) + level)
