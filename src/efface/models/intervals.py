"""Prediction intervals for the response of a new row, computed from the live rows alone.

===============  ===================================================================================
gaussian         exact for least squares and Gaussian noise; with a penalty, see ``Gaussian``
self-normalized  for sub-Gaussian noise, simultaneous over all rows of features: valid and wide
conformal        for noise of any distribution; adapts to a slowly drifting target
local            for noise whose spread varies with the row and over time; adapts to drift
===============  ===================================================================================

No residuals are stored. A row that has left influences no interval: neither by a residual computed
while it was alive, nor by a fit that such a residual came from.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, NamedTuple, Self, final

import numpy as np
from numpy.polynomial import Chebyshev
from scipy.special import stdtrit

from efface.core import core
from efface.errors import invalid
from efface.inputs.frames import FrameColumns
from efface.inputs.parameters import finite, probability
from efface.inputs.types import Matrix, Vector
from efface.live.live_rows import LiveRows
from efface.live.range_replay import RangeReplay, RowRanges
from efface.live.solver import Solver
from efface.live.trace import Asked, Gauges, RowWindows

MethodName = Literal["gaussian", "self-normalized", "conformal", "local"]
DEFAULT_METHOD: Final = "local"  # wherever a method may be left out

_TINY = np.finfo(np.float64).tiny
_ONE = 1.0 - 1e-9  # degree of freedom, up to rounding
# Conformal intervals.
_TAIL = 20  # scores above the quantile; at most as many are used as this needs
_PACE = 5  # consecutive misses that reduce alpha to 0
_SHARE = 3  # the newest third of the rows give scores; the older rows are learned first
# Local intervals. Of a large window the newest rows are used: at least so many,
_ROWS = 1_000
_PER_FEATURE = 10  # so many per feature,
_PER_TAIL = 20  # and so many per 1 - level
_LEAST_FREEDOM = 1.5  # degrees of freedom per 1 - level; with fewer, gaussian intervals
_WIDEST = 10.0  # largest errors of a live row: what is wider has a reason
# Student quantiles by interpolation: its relative error is at most 1e-12 in this range.
_MANY = 256  # quantiles, from which on interpolation is faster
_LOWEST, _RATIO, _DEGREE = 10.0, 1.25, 12  # least freedom, largest over least, Chebyshev degree


@dataclass(frozen=True)
class Limits:
    """Limits that no response can exceed, such as 0 for counts; None where there is none.

    >>> Limits(lower=0.0).bound(np.array([-1.0, 2.0]))
    array([0., 2.])
    """

    lower: float | None = None
    upper: float | None = None

    def bound(self, values: Vector) -> Vector:
        """Predictions, or ends of intervals, within the limits."""
        if self.lower is None and self.upper is None:
            return values
        return np.asarray(np.clip(values, self.lower, self.upper))


class IntervalChoice(NamedTuple):
    """What callers of ``predict_interval`` choose; ``as_method`` checks it."""

    level: float = 0.95
    method: MethodName = DEFAULT_METHOD
    lower: float | None = None
    upper: float | None = None


class _Triple(NamedTuple):
    prediction: Vector
    lower: Vector
    upper: Vector


@final
class Interval(_Triple):
    """(prediction, lower, upper), and the ``reason`` if a bound is infinite or very far.

    >>> Interval(np.zeros(1), -np.ones(1), np.ones(1)).reason is None
    True
    """

    reason: str | None

    def __new__(
        cls, prediction: Vector, lower: Vector, upper: Vector, reason: str | None = None
    ) -> Self:
        interval = super().__new__(cls, prediction, lower, upper)
        interval.reason = reason
        return interval

    def as_columns(self, frame: FrameColumns) -> Interval:
        """The same as columns of the frame's kind."""
        prediction, lower, upper = (frame.series(*each) for each in self._asdict().items())
        return Interval(prediction, lower, upper, self.reason)


