"""Leverages, rank and conditioning of the live rows, from singular values where needed.

Used where the core does not give these numbers. NumPy code, not compiled: it is rarely needed. The
rows of the weighted system are centred on their weighted mean, if there is an intercept, and
multiplied by the square roots of their weights.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from efface.engine.jit.views import Matrix, Vector
from efface.engine.linalg.dense import CLEAR, EPS, SAFE

_KEPT = 1e-6  # an eigenvalue below this share of the largest has lost its digits
_DUST = 1e-10  # deviations below this share of a column may be rounding
_OUTSIDE = EPS**0.5  # a larger share of a row outside the span: its prediction is undetermined


class Products(NamedTuple):
    """Leverages of a new row and of the oldest, and the inner product of the two rows."""

    new: float
    old: float
    cross: float
    new_or_infinite: float  # the new row's leverage, infinite where its prediction is undetermined


class Spectrum(NamedTuple):
    """The singular value decomposition of the live rows, each feature divided by its unit."""

    mean: Vector
    units: Vector  # the lengths of the columns where they have full rank, else 1
    base: float  # the intercept's part of every inner product
    sigma: Vector
    directions: Matrix
    penalty: float
    rank: int

    def products(self, new: Vector, old: Vector) -> Products:
        """Leverages of two rows, for any rank."""
        leverage, old_leverage = self._product(new, new), self._product(old, old)
        return Products(leverage, old_leverage, self._product(new, old), self.gauge(new)[0])

    def _product(self, u: Vector, v: Vector) -> float:
        """u' H^-1 v; the pseudo-inverse where there is no penalty."""
        a, b, rest = self._split(u), self._split(v), 0.0
        if self.penalty > 0.0:
            rest = float(a[1] @ b[1]) / self.penalty
        return self.base + float((a[0] / self._denominator) @ b[0]) + rest

    def gauge(self, u: Vector) -> tuple[float, float]:
        """The leverage of a row, infinite where undetermined, and the square of |H^-1 u|."""
        inside, rest = self._split(u)
        lost = self.penalty == 0.0 and _beyond(rest, (u - self.mean) / self.units)
        image = (inside / self._denominator) @ self.directions / self.units
        return np.inf if lost else self._product(u, u), float(image @ image)

    def _split(self, u: Vector) -> tuple[Vector, Vector]:
        """The coordinates of u - mean along the directions, and the rest."""
        away = (u - self.mean) / self.units
        inside = self.directions @ away
        return inside, away - inside @ self.directions

    @property
    def _denominator(self) -> Vector:
        return np.asarray(self.sigma**2 + self.penalty)


def _beyond(rest: Vector, away: Vector) -> bool:
    """Whether the part of a row outside the span is more than rounding."""
    return bool(rest @ rest > _OUTSIDE**2 * (away @ away))


def mean_of(values: NDArray[np.float64], weights: Vector, intercept: bool) -> Any:
    """The weighted mean of rows or numbers; 0 without an intercept, or where nothing has weight."""
    if not (intercept and weights.any()):
        return 0.0
    if (weights == weights[0]).all():
        return values.mean(axis=0)  # half the time of np.average
    return np.average(values, axis=0, weights=weights)


def centred(X: Matrix, weights: Vector, intercept: bool) -> Matrix:
    """X around its weighted mean, if there is an intercept."""
    if intercept and weights.any():
        share = weights / weights.sum()
        mean = share @ X
        X = X - mean
        X -= share @ X  # again: the rounding error of a large mean would add to the rank
        spread = np.abs(X[weights > 0.0]).max(axis=0)
        X[:, spread <= 16.0 * EPS * np.abs(mean)] = 0.0  # constant up to rounding
    return X


def weighed_rows(X: Matrix, weights: Vector, intercept: bool) -> Matrix:
    """The rows of the weighted system."""
    return np.asarray(np.sqrt(weights)[:, np.newaxis] * centred(X, weights, intercept))


class WeightedSystem(NamedTuple):
    """The rows of a weighted system, or fewer rows with the same sums of products."""

    rows: Matrix
    responses: Vector
    mean: Vector  # of the features: it is already subtracted
    base: float  # the intercept's part of every inner product
    total_weight: float  # the sum of the weights
    n_rows: int  # of the system
    most: int  # the largest possible rank


def weighted_system(X: Matrix, y: Vector, weights: Vector, intercept: bool) -> WeightedSystem:
    """The rows around their mean, if there is an intercept, times the roots of their weights."""
    around, roots = centred(X, weights, intercept), np.sqrt(weights)
    first, total_weight = int(weights.argmax()), float(weights.sum())
    rows, mean = roots[:, np.newaxis] * around, X[first] - around[first]
    responses = roots * (y - mean_of(y, weights, intercept))
    base = 1.0 / total_weight if intercept and total_weight > 0.0 else 0.0
    most = _most(weights, intercept)
    return WeightedSystem(rows, responses, mean, base, total_weight, len(X), most)


def spectrum(system: WeightedSystem, penalty: float, rank: int) -> Spectrum:
    """The decomposition of the rows; a rank of -1 is computed, by NumPy's rule.

    Leverages of rows of full rank do not depend on units. They keep the digits that very different
    units would cost.
    """
    rows, d = system.rows, system.rows.shape[1]
    units = np.ones(d)
    if penalty == 0.0 and rank == d and system.most > d:
        units = np.linalg.norm(rows, axis=0)
        rows = rows / units
    _, sigma, directions = np.linalg.svd(rows, full_matrices=False)
    if rank < 0:
        sure = sigma[: system.most]
        rank = int((sure > sigma[0] * max(system.n_rows, d) * EPS).sum())
    used = sigma.size if penalty > 0.0 else rank
    place = system.mean, units, system.base
    return Spectrum(*place, sigma[:used], directions[:used], penalty, rank)


