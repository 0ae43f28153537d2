"""The reference refit: a slow and accurate ridge regression that shares no code with the engine.

A first solution comes from the singular value decomposition of the rows. Iterative refinement with
residuals in double-double arithmetic corrects it until the corrections are rounding. Where the rows
determine the coefficients, the error is the rounding of the coefficients; otherwise it is the error
of the subspace that the rows span. Residuals are those of the unweighted rows; the weights enter
where residuals are summed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from efface.diagnostics.deviations import (
    StandardizedRows,
    binary_exponent,
    deviations,
    scaled_penalty,
    standardized,
)
from efface.live.snapshot import Snapshot
from efface.theory.geometry import Array

_EPS = float(np.finfo(np.float64).eps)
_SPLITTER = 134217729.0  # 2^27 + 1 (Dekker)
_MAX_STEPS = 12
_BLOCK_SIZE = 1 << 20  # products that are summed at once


@dataclass(frozen=True, eq=False)
class Refit:
    """Coefficients and intercept of a refit, and the scales that differences are relative to.

    ``spread`` is the largest deviation of each feature among rows with a positive weight.
    ``coef_scale`` is the largest coefficient times its spread. ``intercept_scale`` is the largest
    of the responses and of the terms that the intercept balances. ``sensitivity`` is the condition
    number of the rows with the penalty, with the features at a common scale where the rows
    determine the coefficients. ``rounding`` bounds the effect on the coefficients of changing the
    rows in their last digit (Wedin).
    """

    coef: Array
    intercept: float
    spread: Array
    coef_scale: float
    intercept_scale: float
    sensitivity: float
    rounding: float

    def distance(self, coef: Array, intercept: float) -> float:
        """The largest relative difference of other coefficients and intercept from these.

        Each coefficient is multiplied by the spread of its feature and compared with
        ``coef_scale``; the intercept is compared with ``intercept_scale``.
        """
        differences = np.append(
            np.abs(coef - self.coef) * self.spread / self.coef_scale,
            abs(intercept - self.intercept) / self.intercept_scale,
        )
        return math.inf if np.isnan(differences).any() else float(differences.max())


def refit_snapshot(live: Snapshot, penalty: float) -> Refit:
    """The refit of the live rows of a model, by the parameters of the model."""
    fit = refit_standardized if live.parameters["standardize"] else refit
    intercept = bool(live.parameters["fit_intercept"])
    return fit(live.X, live.y, penalty=penalty, intercept=intercept, weights=live.weights)


def refit(
    X: Array, y: Array, *, penalty: float, intercept: bool, weights: Array | None = None
) -> Refit:
    """The ridge regression of y on X; the minimum-norm solution if there are many.

    >>> found = refit(np.array([[1.0], [3.0]]), np.array([1.0, 5.0]), penalty=0.0, intercept=True)
    >>> found.coef, round(found.intercept, 12)
    (array([2.]), -1.0)
    """
    X, y, weights = _with_weight(X, y, weights)
    n, d = X.shape
    if not n:
        return Refit(np.zeros(d), 0.0, np.ones(d), 1.0, 1.0, 1.0, 0.0)
    x_exp, y_exp = binary_exponent(X), binary_exponent(y)
    w_exp = 0 if weights is None else binary_exponent(weights)
    rows, responses = np.ldexp(X, -x_exp), np.ldexp(y, -y_exp)
    w = np.ones(n) if weights is None else np.ldexp(weights, -w_exp)
    lam = scaled_penalty(penalty, -2 * x_exp - w_exp)
    solver = _Solver.of(deviations(rows, weights=w)[0] if intercept else rows, w, lam, intercept)
    solve = _solve_dual if n - intercept < d and solver.dual_usable(intercept) else _solve_primal
    fit = _with_scales(*solve(rows, responses, solver, intercept), rows, responses, solver)
    return replace(
        fit,
        coef=np.ldexp(fit.coef, y_exp - x_exp),
        intercept=math.ldexp(fit.intercept, y_exp),
        spread=np.ldexp(fit.spread, x_exp),
        coef_scale=math.ldexp(fit.coef_scale, y_exp),
        intercept_scale=math.ldexp(fit.intercept_scale, y_exp),
    )


def refit_standardized(
    X: Array, y: Array, *, penalty: float, intercept: bool, weights: Array | None = None
) -> Refit:
    """``refit`` on the standardised rows, with coefficients of the original features.

    >>> rows, responses = np.array([[10.0], [20.0], [30.0]]), np.array([1.0, 2.0, 3.0])
    >>> found = refit_standardized(rows, responses, penalty=3.0, intercept=True)
    >>> found.coef.round(12), round(found.intercept, 12)
    (array([0.05]), 1.0)
    """
    X, y, weights = _with_weight(X, y, weights)
    if not len(y):
        return refit(X, y, penalty=penalty, intercept=intercept)
    return refit_rows_scaled(standardized(X, weights), y, penalty, intercept, weights)


def refit_rows_scaled(
    z: StandardizedRows, y: Array, penalty: float, intercept: bool, weights: Array | None
) -> Refit:
    """``refit`` on scaled rows, at least one, with coefficients of the original features."""
    # Centred rows have mean 0: the coefficients are the same with and without an intercept.
    fit = refit(z.rows, y, penalty=penalty, intercept=z.centred, weights=weights)
    coef, x_max = fit.coef / z.deviation, np.abs(z.source).max(axis=0)
    balance = coef * z.mean
    return replace(
        fit,
        coef=coef,
        intercept=(fit.intercept if intercept else 0.0) - float(balance.sum()),
        spread=fit.spread * z.deviation,
        intercept_scale=max(fit.intercept_scale, float(np.abs(balance).max())),
        rounding=fit.rounding * max(1.0, float((x_max / (fit.spread * z.deviation)).max())),
    )


def _with_weight(X: Array, y: Array, weights: Array | None) -> tuple[Array, Array, Array | None]:
    """The rows whose weight is above 0."""
    if weights is None:
        return X, y, None
    positive = weights > 0.0
    return X[positive], y[positive], weights[positive]


def _with_scales(coef: Array, offset: float, X: Array, y: Array, solver: _Solver) -> Refit:
    spread, x_max = np.abs(solver.deviations).max(axis=0), np.abs(X).max(axis=0)
    spread = np.where(spread > 0, spread, np.where(x_max > 0, x_max, 1.0))
    y_max = float(np.abs(y).max())
    # Coefficients below 1e-6 of the responses: 1e-9 of them would be less than rounding of y.
    coef_scale = max(float(np.abs(coef * spread).max()), 1e-6 * y_max) or 1.0
    roots = np.sqrt(solver.weights)
    intercept_scale = max(abs(offset), y_max, float(np.abs(coef * solver.mean(X)).max())) or 1.0
    residuals = np.append(roots * (y - offset - X @ coef), math.sqrt(solver.penalty) * coef)
    fitted = max(np.linalg.norm(coef * solver.lengths()), 1e-6 * np.linalg.norm(roots * y)) or 1.0
    condition = solver.condition()
    last_digit = _EPS * float((x_max / spread).max())
    relative = float(np.linalg.norm(residuals) / fitted)
    rounding = last_digit * condition * (1 + condition * relative)
    return Refit(coef, offset, spread, coef_scale, intercept_scale, condition, rounding)


class _Solver(NamedTuple):
    """(A'A + penalty)^-1 by the singular value decomposition of A.

    Without a penalty it is the pseudo-inverse. The rows of A are the ``deviations`` from the mean,
    each times the square root of its weight. With more rows than unknowns, the columns are divided
    by ``units``, their lengths, if those that are not 0 have full rank then. A penalty is appended
    to A before, as further rows. Elsewhere units are 1.
    """

    deviations: Array
    weights: Array
    matrix: Array
    left: Array
    singular: Array
    right: Array
    units: Array
    penalty: float

    @staticmethod
    def of(rows: Array, weights: Array, penalty: float, intercept: bool) -> _Solver:
        matrix, (n, d) = np.sqrt(weights)[:, np.newaxis] * rows, rows.shape
        augmented = np.vstack([matrix, math.sqrt(penalty) * np.eye(d)]) if penalty else matrix
        lengths = np.linalg.norm(augmented, axis=0)
        present = np.count_nonzero(lengths)
        if n - intercept > d and present:
            lengths[lengths == 0.0] = 1.0
            factors = _decomposed(augmented / lengths)
            if factors[1].size == present:
                return _Solver(rows, weights, matrix, *factors, lengths, penalty)
        return _Solver(rows, weights, matrix, *_decomposed(matrix), np.ones(d), penalty)

    def mean(self, X: Array) -> Array:
        """The weighted mean of the rows."""
        return np.asarray(np.average(X, axis=0, weights=self.weights))

    @property
    def present(self) -> NDArray[np.bool]:
        """Which features have deviations; the others have the coefficient 0."""
        return np.asarray(self.deviations.any(axis=0))

    def without_absent(self, high: Array, low: Array) -> tuple[Array, Array]:
        """Coefficients as high + low, with 0 for features without deviations."""
        return np.where(self.present, high, 0.0), np.where(self.present, low, 0.0)

    @property
    def rank(self) -> int:
        return self.singular.size

    def primal(self, gradient: Array) -> Array:
        """The step of the coefficients; it lies in the span of the rows."""
        inside = self.right @ (gradient / self.units)
        appended = self.penalty if (self.units == 1.0).all() else 0.0
        coef = (inside / (self.singular**2 + appended)) @ self.right / self.units
        largest = float(self.singular.max(initial=0))
        if self.rank < gradient.size and self.penalty > 1e-8 * largest**2:
            coef += (gradient - inside @ self.right) / self.penalty  # corrects the span's rounding
        return np.where(self.present, coef, 0.0)

    def dual_usable(self, intercept: bool) -> bool:
        """Whether AA' + penalty is invertible in double-double arithmetic."""
        independent = self.rank == len(self.matrix) - intercept
        return independent or self.penalty > 1e-20 * float(self.singular.max(initial=0.0)) ** 2

    def dual(self, residuals: Array, intercept: bool) -> Array:
        """The step of the dual variables: Q^-1 (AA' + penalty)^-1 Q residuals, Q^2 = weights."""
        roots = np.sqrt(self.weights)
        scaled = roots * residuals
        inside = scaled @ self.left
        step = self.left @ (inside / (self.singular**2 + self.penalty))
        if self.rank < len(scaled) - intercept:
            step += (scaled - self.left @ inside) / self.penalty
        return np.asarray(step / roots)

    def lengths(self) -> Array:
        """The Euclidean norm of each column of A with the penalty appended."""
        return np.asarray(np.hypot(np.linalg.norm(self.matrix, axis=0), math.sqrt(self.penalty)))

    def condition(self) -> float:
        """The condition number of A with the penalty; for n >= d, with columns at one scale."""
        (n, d), root = self.matrix.shape, math.sqrt(self.penalty)
        if not self.rank:
            return 1.0
        if (self.units != 1.0).any():
            return float(self.singular[0] / self.singular[-1])
        smallest = 0.0 if root > 0 and self.rank < d else self.singular[-1]
        plain = math.hypot(self.singular[0], root) / math.hypot(smallest, root)
        if n < d or (root == 0 and self.rank < d):
            return plain
        scaled = np.vstack([self.matrix, root * np.eye(d)]) / self.lengths()
        values = np.linalg.svd(scaled, compute_uv=False)
        return float(min(plain, values[0] / values[-1])) if values[-1] > 0 else plain


def _decomposed(matrix: Array) -> tuple[Array, Array, Array]:
    """The singular value decomposition without the values that NumPy's rule takes for rounding."""
    left, singular, right = np.linalg.svd(matrix, full_matrices=False)
    kept = singular > _EPS * max(matrix.shape) * singular[0]
    return left[:, kept], singular[kept], right[kept]


def _solve_primal(X: Array, y: Array, solver: _Solver, intercept: bool) -> tuple[Array, float]:
    """Coefficients and intercept, refined by the residuals of the rows until they are stable."""
    coef, offset, before = np.zeros(X.shape[1]), 0.0, math.inf
    mean, w = solver.mean(X), solver.weights
    for i in range(_MAX_STEPS):
        high, low = _residuals(X, y, coef, np.zeros_like(coef), offset)
        if intercept:
            high, low, shift = _centred(high, low, w)
            offset += shift
        step = solver.primal(_gradient(X, *_times(w, high, low), solver.penalty, coef))
        size = float(np.abs(step).max())
        if i > 2 and not size < 0.5 * before:
            break
        coef, before = coef + step, size
        offset -= float(mean @ step) * intercept  # now, so that the residuals stay small
        if size <= 0.25 * _EPS * float(np.abs(coef).max()):
            break
    if intercept:
        offset += _centred(*_residuals(X, y, coef, np.zeros_like(coef), offset), w)[2]
    return coef, offset


def _solve_dual(X: Array, y: Array, solver: _Solver, intercept: bool) -> tuple[Array, float]:
    """The same for fewer rows than features: coefficients X'Ws, which stay in the span of the rows.

    The dual variables s solve (XX'W + penalty) s = b, with X and b centred, in double-double
    arithmetic.
    """
    offset, before, w = 0.0, math.inf, solver.weights
    mean, s = solver.mean(X), np.zeros((2, len(y)))
    for i in range(_MAX_STEPS):
        coef = solver.without_absent(*_product(X.T, *_times(w, *s)))
        high, low = _residuals(X, y, *coef, offset)
        if intercept:
            high, low, shift = _centred(high, low, w)
            offset += shift
        shrink, error = _two_product(np.full_like(y, -solver.penalty), s[0])
        high, lost = _two_sum(high, shrink)
        residuals = high + (low + lost + error - solver.penalty * s[1])
        step = solver.dual(residuals, intercept)
        size = float(np.abs(step).max())
        if i > 2 and not size < 0.5 * before:
            break
        total, lost = _two_sum(s[0], step)
        s, before = np.array(_two_sum(total, s[1] + lost)), size
        if intercept:
            s = np.array(_centred(s[0], s[1], w)[:2])
            offset -= float((mean * solver.present) @ (X.T @ (w * step)))
        if size <= _EPS**2 * float(np.abs(s).max()):
            break
    coef = solver.without_absent(*_product(X.T, *_times(w, *s)))
    if intercept:
        offset += _centred(*_residuals(X, y, *coef, offset), w)[2]
    return coef[0] + coef[1], offset


def _centred(high: Array, low: Array, w: Array) -> tuple[Array, Array, float]:
    """Double-double values minus their weighted mean, and the mean.

    The mean is rounded, and may be small beside the values: it is subtracted twice.
    """
    mean, total = 0.0, float(sum(_sum(w, np.zeros_like(w))))
    for _ in range(2):
        shift = float(sum(_sum(*_times(w, high, low)))) / total
        mean += shift
        high, lost = _two_sum(high, np.full_like(high, -shift))
        high, low = _two_sum(high, low + lost)
    return high, low, mean


def _residuals(X: Array, y: Array, coef: Array, rest: Array, offset: float) -> tuple[Array, Array]:
    """y - offset - X (coef + rest), as high + low."""
    high, low = _product(X, -coef, -rest)
    high, lost = _two_sum(high, y)
    high, more = _two_sum(high, np.full_like(y, -offset))
    return _two_sum(high, low + lost + more)


def _gradient(X: Array, high: Array, low: Array, penalty: float, coef: Array) -> Array:
    """X' (high + low) - penalty coef, which is 0 at the optimum."""
    gradient, rest = _product(X.T, high, low)
    shrink, error = _two_product(np.full_like(coef, -penalty), coef)
    gradient, lost = _two_sum(gradient, shrink)
    return np.asarray(gradient + (rest + lost + error))


def _product(A: Array, high: Array, low: Array) -> tuple[Array, Array]:
    """A (high + low) in double-double arithmetic, one block of rows of A at a time."""
    block = max(1, _BLOCK_SIZE // A.shape[1])
    parts = []
    for start in range(0, len(A), block):
        rows = A[start : start + block]
        product, error = _two_product(rows, np.broadcast_to(high, rows.shape))
        parts.append(_sum(product, error + rows * low))
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))  # type: ignore[return-value]


def _sum(high: Array, low: Array) -> tuple[Array, Array]:
    """Sums along the last axis in double-double arithmetic, by pairwise summation."""
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
    """w (high + low), elementwise."""
    product, error = _two_product(w, high)
    return _two_sum(product, error + w * low)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """a b and its rounding error (Dekker)."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return product, error


def _halves(a: Array) -> tuple[Array, Array]:
    """a as the sum of two numbers of 26 bits each (Dekker)."""
    big = _SPLITTER * a
    high = big - (big - a)
    return high, a - high