@dataclass(frozen=True)
class Method(ABC):
    """A method that computes intervals of the coverage ``level``.

    Responses are known to lie within the limits: predictions and intervals do so too.
    """

    level: float
    limits: Limits = Limits()
    name: ClassVar[str]
    needs_coef: ClassVar[bool] = False  # does it need the coefficients of replayed rows?

    @property
    def alpha(self) -> float:
        """The allowed share of responses outside the interval."""
        return 1.0 - self.level

    @abstractmethod
    def widths(self, gauges: Gauges, live: LiveRows, windows: RowWindows) -> Vector:
        """Half the width of each interval; infinite if there are too few rows."""

    def bounds(
        self, prediction: Vector, gauges: Gauges, live: LiveRows, windows: RowWindows
    ) -> tuple[Vector, Vector]:
        """The ends of each interval, within the limits."""
        half = self.widths(gauges, live, windows)
        return self.limits.bound(prediction - half), self.limits.bound(prediction + half)

    def shortage(self, gauges: Gauges, live: LiveRows) -> str | None:
        """Why the live rows are too few; None if they are enough."""
        if (_freedom(gauges, live) >= _ONE).all():
            return None
        d = live.shape[0]
        return f"for d = {d} and this penalty, no degree of freedom is left for the noise"

    def around(self, live: LiveRows, X: Matrix) -> Interval:
        """The intervals of new rows X."""
        gauges, coef, intercept = live.solver.gauge(X), live.solver.coef, live.solver.intercept
        windows = RowWindows.alike(*live.values(), X)
        if live.fading is not None:
            windows = windows._replace(halvings=live.fading.halvings())
        if self.needs_coef:
            fits = np.tile(coef, (len(X), 1)), np.full(len(X), intercept)
            windows = windows._replace(coef=fits[0], intercept=fits[1])
        prediction, half = X @ coef + intercept, self.widths(gauges, live, windows)
        reason = None if np.isfinite(half).all() else self._reason(gauges, live)
        reason = reason or self.remark(half, gauges, windows)
        return self.interval(prediction, half, reason)

    def interval(self, prediction: Vector, half: Vector, reason: str | None) -> Interval:
        """Intervals of half these widths, within the limits."""
        bound = self.limits.bound
        return Interval(
            bound(prediction), bound(prediction - half), bound(prediction + half), reason
        )

    def remark(self, half: Vector, gauges: Gauges, windows: RowWindows) -> str | None:
        """Why a finite interval is wider than the errors of the live rows suggest."""
        return None

    def _reason(self, gauges: Gauges, live: LiveRows) -> str:
        n, lost = len(live.index), np.isinf(gauges.leverage)
        text = "no row is alive" if n == 0 else self.shortage(gauges, live)
        if text is None and lost.any():
            return (
                f"Row {lost.argmax()} of X lies outside the span of the {n} live rows, which do "
                "not determine its prediction: use a model with a penalty, or keep more rows."
            )
        text = text or "too many lie outside the span of those before them"
        return f"The live rows, {n}, are too few for {self.name} intervals: {text}."


def _freedom(g: Gauges, live: LiveRows) -> Vector:
    """A lower bound of the degrees of freedom tr (I - H)^2, H the hat matrix.

    Without a penalty it is n - rank, exactly. With one, rows of equal scatter s in all
    r = min(n, d) directions have n - r + r (penalty / (s + penalty))^2; other rows of the same
    total scatter have more, by Jensen's inequality.
    """
    n, r = g.n_rows - live.intercept, _directions(g, live)
    kept = (g.penalty / np.maximum(_mean_scatter(g, live) + g.penalty, _TINY)) ** 2
    return np.asarray(np.where(g.n_rows > 0, n - r + r * kept, 0.0))


def _mean_scatter(g: Gauges, live: LiveRows) -> Vector:
    """The mean of the eigenvalues of Phi that can differ from 0."""
    r = _directions(g, live)
    return np.where(r > 0, g.scatter, 0.0) / np.maximum(r, 1)


def _directions(g: Gauges, live: LiveRows) -> Vector:
    """How many eigenvalues of Phi can differ from 0."""
    most = np.minimum(g.n_rows - live.intercept, live.shape[0])
    return np.where(g.penalty > 0.0, most, g.rank)


def noise_level(g: Gauges, live: LiveRows) -> Vector:
    """The standard deviation of the noise; infinite below one degree of freedom.

    The sum of squared residuals over tr (I - H)^2. This is unbiased for least squares. With a
    penalty the residuals also contain the bias of the fit, so the estimate is too large on average.
    """
    freedom = _freedom(g, live)
    enough = freedom >= _ONE
    squares = np.where(enough, g.unexplained, np.inf) / np.where(enough, freedom, 1.0)
    return np.asarray(np.sqrt(squares))


