"""Intervals for the response of a row that comes next, from the live rows alone.

===============  ===================================================================================
gaussian         exact for least squares and Gaussian noise; with a penalty, see ``Gaussian``
self-normalized  for sub-Gaussian noise, all rows of features at once: valid and wide
conformal        for noise of any shape; follows a target that drifts, up to a point
===============  ===================================================================================

Nothing is stored for them. A row that has left has no part in any: not by a residual from the time
when it lived, and not by the fit that such a residual was measured from.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Self, final

import numba
import numpy as np
from numpy.polynomial import Chebyshev
from scipy.special import stdtrit

from efface.engine.jit.compilation import KERNEL
from efface.engine.jit.views import Matrix, Vector
from efface.errors import InvalidValue, unusable
from efface.inputs.frames import FrameColumns
from efface.inputs.parameters import probability
from efface.live.live_rows import LiveRows, Windows
from efface.live.memory import Memory
from efface.live.trace import Gauges

MethodName = Literal["gaussian", "self-normalized", "conformal"]

_BEYOND = 20  # scores that are wanted beyond the quantile; more are not looked at
_TINY = np.finfo(np.float64).tiny
_ENOUGH = 1.0 - 1e-9  # degrees of freedom, however 1 is rounded
_PACE = 5  # misses, one after the other, that take alpha to 0
_MANY = 256  # quantiles of Student's t
_LOWEST, _NEARLY, _DEGREE = 10.0, 1.25, 12  # freedom, its largest over its least: 1e-12 at worst
_SHARE = 3  # one row in so many, the newest, gives a score: the others are there to be learned


class _Triple(NamedTuple):
    prediction: Vector
    lower: Vector
    upper: Vector


@final
class Interval(_Triple):
    """(prediction, lower, upper), and the reason if some of it is infinite.

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

    def of_kind(self, table: FrameColumns) -> Interval:
        """The same as columns of a frame's kind."""
        prediction, lower, upper = (table.series(*each) for each in self._asdict().items())
        return Interval(prediction, lower, upper, self.reason)


@dataclass(frozen=True)
class Method(ABC):
    """A way to half the width of an interval; ``level`` is how much it is to cover."""

    level: float
    name: ClassVar[str]

    @property
    def alpha(self) -> float:
        """How much may be missed."""
        return 1.0 - self.level

    @abstractmethod
    def widths(self, gauges: Gauges, live: LiveRows, windows: Windows) -> Vector:
        """Half the width around each prediction; infinite where the rows are too few."""

    @abstractmethod
    def shortage(self, gauges: Gauges, live: LiveRows) -> str | None:
        """What the live rows are too few for, if they are."""

    def around(self, live: LiveRows, X: Matrix) -> Interval:
        """The intervals of rows that may come next."""
        gauges = live.memory.gauge(X)
        prediction = X @ live.memory.coef + live.memory.intercept
        half = self.widths(gauges, live, [(*live.memory.rows(), live.memory.weights)])
        reason = None if np.isfinite(half).all() else self._reason(gauges, live)
        return Interval(prediction, prediction - half, prediction + half, reason)

    def _reason(self, gauges: Gauges, live: LiveRows) -> str:
        n, lost = live.memory.n_rows, np.isinf(gauges.reach)
        text = "no row is alive" if n == 0 else self.shortage(gauges, live)
        if text is None and lost.any():
            return (
                f"Row {lost.argmax()} of X lies outside the span of the {n} live rows, which do "
                "not determine its prediction: use a model with a penalty, or keep more rows."
            )
        text = text or "too many lie outside the span of those before them"
        return f"The live rows, {n}, are too few for {self.name} intervals: {text}."


def _no_residual(gauges: Gauges, live: LiveRows) -> str | None:
    """Why the noise cannot be estimated, if so."""
    if (_freedom(gauges, live) >= _ENOUGH).all():
        return None
    return f"for d = {live.shape[0]} and this penalty, their residuals do not tell the noise"


def _freedom(g: Gauges, live: LiveRows) -> Vector:
    """tr (I - H)^2, H being the matrix that makes fitted values of responses, or a little less.

    Without a penalty n - rank. With one, rows of equal scatter s in all r = min(n, d) directions
    have n - r + r (penalty / (s + penalty))^2, and others of the same total more (Jensen).
    """
    n, d = g.n_rows - live.intercept, live.shape[0]
    r = np.where(g.penalty > 0.0, np.minimum(n, d), g.rank)
    kept = (g.penalty / np.maximum(_mean_scatter(g, live) + g.penalty, _TINY)) ** 2
    return np.asarray(np.where(g.n_rows > 0, n - r + r * kept, 0.0))


