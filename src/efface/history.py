"""Whole arrays: coefficients of every window, and the replay of a stream through a model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from efface.casting import Cast, cast
from efface.errors import InvalidValue, unusable
from efface.groups import refuse_back, sorted_groups
from efface.intervals import Method, MethodName, as_method
from efface.kernels.inference import Inference, infer_windows
from efface.kernels.standard import slide_standardized
from efface.kernels.windows import slide_windows
from efface.live import Arrivals, LiveRows
from efface.memory import Trace
from efface.outcomes import Replay, Rolling
from efface.parameters import choice, non_negative, truth, whole
from efface.policies import FIFD, KeepAll, Policy, as_policy
from efface.rows import Matrix, Vector, as_matrix, as_vector, as_weights
from efface.significance import Statistics, statistics
from efface.spans import Regression, interval_of, slide_spans
from efface.threads import share_out
from efface.times import Times, as_times, kind_of

if TYPE_CHECKING:
    from efface.models import Model

Ints = NDArray[np.int64]
Output = Literal["coef", "intercept", "rank", "fitted", "prediction", "residual", "error"]

_SHORT = 64  # rows a group, below which threads would mostly wait for the interpreter

_USUAL: tuple[Output, ...] = ("coef", "intercept", "rank", "fitted", "prediction")
OUTPUTS: tuple[Output, ...] = (*_USUAL, "residual", "error")


def replay(
    model: Model,
    X: Any,
    y: Any,
    ids: Any = None,
    at: Any = None,
    coef: bool = False,
    diagnostics: bool = False,
    interval: float | None = None,
    method: MethodName = "gaussian",
    *,
    x: Any = None,
    sample_weight: Any = None,
) -> Replay:
    """Predict, then learn, row by row; the model ends as if it had learned them one by one.

    With times, rows whose time is up at ``at[t]`` leave before row t is predicted. Rows in order of
    time run compiled; otherwise each costs a rebuild.

    ``interval`` is the level of prediction intervals, by ``method``; see ``predict_interval`` of
    the models. The conformal ones cost a replay of the live rows at every row.

    Of a frame, ``y``, ``ids``, ``at`` and ``sample_weight`` may be columns by name, and ``x`` names
    the features, by default all others; results are then columns of its kind.

    >>> from efface import OLS
    >>> model = OLS(window=2, fit_intercept=False)
    >>> replay(model, [[1.0], [1.0], [1.0]], [2.0, 4.0, 9.0]).prediction
    array([0., 2., 3.])
    """
    parts = cast(X, x, y=y, ids=ids, at=at, sample_weight=sample_weight)
    widths = None if interval is None else as_method(interval, method, "interval").widths

    def through(live: LiveRows, new: Arrivals) -> Trace:
        return live.replay(new, coef=bool(coef), diagnostics=bool(diagnostics), widths=widths)

    rows = X if parts.table is None else parts.table.native
    roles = (parts.one(role) for role in ("y", "ids", "at", "sample_weight"))
    trace = model._feed(through, rows, *roles)._asdict()
    del trace["gauges"]
    result = Replay(**trace, keys=parts.keys)
    return result if parts.table is None else parts.table.dressed(result)


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
    fit = _fit(alpha, fit_intercept, standardize, truth("stats", stats))
    job = _job(window, fit, min_rows, outputs, bool(stats), interval, method)
    skip = choice("missing", missing, ("raise", "skip")) == "skip"
    workers = os.cpu_count() or 1 if threads is None else whole("threads", threads, 1)
    parts = cast(X, x, y=y, groups=_either(groups, by), at=at, sample_weight=sample_weight)
    rows = as_matrix(parts.X, missing=skip)
    name = y if parts.table is not None and isinstance(y, str) else None
    responses = as_vector(parts.one("y"), len(rows), missing=skip, name=name)
    job = job._replace(least=job.least or rows.shape[1] + job.fit.intercept)
    layout = _layout(rows, responses, parts, skip, job.policy)
    result = _report(job, rows, responses, layout, _regress(job, layout, workers))
    if parts.table is None:
        return result
    return parts.table.dressed(replace(result, keys=parts.keys), room=rows)  # which are ours


def _either(groups: Any, by: Any) -> Any:
    if groups is not None and by is not None:
        raise InvalidValue(unusable("by", by, "None beside 'groups'", "they mean the same"))
    return by if groups is None else groups


class _Job(NamedTuple):
    policy: Policy
    fit: Regression
    least: int  # rows that an answer needs; 0 for as many as there are coefficients
    outputs: frozenset[str]
    stats: bool
    method: Method | None

    def window(self, n: int) -> int | None:
        """Of so many rows is a window among n; None if no number says it."""
        if isinstance(self.policy, FIFD):
            return self.policy.rows
        return max(n, 1) if isinstance(self.policy, KeepAll) else None


class _Rows(NamedTuple):
    X: Matrix
    y: Vector
    weights: Vector | None
    times: Times | None

    def at(self, places: slice | NDArray[np.intp]) -> _Rows:
        """Some of them."""
        weights = None if self.weights is None else self.weights[places]
        times = None if self.times is None else self.times[places]
        return _Rows(self.X[places], self.y[places], weights, times)


class _Layout(NamedTuple):
    """The complete rows, group after group, and which of them speaks for each row given."""

    rows: _Rows
    bounds: Ints  # group g has rows bounds[g] to bounds[g + 1]
    upto: Ints | None  # for each row given, the last complete one of its group up to it, or -1
    before: Ints | None  # and before it; None for both: the rows themselves, one group


class _Windows(NamedTuple):
    coef: Matrix
    level: Vector
    rank: Ints | None
    lower: Vector | None
    upper: Vector | None
    inference: Inference | None


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


def _job(
    window: object,
    fit: Regression,
    min_rows: object,
    outputs: Any,
    stats: bool,
    interval: float | None,
    method: object,
) -> _Job:
    if isinstance(window, int | np.integer) and not isinstance(window, bool):
        window = whole("window", window, 1)
    policy = as_policy(window)
    full = policy.rows if isinstance(policy, FIFD) else 0
    least = full if min_rows is None else whole("min_rows", min_rows, 1)
    if full and least > full:
        raise InvalidValue(unusable("min_rows", least, f"at most the window, {full}", "lower it"))
    way = None if interval is None else as_method(interval, method, "interval")
    return _Job(policy, fit, least, _asked(outputs, fit.alpha), stats, way)


def _asked(outputs: Any, penalty: float) -> frozenset[str]:
    if outputs is None:
        return frozenset(_USUAL) - ({"rank"} if penalty > 0 else set())
    names = [outputs] if isinstance(outputs, str) else list(outputs)
    for name in names:
        if name not in OUTPUTS:
            raise InvalidValue(unusable("outputs", name, f"some of {OUTPUTS}", "choose among them"))
    return frozenset(names)


def _layout(X: Matrix, y: Vector, parts: Cast, skip: bool, policy: Policy) -> _Layout:
    groups, at = parts.roles["groups"], parts.one("at")
    times = None if at is None else as_times(at, len(y))
    given = _Rows(X, y, as_weights(parts.one("sample_weight"), len(y)), times)
    policy.refuse_time(kind_of(times))
    complete = ~(np.isnan(X).any(axis=1) | np.isnan(y)) if skip else None
    if complete is not None and complete.all():
        complete = None
    order, starts = sorted_groups(groups, len(y))
    if times is not None:
        refuse_back(times, at, order, starts)
    if not groups and complete is None:
        return _Layout(given, np.array([0, len(y)]), None, None)
    alive = np.ones(len(y), dtype=bool) if complete is None else complete[order]
    seen = np.concatenate([[0], np.cumsum(alive)])  # complete rows before each place in the order
    base = np.repeat(seen[starts[:-1]], np.diff(starts))  # and before its group
    upto, before = np.empty(len(y), dtype=np.int64), np.empty(len(y), dtype=np.int64)
    for target, last in ((upto, seen[1:] - 1), (before, seen[:-1] - 1)):
        target[order] = np.where(last >= base, last, -1)
    kept = order if complete is None else order[alive]
    return _Layout(given.at(kept), seen[starts], upto, before)


def _regress(job: _Job, layout: _Layout, workers: int) -> _Windows:
    """The regressions at every complete row."""
    n, d = layout.rows.X.shape
    if len(layout.bounds) == 2:
        return _solve(job, layout.rows)
    found = _room(job, n, d)

    def work(part: Sequence[int]) -> None:
        for a, b in pairwise(part):
            pieces = _arrays(_solve(job, layout.rows.at(slice(a, b))))
            for target, piece in zip(_arrays(found), pieces, strict=True):
                target[a:b] = piece

    short = n < _SHORT * len(layout.bounds)
    share_out(work, layout.bounds, 1 if short else workers)
    return found


def _room(job: _Job, n: int, d: int) -> _Windows:
    return _Windows(
        np.empty((n, d)),
        np.empty(n),
        np.empty(n, np.int64) if "rank" in job.outputs else None,
        np.empty(n) if job.method else None,
        np.empty(n) if job.method else None,
        Inference(np.empty((n, d)), *(np.empty(n) for _ in range(3))) if job.stats else None,
    )


def _arrays(found: _Windows) -> list[NDArray[Any]]:
    return [a for a in (*found[:-1], *(found.inference or ())) if a is not None]


def _solve(job: _Job, rows: _Rows) -> _Windows:
    """The regressions at every row of one group."""
    window = job.window(len(rows.y))
    if window is None:
        return _by_span(job, rows, _starts(job.policy, rows))
    return _by_count(job, rows, window)


def _by_count(job: _Job, rows: _Rows, window: int) -> _Windows:
    first, (alpha, intercept, standardize), (X, y, weights, _) = job.least - 1, job.fit, rows
    slide = slide_standardized if standardize else slide_windows
    coef, level, rank = slide(X, y, window, alpha, intercept, first, weights=weights)
    ranked, lower, upper, inference = None, None, None, None
    if "rank" in job.outputs:
        if alpha > 0:
            rank = slide(X, y, window, 0.0, intercept, first, weights=weights)[2]
        ranked = rank
        ranked[:first] = -1
    if job.method or job.stats:
        starts = _starts(job.policy, rows)
        inference = _inferred(job, rows, starts, coef, level)
        if job.method:
            *_, lower, upper = slide_spans(X, y, starts, job.fit, job.method, weights)
    return _Windows(coef, level, ranked, lower, upper, inference)


def _by_span(job: _Job, rows: _Rows, starts: Ints) -> _Windows:
    X, y, weights, _ = rows
    coef, level, rank, lower, upper = slide_spans(X, y, starts, job.fit, job.method, weights)
    if "rank" in job.outputs and rank is None:
        rank = slide_spans(X, y, starts, job.fit._replace(alpha=0.0), None, weights).rank
    inference = _inferred(job, rows, starts, coef, level)
    short = np.arange(1, len(y) + 1) - starts < job.least
    for values in (coef, level, rank, *(inference or ())):
        if values is not None:
            values[short] = -1 if values.dtype.kind == "i" else np.nan
    ranked = rank if "rank" in job.outputs else None
    return _Windows(coef, level, ranked, lower, upper, inference)


def _starts(policy: Policy, rows: _Rows) -> Ints:
    """The first row of the window that ends at each row."""
    plan = policy.schedule(0, len(rows.y), 0, rows.times)
    return np.cumsum(plan.before + plan.after)


def _all_starts(job: _Job, layout: _Layout) -> Ints:
    """The same for all groups, counted over the rows of all."""
    runs = pairwise(layout.bounds.tolist())
    return np.concatenate([a + _starts(job.policy, layout.rows.at(slice(a, b))) for a, b in runs])


def _inferred(
    job: _Job, rows: _Rows, starts: Ints, coef: Matrix, level: Vector
) -> Inference | None:
    if not job.stats:
        return None
    X, y, weights, _ = rows
    return infer_windows(X, y, starts, job.fit.intercept, job.least - 1, coef, level, weights)


def _report(job: _Job, X: Matrix, y: Vector, layout: _Layout, found: _Windows) -> Rolling:
    """What was asked for, at the rows as they were given."""
    asked, here, ahead = job.outputs, None, None
    if asked & {"coef", "intercept", "fitted", "residual"} or job.stats:
        here = _taken(found.coef, layout.upto), _taken(found.level, layout.upto)
    if asked & {"prediction", "error"} or job.method:
        ahead = _predictions(X, layout.before, found)
    fitted = _values(X, *here) if here and asked & {"fitted", "residual"} else None
    rank = None if found.rank is None else _taken(found.rank, layout.upto)
    lower, upper = (None, None) if ahead is None else _intervals(job, X, layout, found, ahead)
    return Rolling(
        coef=here[0] if here and "coef" in asked else None,
        intercept=here[1] if here and "intercept" in asked else None,
        rank=rank,
        fitted=fitted if "fitted" in asked else None,
        prediction=ahead if "prediction" in asked else None,
        stats=_statistics(job, layout, found, *here) if here and job.stats else None,
        residual=y - fitted if fitted is not None and "residual" in asked else None,
        error=y - ahead if ahead is not None and "error" in asked else None,
        lower=lower,
        upper=upper,
        singular=None if rank is None else (rank >= 0) & (rank < X.shape[1]),
    )


def _intervals(
    job: _Job, X: Matrix, layout: _Layout, found: _Windows, ahead: Vector
) -> tuple[Vector | None, Vector | None]:
    """Bounds of what was predicted; for rows that were not learned, from the window before."""
    if job.method is None or found.lower is None or found.upper is None:
        return None, None
    upto, before = layout.upto, layout.before
    lower, upper = _taken(found.lower, upto), _taken(found.upper, upto)
    if upto is not None and before is not None:
        starts = _all_starts(job, layout)
        for t in np.flatnonzero((upto == before) & ~np.isnan(ahead)):
            window = layout.rows.at(slice(starts[before[t]], before[t] + 1))
            lower[t], upper[t] = interval_of(X[t], *window[:3], job.fit, job.method)
    for bound in (lower, upper):
        bound[np.isnan(ahead)] = np.nan
    return lower, upper


def _statistics(
    job: _Job, layout: _Layout, found: _Windows, coef: Matrix, level: Vector
) -> Statistics:
    assert found.inference is not None
    nobs = _taken(_heard(layout.rows, _all_starts(job, layout)), layout.upto)
    nobs = np.where(np.isnan(level) | (nobs < 0), 0, nobs)
    here = Inference(*(_taken(values, layout.upto) for values in found.inference))
    return statistics(coef, level, here, nobs, job.fit.intercept)


def _heard(rows: _Rows, starts: Ints) -> Ints:
    """How many rows that have weight the window that ends at each row has."""
    if rows.weights is None:
        return np.asarray(np.arange(1, starts.size + 1) - starts)
    heard = np.concatenate([[0], np.cumsum(rows.weights > 0.0)])
    return np.asarray(heard[1:] - heard[starts])


def _predictions(X: Matrix, before: Ints | None, found: _Windows) -> Vector:
    if before is not None:
        return _values(X, _taken(found.coef, before), _taken(found.level, before))
    predictions = np.full(len(X), np.nan)
    predictions[1:] = _values(X[1:], found.coef[:-1], found.level[:-1])
    return predictions


def _values(X: Matrix, coef: Matrix, level: Vector) -> Vector:
    return np.asarray(np.einsum("ij,ij->i", X, coef) + level)


def _taken(values: NDArray[Any], index: Ints | None) -> NDArray[Any]:
    """``values[index]``; NaN, or -1 for whole numbers, where the index is -1."""
    if index is None:
        return values
    if not len(values):
        values = np.zeros((1, *values.shape[1:]), dtype=values.dtype)
    taken = values.take(index, axis=0)
    taken[index < 0] = -1 if values.dtype.kind == "i" else np.nan
    return taken
