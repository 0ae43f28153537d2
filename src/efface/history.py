"""Whole arrays: coefficients of every window, and the replay of a stream through a model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from efface.errors import InvalidValue, unusable
from efface.intervals import MethodName, as_method
from efface.kernels.inference import Inference, infer_windows
from efface.kernels.standard import slide_standardized
from efface.kernels.windows import slide_windows
from efface.live import Arrivals, LiveRows
from efface.memory import Trace
from efface.parameters import non_negative, truth, whole
from efface.rows import Matrix, Vector, as_matrix, as_vector
from efface.significance import Statistics, statistics

if TYPE_CHECKING:
    from efface.models import Model

Ints = NDArray[np.int64]
Output = Literal["coef", "intercept", "rank", "fitted", "prediction"]

_SHORT = 64  # rows a group, below which threads would mostly wait for the interpreter

OUTPUTS: tuple[Output, ...] = ("coef", "intercept", "rank", "fitted", "prediction")


@dataclass(frozen=True, eq=False)
class Rolling:
    """Regressions on the window that ends at each row; None where an output was not asked for.

    Before a window has ``min_rows`` rows there is no regression: NaN, and a rank of -1.
    """

    coef: Matrix | None
    intercept: Vector | None
    rank: Ints | None
    fitted: Vector | None  # of row t by the window that ends at it
    prediction: Vector | None  # of row t by the window that ends before it
    stats: Statistics | None = None


@dataclass(frozen=True, eq=False)
class Replay:
    """A stream, row by row: entry t is the state that predicted row t, before it was learned.

    ``rank`` is None for models with a penalty, and what follows ``coef`` always, without
    ``diagnostics=True``; ``coef`` without ``coef=True``; the interval without ``interval``. Phi is
    of the live rows, around their mean if there is an intercept; its eigenvalues are those of every
    m-th row, m = 20 d but at least 500, and of the last: NaN between.
    """

    prediction: Vector
    penalty: Vector
    intercept: Vector
    n_rows: Ints
    rank: Ints | None
    coef: Matrix | None
    leverage_new: Vector | None  # of row t among the rows that predicted it
    leverage_old: Vector | None  # of the oldest of those rows
    frt: Vector | None  # the forgetting regret term of the two
    phi2: Vector | None  # lambda_min(Phi) / n
    condition: Vector | None  # sqrt(lambda_max(Phi) / lambda_min(Phi))
    lower: Vector | None  # what ``predict_interval`` says of row t
    upper: Vector | None


def replay(
    model: Model,
    X: Any,
    y: Any,
    ids: Iterable[int | str] | None = None,
    at: Any = None,
    coef: bool = False,
    diagnostics: bool = False,
    interval: float | None = None,
    method: MethodName = "gaussian",
) -> Replay:
    """Predict, then learn, row by row; the model ends as if it had learned them one by one.

    With times, rows whose time is up at ``at[t]`` leave before row t is predicted. Rows in order of
    time run compiled; otherwise each costs a rebuild.

    ``interval`` is the level of prediction intervals, by ``method``; see ``predict_interval`` of
    the models. The conformal ones cost a replay of the live rows at every row.

    >>> from efface import OLS
    >>> model = OLS(window=2, fit_intercept=False)
    >>> replay(model, [[1.0], [1.0], [1.0]], [2.0, 4.0, 9.0]).prediction
    array([0., 2., 3.])
    """

    widths = None if interval is None else as_method(interval, method, "interval").widths

    def through(live: LiveRows, new: Arrivals) -> Trace:
        return live.replay(new, coef=bool(coef), diagnostics=bool(diagnostics), widths=widths)

    trace = model._feed(through, X, y, ids, at)._asdict()
    del trace["gauges"]
    return Replay(**trace)


def rolling(
    X: Any,
    y: Any,
    window: int,
    alpha: float = 0.0,
    fit_intercept: bool = False,
    min_rows: int | None = None,
    groups: Any = None,
    threads: int | None = None,
    missing: Literal["raise", "skip"] = "raise",
    outputs: Iterable[Output] | None = None,
    stats: bool = False,
    standardize: bool = False,
) -> Rolling:
    """Regress on the last ``window`` rows, at every row.

    ``min_rows`` rows are needed for an answer, by default a full window; with fewer, the first
    windows are shorter. ``groups`` holds a label for each row: every group has windows of its own,
    and groups are spread over ``threads`` threads (by default one a core). With ``missing="skip"``
    a row with NaN neither is learned nor makes another leave; coefficients carry over it.

    ``outputs`` names what to compute, by default all, except the rank when ``alpha`` is above 0:
    nothing in a ridge regression tells it, so asking for it costs a second pass. ``stats=True``
    adds standard errors, t- and p-values and the share explained, for least squares only. With
    ``standardize`` each window's regression is on features less its mean, over its standard
    deviation: ``alpha`` and the rank are for those, coefficients for the features as they are.

    >>> rolling([[1.0], [1.0], [2.0]], [1.0, 3.0, 5.0], window=2).coef.ravel()
    array([nan, 2. , 2.6])
    """
    job = _job(window, alpha, fit_intercept, min_rows, outputs, stats)
    job = job._replace(standardize=truth("standardize", standardize))
    if job.stats and job.standardize and not job.intercept:
        advice = "standardised features have no regression through the origin"
        raise InvalidValue(
            unusable("fit_intercept", False, "True where stats and standardize are", advice)
        )
    if missing not in ("raise", "skip"):
        raise InvalidValue(unusable("missing", missing, "'raise' or 'skip'", "choose one"))
    rows = as_matrix(X, missing=missing == "skip")
    responses = as_vector(y, len(rows), missing=missing == "skip")
    layout = _layout(rows, responses, groups, missing == "skip")
    workers = os.cpu_count() or 1 if threads is None else whole("threads", threads, 1)
    return _report(job, rows, layout, _regress(job, layout, workers))


class _Job(NamedTuple):
    window: int
    alpha: float
    intercept: bool
    first: int
    outputs: frozenset[str]
    stats: bool
    standardize: bool = False


class _Layout(NamedTuple):
    """The complete rows, group after group, and which of them speaks for each row given."""

    X: Matrix
    y: Vector
    bounds: Ints  # group g has rows bounds[g] to bounds[g + 1]
    upto: Ints | None  # for each row given, the last complete one of its group up to it, or -1
    before: Ints | None  # and before it; None for both: the rows themselves, one group


class _Windows(NamedTuple):
    coef: Matrix
    level: Vector
    rank: Ints | None
    inference: Inference | None


def _job(
    window: object,
    alpha: object,
    fit_intercept: object,
    min_rows: object,
    outputs: Any,
    stats: object,
) -> _Job:
    if not isinstance(window, int | np.integer) or isinstance(window, bool):
        advice = "for a duration use replay with a model whose window is one"
        raise InvalidValue(unusable("window", window, "a number of rows", advice))
    s, penalty = whole("window", window, 1), non_negative("alpha", alpha)
    least = s if min_rows is None else whole("min_rows", min_rows, 1)
    if least > s:
        raise InvalidValue(unusable("min_rows", least, f"at most the window, {s}", "lower it"))
    intercept, inferred = truth("fit_intercept", fit_intercept), truth("stats", stats)
    if inferred and penalty > 0:
        advice = "pass alpha=0, or use predict_interval for a penalised model"
        raise InvalidValue(unusable("alpha", penalty, "0 where stats=True", advice))
    return _Job(s, penalty, intercept, least - 1, _asked(outputs, penalty), inferred)


def _asked(outputs: Any, penalty: float) -> frozenset[str]:
    if outputs is None:
        return frozenset(OUTPUTS) - ({"rank"} if penalty > 0 else set())
    names = [outputs] if isinstance(outputs, str) else list(outputs)
    for name in names:
        if name not in OUTPUTS:
            raise InvalidValue(unusable("outputs", name, f"some of {OUTPUTS}", "choose among them"))
    return frozenset(names)


def _layout(X: Matrix, y: Vector, groups: Any, skip: bool) -> _Layout:
    complete = ~(np.isnan(X).any(axis=1) | np.isnan(y)) if skip else None
    if complete is not None and complete.all():
        complete = None
    if groups is None and complete is None:
        return _Layout(X, y, np.array([0, len(y)]), None, None)
    order, starts = _sorted_groups(groups, len(y))
    alive = np.ones(len(y), dtype=bool) if complete is None else complete[order]
    seen = np.concatenate([[0], np.cumsum(alive)])  # complete rows before each place in the order
    base = np.repeat(seen[starts[:-1]], np.diff(starts))  # and before its group
    upto, before = np.empty(len(y), dtype=np.int64), np.empty(len(y), dtype=np.int64)
    for target, last in ((upto, seen[1:] - 1), (before, seen[:-1] - 1)):
        target[order] = np.where(last >= base, last, -1)
    kept = order if complete is None else order[alive]
    return _Layout(X.take(kept, axis=0), y.take(kept), seen[starts], upto, before)


def _sorted_groups(groups: Any, count: int) -> tuple[NDArray[np.intp], Ints]:
    """Rows in an order that brings groups together, and where each group starts in it."""
    if groups is None or count == 0:
        return np.arange(count), np.array([0, count])
    labels = _labels(groups, count)
    order = np.argsort(labels, kind="stable")
    ranked = labels[order]
    starts = np.flatnonzero(ranked[1:] != ranked[:-1]) + 1
    return order, np.concatenate([[0], starts, [count]])


def _labels(groups: Any, count: int) -> NDArray[Any]:
    """Labels that sort: as they are, or counted from 0."""
    labels = np.asarray(groups)
    if labels.shape != (count,):
        advice = "pass one label a row"
        raise InvalidValue(unusable("groups", labels.shape, f"the shape ({count},)", advice))
    if labels.dtype.kind in "iu":
        return _short(labels)
    if labels.dtype.kind in "bU" or (labels.dtype.kind == "M" and not np.isnat(labels).any()):
        return labels
    known: dict[Any, int] = {}
    codes = [known.setdefault(label, len(known)) for label in labels.tolist()]
    for label, code in known.items():
        if label is None or label != label:
            row = codes.index(code)
            text = unusable(f"groups[{row}]", label, "a label", "drop or name rows without a group")
            raise InvalidValue(text)
    return _short(np.array(codes, dtype=np.int64))


def _short(labels: NDArray[Any]) -> NDArray[Any]:
    """In 16 bits where they fit: those are sorted in linear time."""
    low, high = int(labels.min()), int(labels.max())
    return (labels - low).astype(np.uint16) if high - low < 2**16 else labels


def _regress(job: _Job, layout: _Layout, workers: int) -> _Windows:
    """The regressions at every complete row."""
    n, d = layout.X.shape
    if len(layout.bounds) == 2:
        return _solve(job, layout.X, layout.y)
    found = _Windows(
        np.empty((n, d)),
        np.empty(n),
        np.empty(n, np.int64) if "rank" in job.outputs else None,
        Inference(np.empty((n, d)), *(np.empty(n) for _ in range(3))) if job.stats else None,
    )

    def work(part: Sequence[int]) -> None:
        for a, b in pairwise(part):
            pieces = _arrays(_solve(job, layout.X[a:b], layout.y[a:b]))
            for target, piece in zip(_arrays(found), pieces, strict=True):
                target[a:b] = piece

    short = n < _SHORT * len(layout.bounds)
    shares = _shares(layout.bounds, 1 if short else workers)
    if len(shares) == 1:
        work(shares[0])
    else:
        with _one_blas_thread(), ThreadPoolExecutor(workers) as pool:
            list(pool.map(work, shares))
    return found


def _arrays(found: _Windows) -> list[NDArray[Any]]:
    return [a for a in (*found[:3], *(found.inference or ())) if a is not None]


def _solve(job: _Job, X: Matrix, y: Vector) -> _Windows:
    s, intercept, first = job.window, job.intercept, job.first
    slide = slide_standardized if job.standardize else slide_windows
    coef, level, rank = slide(X, y, s, job.alpha, intercept, first)
    inference = infer_windows(X, y, s, intercept, first, coef, level) if job.stats else None
    if "rank" not in job.outputs:
        return _Windows(coef, level, None, inference)
    if job.alpha > 0:
        rank = slide(X, y, s, 0.0, intercept, first)[2]
    rank[:first] = -1
    return _Windows(coef, level, rank, inference)


def _shares(bounds: Ints, workers: int) -> list[list[int]]:
    """Runs of groups with about the same number of rows, a few for each worker."""
    if workers == 1:
        return [bounds.tolist()]
    cuts = np.searchsorted(bounds, np.linspace(0, bounds[-1], 4 * workers + 1)[1:-1])
    edges = np.unique(np.concatenate([[0], cuts, [len(bounds) - 1]]))
    return [bounds[a : b + 1].tolist() for a, b in pairwise(edges)]


@cache
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _one_blas_thread() -> AbstractContextManager[Any]:
    """While groups share the cores, each computes on one."""
    limit: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limit


def _report(job: _Job, X: Matrix, layout: _Layout, found: _Windows) -> Rolling:
    """What was asked for, at the rows as they were given."""
    asked, here = job.outputs, None
    if asked & {"coef", "intercept", "fitted"} or job.stats:
        here = _taken(found.coef, layout.upto), _taken(found.level, layout.upto)
    return Rolling(
        coef=here[0] if here and "coef" in asked else None,
        intercept=here[1] if here and "intercept" in asked else None,
        rank=None if found.rank is None else _taken(found.rank, layout.upto),
        fitted=_values(X, *here) if here and "fitted" in asked else None,
        prediction=_predictions(X, layout.before, found) if "prediction" in asked else None,
        stats=_statistics(job, layout, found.inference, *here)
        if here and found.inference
        else None,
    )


def _statistics(
    job: _Job, layout: _Layout, found: Inference, coef: Matrix, level: Vector
) -> Statistics:
    nobs = _taken(_rows_in_windows(layout.bounds, job.window), layout.upto)
    nobs = np.where(np.isnan(level) | (nobs < 0), 0, nobs)
    here = Inference(*(_taken(values, layout.upto) for values in found))
    return statistics(coef, level, here, nobs, job.intercept)


def _rows_in_windows(bounds: Ints, window: int) -> Ints:
    """How many rows the window that ends at each complete row has."""
    since = np.repeat(bounds[:-1], np.diff(bounds))
    return np.asarray(np.minimum(np.arange(len(since)) - since + 1, window))


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