def _mean_scatter(g: Gauges, live: LiveRows) -> Vector:
    """The mean eigenvalue of Phi, of those that need not be 0."""
    n = np.minimum(g.n_rows - live.intercept, live.shape[0])
    r = np.where(g.penalty > 0.0, n, g.rank)
    return np.where(r > 0, g.scatter, 0.0) / np.maximum(r, 1)


def noise_level(g: Gauges, live: LiveRows) -> Vector:
    """The noise's standard deviation from the residuals; infinite below one degree of freedom.

    Their squares over tr (I - H)^2: without bias for least squares; with a penalty the bias of the
    fit is in the residuals too, so that the estimate errs to the safe side.
    """
    freedom = _freedom(g, live)
    enough = freedom >= _ENOUGH
    squares = np.where(enough, g.unexplained, np.inf) / np.where(enough, freedom, 1.0)
    return np.asarray(np.sqrt(squares))


@final
class Gaussian(Method):
    """prediction +- t s sqrt(1 + h): Student's t, s the noise's estimate, h the row's leverage.

    A live row of weight w has noise of variance sigma^2 / w; the row to come weighs 1.

    Holds: exactly for least squares with independent Gaussian noise of one variance, independent of
    the features, on windows of any rank.

    With a penalty, sigma^2 h = sigma^2 x' (Phi + penalty I)^-1 x is the variance and the squared
    bias of the prediction together, averaged over coefficients drawn from N(0, sigma^2 / penalty).
    For others the bias can be larger at a single row; on average over rows it is in the residuals,
    hence in s. Exact as the penalty becomes small, and on the wide side before. Fewer rows than
    features need a penalty that keeps some of their residuals.
    """

    name = "gaussian"

    def widths(self, gauges: Gauges, live: LiveRows, windows: Windows) -> Vector:
        freedom = _freedom(gauges, live)
        quantile = student_quantiles(np.where(freedom >= _ENOUGH, freedom, np.nan), self.alpha / 2)
        return _times(quantile * noise_level(gauges, live), np.sqrt(1.0 + gauges.reach))

    def shortage(self, gauges: Gauges, live: LiveRows) -> str | None:
        return _no_residual(gauges, live)


@final
class SelfNormalized(Method):
    """The self-normalised bound on the fit, and a sub-Gaussian one on the noise to come.

    |x' (theta_hat - theta*)| <= (sigma sqrt(log det(I + Phi / lam) + 2 log(1 / delta))
    + sqrt(lam) |theta*|) ||x||_{(Phi + lam I)^-1}, delta = (1 - level) / 2, where the determinant
    is bounded by the trace: r log(1 + tr Phi / (r lam)). For least squares lam is tr Phi / r, a
    device of the proof alone, and there is no bias. The noise to come has the other half of what
    may be missed, sigma sqrt(2 log(2 / delta)).

    Holds: for sigma-sub-Gaussian noise, independent of the features and of the penalty, and all x
    at once. sigma and |theta*| are estimated: s of ``Gaussian``, and the length of the coefficients
    with their mean shrinkage undone. For known ones see ``ellipsoids.self_normalized_radius``.
    """

    name = "self-normalized"

    def widths(self, gauges: Gauges, live: LiveRows, windows: Windows) -> Vector:
        g, delta, sigma = gauges, self.alpha / 2, noise_level(gauges, live)
        scatter, n = _mean_scatter(g, live), np.where(g.n_rows > 0, g.heft, 1.0)
        penalised = g.penalty > 0.0
        lam = np.where(penalised, g.penalty, scatter)
        r = np.where(penalised, np.minimum(g.n_rows - live.intercept, live.shape[0]), g.rank)
        volume = r * np.log1p(scatter / np.maximum(lam, _TINY))
        away = g.reach - live.intercept / n
        away = np.where(penalised, away, away + lam * g.stretch)
        undone = (scatter + lam) / np.maximum(scatter, _TINY)
        bias = np.where(penalised & (scatter > 0.0), np.sqrt(lam * g.size) * undone, 0.0)
        radius = sigma * np.sqrt(volume - 2 * math.log(delta)) + bias
        noise = sigma * np.sqrt((1 + live.intercept / n) * 2 * math.log(2 / delta))
        return noise + _times(radius, np.sqrt(np.maximum(away, 0.0)))

    def shortage(self, gauges: Gauges, live: LiveRows) -> str | None:
        return _no_residual(gauges, live)