@final
class Gaussian(Method):
    """prediction +- t s sqrt(1 + h): t Student's quantile, s the noise level, h the leverage.

    A live row of weight w has noise of variance sigma^2 / w; the new row has weight 1.

    Assumes: independent Gaussian noise of constant variance, independent of the features. Exact
    for least squares then, on windows of any rank.

    With a penalty, sigma^2 h = sigma^2 x' (Phi + penalty I)^-1 x is the variance plus the squared
    bias of the prediction, averaged over coefficients drawn from N(0, sigma^2 / penalty). For other
    coefficients the bias can be larger at a single row; its average over rows is in the residuals,
    hence in s. The interval is exact in the limit of a small penalty, and too wide before. With
    fewer rows than features the penalty must be large enough to leave residuals.
    """

    name = "gaussian"

    def widths(self, gauges: Gauges, live: LiveRows, windows: RowWindows) -> Vector:
        freedom = _freedom(gauges, live)
        quantile = student_quantiles(np.where(freedom >= _ONE, freedom, np.nan), self.alpha / 2)
        return _times(quantile * noise_level(gauges, live), np.sqrt(1.0 + gauges.leverage))


@final
class SelfNormalized(Method):
    """The self-normalised bound on the fit plus a sub-Gaussian bound on the new row's noise.

    |x' (theta_hat - theta*)| <= (sigma sqrt(log det(I + Phi / lam) + 2 log(1 / delta))
    + sqrt(lam) |theta*|) ||x||_{(Phi + lam I)^-1}, delta = (1 - level) / 2, where the determinant
    is bounded by the trace: r log(1 + tr Phi / (r lam)). For least squares lam is tr Phi / r, which
    only the proof uses, and there is no bias. The noise of the new row gets the other half of
    1 - level: sigma sqrt(2 log(2 / delta)).

    Assumes: sigma-sub-Gaussian noise, independent of the features and of the penalty. Holds for all
    x simultaneously. sigma and |theta*| are estimated: by s of ``Gaussian``, and by the norm of the
    coefficients divided by their mean shrinkage. For known values see
    ``efface.theory.self_normalized_radius``.
    """

    name = "self-normalized"

    def widths(self, gauges: Gauges, live: LiveRows, windows: RowWindows) -> Vector:
        g, delta, sigma = gauges, self.alpha / 2, noise_level(gauges, live)
        scatter, n = _mean_scatter(g, live), np.where(g.n_rows > 0, g.total_weight, 1.0)
        penalised = g.penalty > 0.0
        lam = np.where(penalised, g.penalty, scatter)
        volume = _directions(g, live) * np.log1p(scatter / np.maximum(lam, _TINY))
        away = g.leverage - live.intercept / n
        away = np.where(penalised, away, away + lam * g.image_square)
        undone = (scatter + lam) / np.maximum(scatter, _TINY)
        bias = np.where(penalised & (scatter > 0.0), np.sqrt(lam * g.size) * undone, 0.0)
        radius = sigma * np.sqrt(volume - 2 * math.log(delta)) + bias
        noise = sigma * np.sqrt((1 + live.intercept / n) * 2 * math.log(2 / delta))
        return noise + _times(radius, np.sqrt(np.maximum(away, 0.0)))


