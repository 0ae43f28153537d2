"""A second refit of the rows, by other means than the engine's, to hold it to account.

Singular values of the rows, then corrections by residuals in doubled precision until nothing moves:
where the rows determine the coefficients, its error is that of rounding them, and where they do
not, that of the subspace they span. Residuals are of the rows as they are; the weights come in
where residuals are summed. It shares no code with the engine, and is slow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from efface.theory.geometry import Array, binary_unit, deviations, standardized

_EPS = float(np.finfo(np.float64).eps)
_SPLITTER = 134217729.0  # 2^27 + 1, after Dekker
_MOST_STEPS = 12
_MOST_PRODUCTS = 1 << 20  # numbers of a block whose products are summed at once


@dataclass(frozen=True, eq=False)
class Refit:
    """Coefficients and intercept of some rows, and what they can be compared by.

    ``spread`` is the largest deviation of each feature among rows that have weight, and ``size``
    the largest coefficient in its units; ``height`` is what the intercept is made of.
    ``sensitivity`` is the condition of the rows with the penalty, at a common scale of the features
    where the rows determine them. ``grain`` is what changing the rows in their last digit may do to
    the coefficients (Wedin).
    """

    coef: Array
    intercept: float
    spread: Array
    size: float
    height: float
    sensitivity: float
    grain: float

    def distance(self, coef: Array, intercept: float) -> float:
        """The largest relative difference of coefficients and intercept from these.

        A coefficient counts in units of its feature's spread, relative to the largest; the
        intercept relative to the responses and the means that it balances.
        """
        differences = np.append(
            np.abs(coef - self.coef) * self.spread / self.size,
            abs(intercept - self.intercept) / self.height,
        )
        return math.inf if np.isnan(differences).any() else float(differences.max())


def refit(
    X: Array, y: Array, *, penalty: float, intercept: bool, weights: Array | None = None
) -> Refit:
    """The ridge regression of the rows, that of minimum norm where they do not determine one.

    >>> found = refit(np.array([[1.0], [3.0]]), np.array([1.0, 5.0]), penalty=0.0, intercept=True)
    >>> found.coef, round(found.intercept, 12)
    (array([2.]), -1.0)
    """
    if weights is not None:
        heard = weights > 0.0
        X, y, weights = X[heard], y[heard], weights[heard]
    n, d = X.shape
    if not n:
        return Refit(np.zeros(d), 0.0, np.ones(d), 1.0, 1.0, 1.0, 0.0)
    x_unit, y_unit = binary_unit(X), binary_unit(y)
    w_unit = 0 if weights is None else binary_unit(weights)
    rows, responses = np.ldexp(X, -x_unit), np.ldexp(y, -y_unit)
    w = np.ones(n) if weights is None else np.ldexp(weights, -w_unit)
    # beyond 2^900 the coefficients are zero, and squares must stay finite
    lam = min(math.ldexp(penalty, -2 * x_unit - w_unit), 2.0**900) if penalty else 0.0
    solver = _Solver.of(deviations(rows, weights=w)[0] if intercept else rows, w, lam)
    solve = _by_rows if n - intercept < d and solver.dual_holds(intercept) else _by_features
    coef, level = solve(rows, responses, solver, intercept)
    fit = _described(coef, level, rows, responses, solver)
    return replace(
        fit,
        coef=np.ldexp(fit.coef, y_unit - x_unit),
        intercept=math.ldexp(fit.intercept, y_unit),
        spread=np.ldexp(fit.spread, x_unit),
        size=math.ldexp(fit.size, y_unit),
        height=math.ldexp(fit.height, y_unit),
    )


def refit_standardized(
    X: Array, y: Array, *, penalty: float, intercept: bool, weights: Array | None = None
) -> Refit:
    """``refit`` on the standardised rows, told of the features as they are.

    >>> rows, responses = np.array([[10.0], [20.0], [30.0]]), np.array([1.0, 2.0, 3.0])
    >>> found = refit_standardized(rows, responses, penalty=3.0, intercept=True)
    >>> found.coef.round(12), round(found.intercept, 12)
    (array([0.05]), 1.0)
    """
    if weights is not None:
        X, y, weights = X[weights > 0.0], y[weights > 0.0], weights[weights > 0.0]
    if not len(y):
        return refit(X, y, penalty=penalty, intercept=intercept)
    z = standardized(X, weights)
    # z has no mean: the same coefficients with and without an intercept
    fit = refit(z.rows, y, penalty=penalty, intercept=True, weights=weights)
    coef, reach = fit.coef / z.deviation, np.abs(X).max(axis=0)
    balance = coef * z.mean
    return replace(
        fit,
        coef=coef,
        intercept=(fit.intercept if intercept else 0.0) - float(balance.sum()),
        spread=fit.spread * z.deviation,
        height=max(fit.height, float(np.abs(balance).max())),
        grain=fit.grain * max(1.0, float((reach / (fit.spread * z.deviation)).max())),
    )


def _described(coef: Array, level: float, X: Array, y: Array, solver: _Solver) -> Refit:
    spread, reach = np.abs(solver.around).max(axis=0), np.abs(X).max(axis=0)
    spread = np.where(spread > 0, spread, np.where(reach > 0, reach, 1.0))
    responses = float(np.abs(y).max())
    # below a millionth of the responses, a billionth of it would be less than their rounding
    size = max(float(np.abs(coef * spread).max()), 1e-6 * responses) or 1.0
    roots = np.sqrt(solver.weights)
    height = max(abs(level), responses, float(np.abs(coef * solver.mean(X)).max())) or 1.0
    missed = np.append(roots * (y - level - X @ coef), math.sqrt(solver.penalty) * coef)
    fitted = max(np.linalg.norm(coef * solver.lengths()), 1e-6 * np.linalg.norm(roots * y)) or 1.0
    condition = solver.condition()
    digit = _EPS * float((reach / spread).max())
    grain = digit * condition * (1 + condition * float(np.linalg.norm(missed) / fitted))
    return Refit(coef, level, spread, size, height, condition, grain)


class _Solver(NamedTuple):
    """(A'A + penalty)^-1 through the singular values of A, a pseudo-inverse without a penalty.

    A has the deviations ``around`` the mean, each times the root of its weight.
    """

    around: Array
    weights: Array
    centred: Array
    left: Array
    singular: Array
    right: Array
    penalty: float

    @staticmethod
    def of(around: Array, weights: Array, penalty: float) -> _Solver:
        centred = np.sqrt(weights)[:, np.newaxis] * around
        left, singular, right = np.linalg.svd(centred, full_matrices=False)
        live = singular > _EPS * max(centred.shape) * singular[0]
        found = left[:, live], singular[live], right[live]
        return _Solver(around, weights, centred, *found, penalty)

    def mean(self, X: Array) -> Array:
        """The weighted mean of the rows."""
        return np.asarray(np.average(X, axis=0, weights=self.weights))

    @property
    def rank(self) -> int:
        return self.singular.size

    def primal(self, pull: Array) -> Array:
        """Coefficients; within the span of the rows, where every solution lies."""
        inside = self.right @ pull
        coef = (inside / (self.singular**2 + self.penalty)) @ self.right
        if self.rank < pull.size and self.penalty > 1e-8 * float(self.singular.max(initial=0)) ** 2:
            coef += (pull - inside @ self.right) / self.penalty  # rounding of the span, too
        return np.asarray(coef)

    def dual_holds(self, intercept: bool) -> bool:
        """Whether weights of the rows say it all: doubled precision bears so small a penalty."""
        independent = self.rank == len(self.centred) - intercept
        return independent or self.penalty > 1e-20 * float(self.singular.max(initial=0.0)) ** 2

    def dual(self, missed: Array, intercept: bool) -> Array:
        """Shares of the rows, Q^-1 (AA' + penalty)^-1 Q missed, Q the roots of the weights."""
        roots = np.sqrt(self.weights)
        missed = roots * missed
        inside = missed @ self.left
        shares = self.left @ (inside / (self.singular**2 + self.penalty))
        if self.rank < len(missed) - intercept:
            shares += (missed - self.left @ inside) / self.penalty
        return np.asarray(shares / roots)

    def lengths(self) -> Array:
        """The features' lengths, the penalty included."""
        return np.asarray(np.hypot(np.linalg.norm(self.centred, axis=0), math.sqrt(self.penalty)))

    def condition(self) -> float:
        """That of A and the penalty; the features' units play no part where n >= d."""
        (n, d), root = self.centred.shape, math.sqrt(self.penalty)
        if not self.rank:
            return 1.0
        smallest = 0.0 if root > 0 and self.rank < d else self.singular[-1]
        plain = math.hypot(self.singular[0], root) / math.hypot(smallest, root)
        if n < d or (root == 0 and self.rank < d):
            return plain
        scaled = np.vstack([self.centred, root * np.eye(d)]) / self.lengths()
        values = np.linalg.svd(scaled, compute_uv=False)
        return float(min(plain, values[0] / values[-1])) if values[-1] > 0 else plain


def _by_features(X: Array, y: Array, solver: _Solver, intercept: bool) -> tuple[Array, float]:
    """Coefficients and intercept, corrected by the rows' residuals until they stand."""
    coef, level, before = np.zeros(X.shape[1]), 0.0, math.inf
    mean, w = solver.mean(X), solver.weights
    for i in range(_MOST_STEPS):
        high, low = _residuals(X, y, coef, np.zeros_like(coef), level)
        if intercept:
            high, low, shift = _levelled(high, low, w)
            level += shift
        step = solver.primal(_pull(X, *_times(w, high, low), solver.penalty, coef))
        size = float(np.abs(step).max())
        if i > 2 and not size < 0.5 * before:
            break
        coef, before = coef + step, size
        level -= float(mean @ step) * intercept  # at once, so that residuals stay small
        if size <= 0.25 * _EPS * float(np.abs(coef).max()):
            break
    if intercept:
        level += _levelled(*_residuals(X, y, coef, np.zeros_like(coef), level), w)[2]
    return coef, level


def _by_rows(X: Array, y: Array, solver: _Solver, intercept: bool) -> tuple[Array, float]:
    """The same for fewer rows than features: coefficients X'Ws, which rounding cannot turn away.

    The shares s solve (XX'W + penalty) s = b, X and b around their mean, in doubled precision.
    """
    level, before, w = 0.0, math.inf, solver.weights
    mean, s = solver.mean(X), np.zeros((2, len(y)))
    for i in range(_MOST_STEPS):
        coef = _product(X.T, *_times(w, *s))
        high, low = _residuals(X, y, *coef, level)
        if intercept:
            high, low, shift = _levelled(high, low, w)
            level += shift
        shrink, error = _two_product(np.full_like(y, -solver.penalty), s[0])
        high, lost = _two_sum(high, shrink)
        missed = high + (low + lost + error - solver.penalty * s[1])
        step = solver.dual(missed, intercept)
        size = float(np.abs(step).max())
        if i > 2 and not size < 0.5 * before:
            break
        total, lost = _two_sum(s[0], step)
        s, before = np.array(_two_sum(total, s[1] + lost)), size
        if intercept:
            s = np.array(_levelled(s[0], s[1], w)[:2])
            level -= float(mean @ (X.T @ (w * step)))
        if size <= _EPS**2 * float(np.abs(s).max()):
            break
    coef = _product(X.T, *_times(w, *s))
    if intercept:
        level += _levelled(*_residuals(X, y, *coef, level), w)[2]
    return coef[0] + coef[1], level


def _levelled(high: Array, low: Array, w: Array) -> tuple[Array, Array, float]:
    """Numbers less their mean, and the mean; twice, as it is rounded and others may be large."""
    mean, total = 0.0, float(sum(_sum(w, np.zeros_like(w))))
    for _ in range(2):
        shift = float(sum(_sum(*_times(w, high, low)))) / total
        mean += shift
        high, lost = _two_sum(high, np.full_like(high, -shift))
        high, low = _two_sum(high, low + lost)
    return high, low, mean


def _residuals(X: Array, y: Array, coef: Array, rest: Array, level: float) -> tuple[Array, Array]:
    """y - level - X (coef + rest), as high + low."""
    high, low = _product(X, -coef, -rest)
    high, lost = _two_sum(high, y)
    high, more = _two_sum(high, np.full_like(y, -level))
    return _two_sum(high, low + lost + more)


def _pull(X: Array, high: Array, low: Array, penalty: float, coef: Array) -> Array:
    """X' (high + low) - penalty coef: what the optimum makes zero."""
    pull, rest = _product(X.T, high, low)
    shrink, error = _two_product(np.full_like(coef, -penalty), coef)
    pull, lost = _two_sum(pull, shrink)
    return np.asarray(pull + (rest + lost + error))


def _product(A: Array, high: Array, low: Array) -> tuple[Array, Array]:
    """A (high + low) in doubled precision, some rows of A at a time."""
    block = max(1, _MOST_PRODUCTS // A.shape[1])
    parts = []
    for start in range(0, len(A), block):
        rows = A[start : start + block]
        product, error = _two_product(rows, np.broadcast_to(high, rows.shape))
        parts.append(_sum(product, error + rows * low))
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))  # type: ignore[return-value]


def _sum(high: Array, low: Array) -> tuple[Array, Array]:
    """The sums along the last axis, in doubled precision, by halves."""
    while (size := high.shape[-1]) > 1:
        half = size // 2
        total, lost = _two_sum(high[..., :half], high[..., half : 2 * half])
        rest = low[..., :half] + low[..., half : 2 * half] + lost
        high = np.concatenate([total, high[..., 2 * half :]], axis=-1)
        low = np.concatenate([rest, low[..., 2 * half :]], axis=-1)
    return high[..., 0], low[..., 0]


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b and its rounding error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _times(w: Array, high: Array, low: Array) -> tuple[Array, Array]:
    """w (high + low), entry by entry."""
    product, error = _two_product(w, high)
    return _two_sum(product, error + w * low)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """a b and its rounding error (Dekker)."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return product, error


def _halves(a: Array) -> tuple[Array, Array]:
    big = _SPLITTER * a
    high = big - (big - a)
    return high, a - high