def summary(system: WeightedSystem, coef: Vector) -> tuple[float, float, float, float]:
    """Sums of squares: residuals, rows, coefficients; and the sum of weights."""
    residuals = system.responses - system.rows @ coef
    squares, scatter = float(residuals @ residuals), float(np.sum(system.rows**2))
    return squares, scatter, float(coef @ coef), system.total_weight


def independent(rows: Matrix, size: Vector) -> bool:
    """Whether the rows (or the columns, if fewer) are certainly independent, by Cholesky pivots.

    ``size`` is the largest absolute value of each column before differences were taken; much
    smaller differences are rounding.
    """
    n, d = rows.shape
    products = rows @ rows.T if n < d else rows.T @ rows
    scale = products.diagonal()
    if n >= d and (scale <= n * (_DUST * size) ** 2).any():
        return False
    # Stricter than NumPy's rule, n EPS, so that the two never disagree.
    if not scale.min(initial=np.inf) > (1e3 * max(n, d) * EPS) ** 2 * scale.max(initial=0.0):
        return False
    try:
        pivots = np.linalg.cholesky(products).diagonal() ** 2
        if (pivots >= CLEAR * scale).all():
            return True
        # Smaller pivots could hide a far smaller margin: see ``dense``.
        inverse = np.linalg.inv(products).diagonal()
    except np.linalg.LinAlgError:
        return False
    return bool((pivots >= SAFE * scale).all() and (inverse * scale <= 1.0 / SAFE).all())


def rank_of(X: Matrix, weights: Vector, intercept: bool) -> tuple[int, int]:
    """The rank of X, and how many of its newest rows certainly have that rank (0: unknown).

    Singular values are computed only where the newer half of the rows, or all rows if they are
    few, does not prove full rank.
    """
    n, d = X.shape
    start = 0 if n // 2 - intercept < d else n // 2
    newest, roots = X[start:], np.sqrt(weights[start:, np.newaxis])
    roots = roots / (roots.max() or 1.0)  # a common factor does not change the rank
    # Differences from the heaviest row have the rank of the deviations from the mean.
    heaviest = int(roots.argmax())
    part = roots * (newest - newest[heaviest]) if intercept else roots * newest
    if intercept:
        part = part[1:] if heaviest == 0 else np.delete(part, heaviest, axis=0)
    if independent(part, np.abs(newest).max(axis=0, initial=0.0)):
        return min(n - intercept, d), len(newest)
    return numerical_rank(X, weights, intercept), 0


def numerical_rank(X: Matrix, weights: Vector, intercept: bool) -> int:
    """The rank of the weighted rows by NumPy's rule.

    With more rows than unknowns, full rank does not depend on the units of the features.
    """
    rows, most = weighed_rows(X, weights, intercept), _most(weights, intercept)
    lengths, d = np.linalg.norm(rows, axis=0), X.shape[1]
    if most > d and lengths.all() and np.linalg.matrix_rank(rows / lengths) == d:
        return d
    return min(int(np.linalg.matrix_rank(rows)), most)


def _most(weights: Vector, intercept: bool) -> int:
    """The largest possible rank: one less than the weighted rows, if these are centred."""
    return max(int(np.count_nonzero(weights)) - intercept, 0)


def interpolated(X: Matrix, weights: Vector, intercept: bool, new: Vector) -> Products:
    """Leverages for independent rows without a penalty, which are all fitted exactly.

    With A the rows of the weighted system they are |a|^2, 1 and a_0, for the shortest a with A'a
    nearest to new. Rows of length 1 give a / lengths also next to rows 1e8 times as long. An
    intercept adds 1 / n and q_0 / n, where q are the roots of the weights and n is the sum of the
    weights: A'q = 0, so the shortest a is orthogonal to q.
    """
    around, roots = centred(X, weights, intercept), np.sqrt(weights)
    rows, away = roots[:, np.newaxis] * around, new - (X[0] - around[0])
    lengths = np.linalg.norm(rows, axis=1)
    lengths[lengths == 0.0] = 1.0
    a = np.linalg.lstsq((rows / lengths[:, np.newaxis]).T, away, rcond=None)[0] / lengths
    base = 1.0 / float(weights.sum()) if intercept else 0.0
    a -= base * float(roots @ a) * roots
    leverage = base + float(a @ a)
    reach = np.inf if _beyond(away - a @ rows, away) else leverage
    return Products(leverage, 1.0, base * float(roots[0]) + float(a[0]), reach)


def conditioning(X: Matrix, weights: Vector, intercept: bool) -> tuple[float, float]:
    """phi^2 = lambda_min(Phi) / n (Lemma 1), and the condition number of the rows.

    n is the sum of the weights. From the eigenvalues of Phi where these keep their digits, else
    from the singular values.
    """
    (n, d), total_weight = X.shape, float(weights.sum())
    if total_weight == 0.0:
        return np.nan, np.nan
    if n - intercept < d:
        return 0.0, np.inf
    rows = weighed_rows(X, weights, intercept)
    values = np.linalg.eigvalsh(rows.T @ rows)
    low, high = float(values[0]), float(values[-1])
    if low <= _KEPT * high:
        sigma = np.linalg.svd(rows, compute_uv=False)
        low, high = float(sigma[-1]) ** 2, float(sigma[0]) ** 2
        if sigma[-1] <= sigma[0] * max(n, d) * EPS:
            return 0.0, np.inf
    return low / total_weight, (high / low) ** 0.5