@final
class Conformal(Method):
    """Adaptive conformal inference over the live rows, each predicted by those before it.

    A fresh model of the same kind learns the live rows in their order. What it misses each of the
    newest third by, over sqrt(1 / w + h) as rows with leverage, or of little weight w, are missed
    by more, are the scores (for least squares: recursive residuals). The level follows them as
    Gibbs and Candes have it, alpha_j+1 = alpha_j + gamma (alpha - missed_j), and the last one picks
    the quantile of the scores: never beyond the largest.

    Holds: on average over windows, for scores that are exchangeable with the next one, as those of
    least squares with Gaussian noise are; nearly so with other noise, and up to the interpolation
    between two scores. Needs about 1 / (1 - level) scores and looks at
    20 / (1 - level) at most. One interval costs a replay of as many rows.
    """

    name = "conformal"

    def widths(self, gauges: Gauges, live: LiveRows, windows: Windows) -> Vector:
        scratch = live.scratch()
        quantiles = [self._quantile(scratch, *window) for window in windows]
        scratch.rebuild()
        return _times(np.array(quantiles), np.sqrt(1.0 + gauges.reach))

    def shortage(self, gauges: Gauges, live: LiveRows) -> str | None:
        if int((live.memory.weights > 0.0).sum()) // _SHARE >= self._needed:
            return None
        least = _SHARE * self._needed
        return f"level {self.level:g} needs {least}, of which the newest third give scores"

    @property
    def _needed(self) -> int:
        """Scores below which no quantile of them will do."""
        return math.ceil(round(1.0 / self.alpha - 1.0, 9))

    def _quantile(self, scratch: Memory, X: Matrix, y: Vector, weights: Vector) -> float:
        heard = weights > 0.0
        m = min(int(heard.sum()) // _SHARE, math.ceil(_BEYOND / self.alpha))
        if m < self._needed:
            return math.inf
        scores = _scores(scratch, X[heard], y[heard], weights[heard], m)
        return float(adapted_quantile(scores, self.alpha, self.alpha / _PACE))


def _scores(scratch: Memory, X: Matrix, y: Vector, weights: Vector, count: int) -> Vector:
    """How far the last ``count`` rows lie from what those before them say; not where it is mute."""
    first, none = len(y) - count, np.zeros(count, np.int64)
    scratch.extend(X[:first], y[:first], weights[:first])
    wanted = {"coef": False, "diagnostics": False, "gauges": True}
    trace = scratch.replay(X[first:], y[first:], none, none, **wanted, weights=weights[first:])
    scratch.drop(len(y))
    reach = trace.gauges.reach if trace.gauges is not None else np.zeros(count)
    scores = np.abs(y[first:] - trace.prediction) / np.sqrt(1.0 / weights[first:] + reach)
    return np.asarray(scores[np.isfinite(reach)])


@numba.njit(**KERNEL)
def adapted_quantile(scores: Vector, alpha: float, gamma: float) -> float:
    """The quantile of the scores at the level that they themselves, in their order, ask for.

    Sorts ``scores`` on its way.
    """
    m, level = scores.size, alpha
    for j in range(m):
        score = scores[j]
        if (j + 1) * alpha >= 1.0:  # before, every interval would be infinite
            missed = 1.0 if score > _ranked(scores, j, level) else 0.0
            level += gamma * (alpha - missed)
        at = j
        while at > 0 and scores[at - 1] > score:
            scores[at] = scores[at - 1]
            at -= 1
        scores[at] = score
    return _ranked(scores, m, level) if (m + 1) * alpha >= 1.0 - 1e-9 else np.inf


@numba.njit(**KERNEL)
def _ranked(scores: Vector, count: int, level: float) -> float:
    """The (count + 1) (1 - level)-th smallest of the first ``count``: between two, in between."""
    place = min(max((count + 1) * (1.0 - level) - 1.0, 0.0), count - 1.0)
    below = int(place)
    above = min(below + 1, count - 1)
    return scores[below] + (place - below) * (scores[above] - scores[below])


def student_quantiles(freedom: Vector, beyond: float) -> Vector:
    """Student's quantiles; by a polynomial, to the last digits, where many are nearly the same."""
    low, high = freedom.min(initial=np.inf), freedom.max(initial=0.0)
    if freedom.size < _MANY or not _LOWEST <= low < high <= _NEARLY * low:
        return np.asarray(-stdtrit(freedom, beyond))
    return Chebyshev.interpolate(lambda v: -stdtrit(v, beyond), _DEGREE, [low, high])(freedom)


def _times(half: Vector, factor: Vector) -> Vector:
    """Their product; infinite where one of them is, or is no number."""
    with np.errstate(invalid="ignore"):
        wide = half * factor
    return np.asarray(np.where(np.isnan(wide), np.inf, wide))


METHODS: tuple[type[Method], ...] = (Gaussian, SelfNormalized, Conformal)


def as_method(level: object, method: object, subject: str = "level") -> Method:
    """The method of this name; ``subject`` is what the caller calls the level.

    >>> as_method(0.9, "conformal")
    Conformal(level=0.9)
    """
    for kind in METHODS:
        if kind.name == method:
            return kind(probability(subject, level))
    names = ", ".join(repr(kind.name) for kind in METHODS)
    raise InvalidValue(unusable("method", method, f"one of {names}", "choose one"))