@final
class Conformal(Method):
    """Adaptive conformal inference over the live rows, each predicted by the rows before it.

    A new model of the same kind learns the live rows in order. The scores are the absolute errors
    on the newest third of the rows, divided by sqrt(1 / w + h), w the weight and h the leverage of
    the row (for least squares: recursive residuals). With a half-life the older rows have faded as
    they had when a row came, and w is the weight that was given. The level adapts to the scores as
    in Gibbs and Candes (2021), alpha_j+1 = alpha_j + gamma (alpha - missed_j). The interval is the
    quantile of the scores at the last level, at most the largest score.

    Assumes: scores exchangeable with the score of the new row, as those of least squares with
    Gaussian noise are. Coverage then holds on average over windows, up to the interpolation between
    two scores; with other noise it holds approximately. At least about 1 / (1 - level) scores are
    needed and at most 20 / (1 - level) are used. One interval costs a replay of as many rows.
    """

    name = "conformal"

    def widths(self, gauges: Gauges, live: LiveRows, windows: RowWindows) -> Vector:
        bounds = np.column_stack([windows.first, windows.last])
        changed = (np.diff(bounds, axis=0, prepend=-1) != 0).any(axis=1)
        quantiles = [
            self._quantile(live.solver, *window)
            for window, new in zip(windows.each(), changed, strict=True)
            if new
        ]
        found = np.array(quantiles)[np.cumsum(changed) - 1]
        return _times(found, np.sqrt(1.0 + gauges.leverage))

    def shortage(self, gauges: Gauges, live: LiveRows) -> str | None:
        if int((live.solver.own_weights > 0.0).sum()) // _SHARE >= self._needed:
            return None
        least = _SHARE * self._needed
        return f"level {self.level:g} needs {least}, of which the newest third give scores"

    @property
    def _needed(self) -> int:
        """The least number of scores for a finite quantile at this level."""
        return math.ceil(round(1.0 / self.alpha - 1.0, 9))

    def _quantile(
        self, solver: Solver, X: Matrix, y: Vector, weights: Vector, halvings: Vector | None
    ) -> float:
        counts = weights > 0.0
        m = min(int(counts.sum()) // _SHARE, math.ceil(_TAIL / self.alpha))
        if m < self._needed:
            return math.inf
        left = None if halvings is None else halvings[counts]
        scores = _scores(solver, (X[counts], y[counts], weights[counts]), left, m)
        return adapted_quantile(scores.tolist(), self.alpha, self.alpha / _PACE)


def _scores(
    solver: Solver, rows: tuple[Matrix, Vector, Vector], halvings: Vector | None, count: int
) -> Vector:
    """Scores of the last ``count`` rows, without those whose prediction is not determined."""
    _, y, weights = rows
    first, n = len(y) - count, len(y)
    windows = RowRanges(*rows, np.zeros(count, np.int64), np.arange(first, n), halvings)
    wanted = Asked(coef=False, diagnostics=False, gauges=True)
    trace = RangeReplay(solver).replay(windows, wanted)
    leverage = trace.gauges.leverage if trace.gauges is not None else np.zeros(count)
    scores = np.abs(y[first:] - trace.prediction) / np.sqrt(1.0 / weights[first:] + leverage)
    return np.asarray(scores[np.isfinite(leverage)])


def adapted_quantile(scores: Iterable[float], alpha: float, gamma: float) -> float:
    """The quantile of the scores at the level that adapts to them in order.

    The level starts at ``alpha`` and changes by gamma (alpha - missed) after each score, where
    missed is 1 if the score exceeds the quantile of the scores before it (Gibbs and Candes, 2021).
    The quantile is infinite for fewer than 1 / alpha - 1 scores.

    >>> scores = range(1, 10)
    >>> adapted_quantile(scores, 0.05, 0.0), round(adapted_quantile(scores, 0.5, 0.0), 9)
    (inf, 5.0)
    """
    ordered: list[float] = []
    level = alpha
    for score in scores:
        if (len(ordered) + 1) * alpha >= 1.0:
            missed = score > _quantile(ordered, level)
            level += gamma * (alpha - missed)
        insort(ordered, score)
    enough = (len(ordered) + 1) * alpha >= 1.0 - 1e-9
    return float(_quantile(ordered, level)) if enough else math.inf


def _quantile(ordered: Sequence[float], level: float) -> float:
    """The (count + 1) (1 - level)-th smallest score, interpolated."""
    last = len(ordered) - 1
    place = min(max((last + 2) * (1.0 - level) - 1.0, 0.0), float(last))
    below = int(place)
    above = min(below + 1, last)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


@final
class Local(Method):
    """prediction +- q s(x) sqrt(1 + h): s(x) the local spread of the noise, h the leverage.

    The spread is a second regression, with the penalty that ``AutoRidge`` selects: of the absolute
    errors of the live rows, in logarithms, on the features, the distance of the prediction from the
    mean, the age of the row and the mean of the errors just before it. q is the quantile of the
    errors divided by their spreads, each without the row itself (cpp/window/local_spread.hpp).
    Where errors grow towards the ends of the window, as those of drifting coefficients do, s(x) is
    larger by as much.

    Assumes: errors divided by their spreads that are alike, in distribution, for the live rows and
    the new one. Of more than 1,000 rows (or 20 / (1 - level), or 10 per feature) the newest are
    used. A row of weight w counts w times; half-lives are weights. With less than 1.5 / (1 - level)
    degrees of freedom the interval is ``Gaussian``.
    """

    name = "local"
    needs_coef = True

    def widths(self, gauges: Gauges, live: LiveRows, windows: RowWindows) -> Vector:
        half, freedom = Gaussian(self.level).widths(gauges, live, windows), _freedom(gauges, live)
        at = np.flatnonzero(freedom >= round(_LEAST_FREEDOM / self.alpha, 9) - 1e-6)
        if at.size:
            share = 1.0 - _used(gauges, live)[at] / gauges.n_rows[at]
            found, largest = self._spreads(windows.at(at), 1.0 / np.sqrt(share))
            found = np.minimum(found, _WIDEST * largest)
            half[at] = _times(found, np.sqrt(1.0 + gauges.leverage[at]))
        return half

    def _spreads(self, windows: RowWindows, factor: Vector) -> tuple[Vector, Vector]:
        """Half of each interval for a leverage of 0, and the largest error of its live rows."""
        X, y, weights, first, last, new, coef, intercept, halvings = windows
        rows = X, y, weights, halvings, first, last, new, coef, intercept
        half, largest = core.local_widths(*rows, factor, self._most(X.shape[1]), self.alpha)
        return half, largest

    def _most(self, d: int) -> int:
        """How many of the newest rows take part."""
        return max(_ROWS, _PER_FEATURE * d, math.ceil(round(_PER_TAIL / self.alpha, 9)))

    def remark(self, half: Vector, gauges: Gauges, windows: RowWindows) -> str | None:
        X, y, weights, _, _, _, coef, intercept, _ = windows
        if coef is None or intercept is None or not len(coef) or not (weights > 0.0).any():
            return None
        errors = np.abs(y - X @ coef[0] - intercept[0])[weights > 0.0]
        far = np.flatnonzero(half > _WIDEST * errors.max())
        if not far.size or not errors.max():
            return None
        row, times = far[0], half[far[0]] / errors.max()
        return (
            f"Half the interval of row {row} of X is {times:.3g} times the largest error of a live "
            f"row: it lies far from the live rows, at a leverage of {gauges.leverage[row]:.3g}."
        )


def _used(g: Gauges, live: LiveRows) -> Vector:
    """An upper bound of the degrees of freedom that the fit uses, tr H: see ``_freedom``."""
    kept = g.penalty / np.maximum(_mean_scatter(g, live) + g.penalty, _TINY)
    return np.asarray(live.intercept + _directions(g, live) * (1.0 - kept))


def student_quantiles(freedom: Vector, beyond: float) -> Vector:
    """Upper quantiles of Student's t; interpolated if there are many of nearly equal freedom."""
    low, high = freedom.min(initial=np.inf), freedom.max(initial=0.0)
    if freedom.size < _MANY or not _LOWEST <= low < high <= _RATIO * low:
        return np.asarray(-stdtrit(freedom, beyond))
    return Chebyshev.interpolate(lambda v: -stdtrit(v, beyond), _DEGREE, [low, high])(freedom)


def _times(half: Vector, factor: Vector) -> Vector:
    """The product; infinite instead of NaN."""
    with np.errstate(invalid="ignore"):
        wide = half * factor
    return np.asarray(np.where(np.isnan(wide), np.inf, wide))


METHODS: tuple[type[Method], ...] = (Gaussian, SelfNormalized, Conformal, Local)


def as_method(
    level: object,
    method: object,
    lower: object = None,
    upper: object = None,
    *,
    subject: str = "level",
) -> Method:
    """The method of this name; ``subject`` is the caller's name of the level, for errors.

    >>> as_method(0.9, "conformal", lower=0)
    Conformal(level=0.9, limits=Limits(lower=0.0, upper=None))
    """
    limits = as_limits(lower, upper)
    for kind in METHODS:
        if kind.name == method:
            return kind(probability(subject, level), limits)
    names = ", ".join(repr(kind.name) for kind in METHODS)
    raise invalid("method", method, f"one of {names}", "choose one")


def as_limits(lower: object, upper: object) -> Limits:
    """Limits of the response; None where there is none."""
    least = None if lower is None else finite("lower", lower)
    most = None if upper is None else finite("upper", upper)
    if least is not None and most is not None and not least < most:
        raise invalid("lower", lower, f"less than 'upper', {upper}", "exchange them")
    return Limits(least, most)
