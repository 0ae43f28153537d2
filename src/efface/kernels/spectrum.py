"""The live rows by their singular values, or by what does without them.

The way to leverages, rank and conditioning where a core does not hold or does not tell; NumPy's own
routines, not compiled: it is rare.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from efface.kernels.dense import EPS, SAFE
from efface.kernels.views import Matrix, Vector

_KEPT = 1e-6  # of the largest eigenvalue: a smaller one has lost its digits to it
_DUST = 1e-10  # of a column: smaller deviations may be rounding
_OUTSIDE = EPS**0.5  # of a row's length: more beyond the span, and the rows do not determine it


class Products(NamedTuple):
    """Leverages of a new row and of the oldest, and what they have in common."""

    new: float
    old: float
    cross: float
    reach: float  # the new row's where the live rows determine its prediction, else infinite


class Spectrum(NamedTuple):
    """The live rows by their singular values; what is asked of them is asked of this."""

    mean: Vector
    base: float  # what the intercept adds to every product
    sigma: Vector
    directions: Matrix
    penalty: float
    rank: int

    def products(self, new: Vector, old: Vector) -> Products:
        """By singular values, whatever the rank."""
        leverage, old_leverage = self._product(new, new), self._product(old, old)
        return Products(leverage, old_leverage, self._product(new, old), self.gauge(new)[0])

    def _product(self, u: Vector, v: Vector) -> float:
        """u' H^-1 v, by the pseudo-inverse where there is no penalty."""
        a, b, rest = self._split(u), self._split(v), 0.0
        if self.penalty > 0.0:
            rest = float(a[1] @ b[1]) / self.penalty
        return self.base + float((a[0] / self._denominator) @ b[0]) + rest

    def gauge(self, u: Vector) -> tuple[float, float]:
        """The leverage of a row, infinite where the rows do not determine it, and its image's."""
        inside, rest = self._split(u)
        lost = self.penalty == 0.0 and _beyond(rest, u - self.mean)
        image = inside / self._denominator
        return np.inf if lost else self._product(u, u), float(image @ image)

    def _split(self, u: Vector) -> tuple[Vector, Vector]:
        """Along the directions, and what is left."""
        away = u - self.mean
        inside = self.directions @ away
        return inside, away - inside @ self.directions

    @property
    def _denominator(self) -> Vector:
        return np.asarray(self.sigma**2 + self.penalty)


def _beyond(rest: Vector, away: Vector) -> bool:
    """Is what is left of a row, outside the span, more than rounding?"""
    return bool(rest @ rest > _OUTSIDE**2 * (away @ away))


def centred(X: Matrix, intercept: bool) -> Matrix:
    """X around its mean, if there is an intercept."""
    for _ in range(2 * intercept):  # twice: rounding of a large mean looks like rank
        X = X - X.mean(axis=0)
    return X


def spectrum(X: Matrix, penalty: float, intercept: bool, rank: int) -> Spectrum:
    """The singular values of the live rows; a rank of -1 is not known yet: by NumPy's rule."""
    rows = centred(X, intercept)
    _, sigma, directions = np.linalg.svd(rows, full_matrices=False)
    if rank < 0:
        sure = sigma[: len(rows) - intercept]  # one more would be the mean's rounding
        rank = int((sure > sigma[0] * max(rows.shape) * EPS).sum())
    used = sigma.size if penalty > 0.0 else rank
    mean = X[0] - rows[0]
    base = 1.0 / len(X) if intercept else 0.0
    return Spectrum(mean, base, sigma[:used], directions[:used], penalty, rank)


def summary(X: Matrix, y: Vector, coef: Vector, intercept: bool) -> tuple[float, float, float]:
    """``summarise``, from the rows."""
    rows, responses = centred(X, intercept), y - y.mean() if intercept else y
    residuals = responses - rows @ coef
    return float(residuals @ residuals), float(np.sum(rows**2)), float(coef @ coef)


def independent(rows: Matrix, size: Vector) -> bool:
    """Are the rows independent for sure, or else their columns? By the pivots of their products.

    ``size`` is that of the columns before they were differences: less of them is rounding.
    """
    n, d = rows.shape
    products = rows @ rows.T if n < d else rows.T @ rows
    scale = products.diagonal()
    if n >= d and (scale <= n * (_DUST * size) ** 2).any():
        return False
    # So that what is independent here is so by NumPy's rule, n EPS, too.
    if not scale.min(initial=np.inf) > (1e3 * max(n, d) * EPS) ** 2 * scale.max(initial=0.0):
        return False
    try:
        pivots = np.linalg.cholesky(products).diagonal() ** 2
    except np.linalg.LinAlgError:
        return False
    return bool((pivots >= SAFE * scale).all())


def rank_of(X: Matrix, intercept: bool) -> tuple[int, int]:
    """The rank of X, and a number of its newest rows that have all of it for sure, or 0.

    Without singular values where the newer half of the rows, or all if they are few, tells it.
    """
    n, d = X.shape
    newest = X if n // 2 - intercept < d else X[n // 2 :]
    # The differences from one row have the rank of the deviations from the mean.
    part = newest[1:] - newest[0] if intercept else newest
    if independent(part, np.abs(newest).max(axis=0, initial=0.0)):
        return min(n - intercept, d), len(newest)
    rank = int(np.linalg.matrix_rank(centred(X, intercept)))
    return min(rank, max(len(X) - intercept, 0)), 0  # beyond, it is the mean's rounding


def interpolated(X: Matrix, intercept: bool, new: Vector) -> Products:
    """Products for independent rows without a penalty, which all responses are met by.

    With a = (XX')^-1 X new these are |a|^2, 1 and a_0; an intercept adds 1 / n to all, as ones
    are outside the span of the deviations.
    """
    n, rows = len(X), centred(X, intercept)
    products, base = rows @ rows.T, 0.0
    if intercept:
        base = 1.0 / n
        products += products.diagonal().mean() or 1.0
    away = new - (X[0] - rows[0])
    a = np.linalg.solve(products, rows @ away)
    leverage = base + float(a @ a)
    reach = np.inf if _beyond(away - a @ rows, away) else leverage
    return Products(leverage, 1.0, base + float(a[0]), reach)


def conditioning(X: Matrix, intercept: bool) -> tuple[float, float]:
    """phi^2 = lambda_min(Phi) / n (Lemma 1), and the condition number of the rows.

    From the eigenvalues of Phi where those keep their digits, else from the singular values.
    """
    n, d = X.shape
    if n == 0:
        return np.nan, np.nan
    if n - intercept < d:
        return 0.0, np.inf
    rows = centred(X, intercept)
    values = np.linalg.eigvalsh(rows.T @ rows)
    low, high = float(values[0]), float(values[-1])
    if low <= _KEPT * high:
        sigma = np.linalg.svd(rows, compute_uv=False)
        low, high = float(sigma[-1]) ** 2, float(sigma[0]) ** 2
        if sigma[-1] <= sigma[0] * max(n, d) * EPS:
            return 0.0, np.inf
    return low / n, (high / low) ** 0.5
