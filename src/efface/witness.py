"""A second refit of the rows, by other means than the engine's, to hold it to account.

Singular values of the rows, then corrections by residuals in doubled precision until nothing moves:
where the rows determine the coefficients, its error is that of rounding them, and where they do
not, that of the subspace they span. It shares no code with the engine, and is slow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from efface.geometry import Array, binary_unit, deviations, spectrum

_EPS = float(np.finfo(np.float64).eps)
_SPLITTER = 134217729.0  # 2^27 + 1, after Dekker
_MOST_STEPS = 12
_MOST_PRODUCTS = 1 << 20  # numbers of a block whose products are summed at once


@dataclass(frozen=True, eq=False)
class Refit:
    """Coefficients and intercept of some rows, and what they can be compared by.

    ``spread`` is the largest deviation of each feature, and ``size`` the largest coefficient in its
    units; ``height`` is what the intercept is made of. ``sensitivity`` is the condition of the
    rows with the penalty, at a common scale of the features where the rows determine them.
    """

    coef: Array
    intercept: float
    spread: Array
    size: float
    height: float
    sensitivity: float

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


def refit(X: Array, y: Array, *, penalty: float, intercept: bool) -> Refit:
    """The ridge regression of the rows, that of minimum norm where they do not determine one.

    >>> found = refit(np.array([[1.0], [3.0]]), np.array([1.0, 5.0]), penalty=0.0, intercept=True)
    >>> found.coef, round(found.intercept, 12)
    (array([2.]), -1.0)
    """
    if not len(y):
        return Refit(np.zeros(X.shape[1]), 0.0, np.ones(X.shape[1]), 1.0, 1.0, 1.0)
    x_unit, y_unit = binary_unit(X), binary_unit(y)
    rows, responses = np.ldexp(X, -x_unit), np.ldexp(y, -y_unit)
    # beyond 2^900 the coefficients are zero, and squares must stay finite
    lam = min(math.ldexp(penalty, -2 * x_unit), 2.0**900) if penalty else 0.0
    centred = deviations(rows)[0] if intercept else rows
    solver = _Solver.of(centred, lam)
    coef, level = _refined(rows, responses, solver, intercept)
    coef, level = np.ldexp(coef, y_unit - x_unit), math.ldexp(level, y_unit)
    return _described(coef, level, X, y, np.ldexp(centred, x_unit), solver.sensitivity(centred))


def _described(
    coef: Array, level: float, X: Array, y: Array, centred: Array, sensitivity: float
) -> Refit:
    spread, reach = np.abs(centred).max(axis=0), np.abs(X).max(axis=0)
    spread = np.where(spread > 0, spread, np.where(reach > 0, reach, max(reach.max(), 1.0)))
    responses = float(np.abs(y).max())
    # below a millionth of the responses, a billionth of it would be less than their rounding
    size = max(float(np.abs(coef * spread).max()), 1e-6 * responses) or 1.0
    means = np.abs(coef * X.mean(axis=0))
    height = max(abs(level), responses, float(means.max())) or 1.0
    return Refit(coef, level, spread, size, height, sensitivity)


class _Solver(NamedTuple):
    """(A'A + penalty)^-1 through the singular values of A, a pseudo-inverse without a penalty."""

    singular: Array
    basis: Array
    penalty: float
    determined: bool

    @staticmethod
    def of(centred: Array, penalty: float) -> _Solver:
        n, d = centred.shape
        _, singular, basis = np.linalg.svd(centred, full_matrices=False)
        live = singular > _EPS * max(n, d) * singular[0]
        determined = penalty > 0 or int(live.sum()) == d
        return _Solver(singular[live], basis[live], penalty, determined)

    def solve(self, pull: Array) -> Array:
        inside = self.basis @ pull
        answer = (inside / (self.singular**2 + self.penalty)) @ self.basis
        if self.penalty > 0:
            answer += (pull - inside @ self.basis) / self.penalty
        return np.asarray(answer)

    def sensitivity(self, centred: Array) -> float:
        """The condition of the system, of which features' units are no part if n >= d."""
        if not self.singular.size:
            return 1.0
        n, d = centred.shape
        smallest = 0.0 if self.determined and self.singular.size < d else self.singular[-1]
        largest = math.hypot(self.singular[0], math.sqrt(self.penalty))
        plain = largest / math.hypot(smallest, math.sqrt(self.penalty))
        if not self.determined or n < d:
            return plain
        augmented = np.vstack([centred, math.sqrt(self.penalty) * np.eye(d)])
        lengths = np.linalg.norm(augmented, axis=0)
        values = spectrum(augmented / np.where(lengths > 0, lengths, 1.0)).values
        return min(plain, math.sqrt(values[0] / values[-1])) if values[-1] > 0 else plain


def _refined(X: Array, y: Array, solver: _Solver, intercept: bool) -> tuple[Array, float]:
    """Coefficients and intercept, corrected until they stand."""
    coef, level, before = np.zeros(X.shape[1]), 0.0, math.inf
    for i in range(_MOST_STEPS):
        high, low = _residuals(X, y, coef, level)
        for _ in range(2 * intercept):  # twice: the first mean is rounded, and means may be large
            shift = float(sum(_sum(high, low))) / len(y)
            level += shift
            high, lost = _two_sum(high, np.full_like(high, -shift))
            low = low + lost
        step = solver.solve(_pull(X, high, low, solver.penalty, coef))
        size = float(np.abs(step).max())
        if i > 2 and not size < 0.5 * before:
            break
        coef, before = coef + step, size
        if size <= 0.25 * _EPS * float(np.abs(coef).max()):
            break
    if intercept:
        level += float(sum(_sum(*_residuals(X, y, coef, level)))) / len(y)
    return coef, level


def _residuals(X: Array, y: Array, coef: Array, level: float) -> tuple[Array, Array]:
    """y - level - X coef, as high + low."""
    high, low = _product(X, -coef, np.zeros_like(coef))
    high, lost = _two_sum(high, y)
    high, rest = _two_sum(high, np.full_like(y, -level))
    return _two_sum(high, low + lost + rest)


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
