"""``rolling``: the regression on every window of whole arrays or frames."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from efface.batch.groups import GroupedRows, RowArrays, group_rows, take_or_missing
from efface.batch.inference import Inference, RobustErrors, RobustVariances
from efface.batch.results import Rolling
from efface.batch.statistics import Statistics, statistics
from efface.batch.varying_windows import Regression, WindowFits, interval_after
from efface.batch.windows import Task, fit_windows, window_starts
from efface.errors import invalid
from efface.inputs.arrays import as_matrix, as_vector, as_weights, refuse_heavy
from efface.inputs.parameters import boolean, choice, non_negative, whole
from efface.inputs.roles import ColumnRoles, column_roles
from efface.inputs.times import as_times, kind_of
from efface.inputs.types import Ints, Matrix, Vector
from efface.live.half_life import as_half_life
from efface.live.policies import FIFD, Policy, as_policy
from efface.models.intervals import Method, MethodName, as_method
from efface.models.units import warn_of_uneven_features

Output = Literal["coef", "intercept", "rank", "fitted", "prediction", "residual", "error"]

_DEFAULT: tuple[Output, ...] = ("coef", "intercept", "rank", "fitted", "prediction")
RobustName = Literal["HC0", "HC1", "HC2", "HC3", "HAC"]
ROBUST: tuple[RobustName, ...] = ("HC0", "HC1", "HC2", "HC3", "HAC")  # in the engine's order
OUTPUTS: tuple[Output, ...] = (*_DEFAULT, "residual", "error")


def rolling(
    X: Any,
    y: Any,
    window: Any,
    *,
    alpha: float | Literal["auto"] = 0.0,
    fit_intercept: bool = True,
    min_rows: int | None = None,
    groups: Any = None,
    threads: int | None = None,
    missing: Literal["raise", "skip"] = "raise",
    outputs: Iterable[Output] | None = None,
    stats: bool | RobustName = False,
    lags: int | None = None,
    x: Any = None,
    by: Any = None,
    at: Any = None,
    interval: float | None = None,
    method: MethodName = "gaussian",
    lower: float | None = None,
    upper: float | None = None,
    sample_weight: Any = None,
    standardize: bool = False,
    one_hot: Any = None,
    halflife: Any = None,
) -> Rolling:
    """Fit a linear regression to the last ``window`` rows, at every row.

    ``alpha`` is the penalty of a ridge regression, or "auto" for that of ``AutoRidge``: selected by
    the rows of each window.

    ``window`` may also be a duration ("90d", "3mo", a timedelta, KeepFor), which needs the times
    ``at``: the window of row t then holds the rows younger than the duration at ``at[t]``. None is
    for all rows so far. A window needs ``min_rows`` rows for a result. The default is a full
    window; for durations and None it is the number of coefficients. A smaller value gives results
    earlier.

    ``groups``, or ``by``, holds one label per row. Every group has its own windows. Groups are
    distributed over ``threads`` threads (default: one per core). With ``missing="skip"`` a row
    with NaN is not learned and makes no other row leave; the coefficients carry over it.

    ``outputs`` names what to compute. The default is all but residual and error. The rank is a
    default only if ``alpha`` is 0, because with a penalty it costs a second pass. ``interval`` is
    the level of an interval around each prediction, computed by ``method`` as ``predict_interval``
    of a model fitted to the previous window does, and ends at the limits ``lower`` and ``upper``.

    ``stats=True`` adds standard errors, t- and p-values and R², for least squares only. "HC0" to
    "HC3" make the standard errors robust to noise of varying variance, "HAC" (Newey and West) also
    to noise that is correlated over up to ``lags`` rows, by default floor(4 (n / 100)^(2/9)) for n
    rows. The p-values are those of Student's t.

    ``halflife`` makes older rows count less: a row has the weight 2^(-age / halflife). Its age is
    the number of later rows of the window, or, if ``halflife`` is a duration ("30d"; a number
    beside a window of a duration), the time from it to the last row. Rows leave after 53
    half-lives, or earlier by the window.

    With ``standardize`` each window is fitted to features minus the window's mean, divided by its
    standard deviation. ``alpha`` and the rank refer to the standardised features, the coefficients
    to the original ones.

    ``sample_weight`` holds one weight per row. Windows count rows, not weights. The statistics
    assume noise of variance sigma^2 / weight.

    If X is a frame, ``y``, ``at``, ``sample_weight`` and ``groups`` may be column names (several
    for ``groups``), and ``x`` names the features (default: all other columns). ``one_hot`` names
    features that are encoded as 0/1 columns, one per level after the first ({"sector": levels} if
    levels are known). The results are then columns of the same kind.

    >>> rolling([[1.0], [2.0], [4.0]], [1.0, 3.0, 5.0], window=2).coef.ravel()
    array([nan,  2.,  1.])
    """
    robust = _robust_errors(stats, lags)
    stats = bool(stats)
    regression = _regression(alpha, fit_intercept, standardize, stats)
    policy, least = _policy(window, min_rows)
    fading = None
    if halflife is not None:
        fading, policy = as_half_life(halflife, policy)
        least = min(least, policy.rows) if isinstance(policy, FIFD) else least
    wanted = _wanted(outputs, regression.penalised)
    limits: Any = {"lower": lower, "upper": upper, "subject": "interval"}
    intervals = None if interval is None else as_method(interval, method, **limits)
    skip = choice("missing", missing, ("raise", "skip")) == "skip"
    workers = os.cpu_count() or 1 if threads is None else whole("threads", threads, 1)
    given = {"groups": _either(groups, by), "at": at, "sample_weight": sample_weight}
    roles = column_roles(X, x, one_hot, y=y, **given)
    rows = as_matrix(roles.X, missing=skip)
    if regression.alpha and not regression.standardize:
        warn_of_uneven_features("rolling", rows, depth=3)
    name = y if roles.features is not None and isinstance(y, str) else None
    responses = as_vector(roles.one("y"), len(rows), missing=skip, name=name)
    least = least or rows.shape[1] + regression.fit_intercept
    task = Task(policy, regression, least, "rank" in wanted, stats, robust, intervals, fading)
    grouped = _grouped(rows, responses, roles, skip, policy)
    fits = fit_windows(task, grouped, workers)
    result = _Report(task, rows, responses, grouped, fits).result(wanted)
    if roles.features is None:
        return result
    # ``rows`` is our own copy of the frame, and no longer needed: its memory is reused.
    return roles.features.convert(replace(result, keys=roles.keys), buffer=rows)


def _either(groups: Any, by: Any) -> Any:
    if groups is not None and by is not None:
        advice = "'by' and 'groups' mean the same: pass one of them"
        raise invalid("by", by, "None beside 'groups'", advice)
    return by if groups is None else groups


def _regression(
    alpha: object, fit_intercept: object, standardize: object, stats: bool
) -> Regression:
    auto = isinstance(alpha, str) and alpha == "auto"
    penalty = None if auto else non_negative("alpha", alpha, 'or "auto"')
    intercept, scaled = boolean("fit_intercept", fit_intercept), boolean("standardize", standardize)
    if stats and penalty != 0.0:
        advice = "pass alpha=0, or use predict_interval for a penalised model"
        raise invalid("alpha", alpha, "0 where stats=True", advice)
    if stats and scaled and not intercept:
        advice = "standardised features have no regression through the origin"
        expected = "True where stats and standardize are"
        raise invalid("fit_intercept", False, expected, advice)
    return Regression(penalty, intercept, scaled)


def _robust_errors(stats: object, lags: object) -> RobustErrors | None:
    """The robust standard errors that were asked for; None for those of constant variance."""
    if lags is not None and stats != "HAC":
        raise invalid("lags", lags, "None unless stats='HAC'", "leave it out")
    if isinstance(stats, bool | np.bool_):
        return None
    if stats not in ROBUST:
        raise invalid("stats", stats, f"True, False or one of {ROBUST}", "choose one")
    return RobustErrors(ROBUST.index(stats), -1 if lags is None else whole("lags", lags, 0))


def _policy(window: object, min_rows: object) -> tuple[Policy, int]:
    """When rows leave, and the minimum of rows; 0 for the number of coefficients."""
    if isinstance(window, int | np.integer) and not isinstance(window, bool):
        window = whole("window", window, 1)
    policy = as_policy(window)
    full = policy.rows if isinstance(policy, FIFD) else 0
    least = full if min_rows is None else whole("min_rows", min_rows, 1)
    if full and least > full:
        raise invalid("min_rows", least, f"at most the window, {full}", "lower it")
    return policy, least


def _wanted(outputs: Any, penalised: bool) -> frozenset[str]:
    if outputs is None:
        return frozenset(_DEFAULT) - ({"rank"} if penalised else set())
    names = [outputs] if isinstance(outputs, str) else list(outputs)
    for name in names:
        if name not in OUTPUTS:
            raise invalid("outputs", name, f"some of {OUTPUTS}", "choose among them")
    return frozenset(names)


def _grouped(X: Matrix, y: Vector, roles: ColumnRoles, skip: bool, policy: Policy) -> GroupedRows:
    at = roles.one("at")
    times = None if at is None else as_times(at, len(y))
    weights = as_weights(roles.one("sample_weight"), len(y))
    if weights is not None:
        refuse_heavy(X, y, weights)
    given = RowArrays(X, y, weights, times)
    policy.refuse_time(kind_of(times))
    return group_rows(given, roles.columns["groups"], at, skip=skip)


class _Report(NamedTuple):
    """The fits of the grouped rows, as results for the rows as they were given."""

    task: Task
    X: Matrix
    y: Vector
    grouped: GroupedRows
    fits: WindowFits

    def result(self, wanted: frozenset[str]) -> Rolling:
        """The outputs in ``wanted``; intervals and statistics if the task has them."""
        task, fits = self.task, self.fits
        found: dict[str, Any] = {"rank": self._at_row(fits.rank)}
        if task.stats or wanted & {"coef", "intercept", "fitted", "residual"}:
            found["coef"] = self._at_row(fits.coef)
            found["intercept"] = self._at_row(fits.intercept)
        if wanted & {"fitted", "residual"}:
            found["fitted"] = _evaluate(self.X, found["coef"], found["intercept"])
        if task.method or wanted & {"prediction", "error"}:
            found["prediction"] = self._predictions()
        result: dict[str, Any] = dict.fromkeys(OUTPUTS)
        result |= {name: values for name, values in found.items() if name in wanted}
        if "residual" in wanted:
            result["residual"] = self.y - found["fitted"]
        if "error" in wanted:
            result["error"] = self.y - found["prediction"]
        if task.method:
            result["lower"], result["upper"] = self._intervals(task.method, found["prediction"])
        if task.stats:
            result["stats"] = self._statistics(found["coef"], found["intercept"])
        if task.rank:
            result["singular"] = (found["rank"] >= 0) & (found["rank"] < self.X.shape[1])
        return Rolling(**result)

    def _at_row(self, values: Any) -> Any:
        """Values of the window that ends at each given row."""
        return None if values is None else take_or_missing(values, self.grouped.upto)

    def _predictions(self) -> Vector:
        """Each row, by the window that ends before it."""
        X, before, fits = self.X, self.grouped.before, self.fits
        if before is not None:
            coef, intercept = (take_or_missing(a, before) for a in (fits.coef, fits.intercept))
            return _evaluate(X, coef, intercept)
        predictions = np.full(len(X), np.nan)
        predictions[1:] = _evaluate(X[1:], fits.coef[:-1], fits.intercept[:-1])
        return predictions

    def _intervals(self, method: Method, prediction: Vector) -> tuple[Vector, Vector]:
        """Bounds of the predictions; those of skipped rows are computed one by one."""
        rows, _, upto, before = self.grouped
        lower, upper = self._at_row(self.fits.lower), self._at_row(self.fits.upper)
        if upto is not None and before is not None:
            starts = self._starts()
            for t in np.flatnonzero((upto == before) & ~np.isnan(prediction)):
                window = rows.at(slice(starts[before[t]], before[t] + 1))
                way = self.task.regression, method, self.task.halflife
                lower[t], upper[t] = interval_after(self.X[t], window, *way)
        for bound in (lower, upper):
            bound[np.isnan(prediction)] = np.nan
        return lower, upper

    def _starts(self) -> Ints:
        return window_starts(self.task.policy, self.grouped.rows, self.grouped.bounds)

    def _statistics(self, coef: Matrix, intercept: Vector) -> Statistics:
        assert self.fits.inference is not None
        nobs = self._at_row(_weighted_rows(self.grouped.rows, self._starts()))
        nobs = np.where(np.isnan(intercept) | (nobs < 0), 0, nobs)
        inference = Inference(*map(self._at_row, self.fits.inference))
        robust = None
        if self.fits.robust is not None:
            robust = RobustVariances(*map(self._at_row, self.fits.robust))
        fit_intercept = self.task.regression.fit_intercept
        return statistics(coef, intercept, inference, nobs, fit_intercept, robust)


def _weighted_rows(rows: RowArrays, starts: Ints) -> Ints:
    """The number of rows with a positive weight in the window that ends at each row."""
    if rows.weights is None:
        return np.asarray(np.arange(1, starts.size + 1) - starts)
    count = np.concatenate([[0], np.cumsum(rows.weights > 0.0)])
    return np.asarray(count[1:] - count[starts])


def _evaluate(X: Matrix, coef: Matrix, intercept: Vector) -> Vector:
    return np.asarray(np.einsum("ij,ij->i", X, coef) + intercept)
