"""The reference refit of many well-conditioned rows, from sums over blocks of rows.

``reference`` goes through the rows in double-double arithmetic, some forty times slower than a
matrix product. Where many rows determine the coefficients well, the normal equations in float64 and
one refinement by the residuals of the rows give the coefficients to about 1e-12, far below the
tolerance of an audit. Where they would not, ``Sample.of`` gives None.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from efface.diagnostics.reference import Refit
from efface.theory.geometry import Array

MANY = 1 << 20  # numbers in all rows: below, the slow refit is fast enough
_BLOCK = 1 << 13  # rows at a time, which fit into the cache
_EPS = float(np.finfo(np.float64).eps)
_WELL_CONDITIONED = 300.0  # the largest condition number of the columns at a common scale
_FAR = 1e5  # the largest mean of a feature, in standard deviations
_LARGEST, _SMALLEST = 1e100, 1e-100  # squares of values between them are finite and not 0


@dataclass(frozen=True, eq=False)
class Sample:
    """Many rows, and their sums of squares and products around the mean, or around 0.

    The features are divided by their root mean squares, ``unit``, in ``gram`` and ``cross``.
    """

    X: Array
    y: Array
    weights: Array
    intercept: bool
    centre: Array  # of (x, y)
    unit: Array
    gram: Array
    cross: Array
    spread: Array

    @classmethod
    def of(cls, X: Array, y: Array, weights: Array | None, *, intercept: bool) -> Sample | None:
        """The sums of the rows; None if they are few, or need more digits."""
        n, d = X.shape
        w = np.ones(n) if weights is None else weights
        if n * d < MANY or n < 50 * d or not (w > 0.0).all():
            return None
        centre = np.append(np.average(X, axis=0, weights=w), np.average(y, weights=w))
        centre *= intercept
        sums, spread = np.zeros((d + 2, d + 2)), np.zeros(d)
        for rows, responses, block in _blocks(X, y, w):
            values = np.column_stack([rows - centre[:d], responses - centre[d], np.ones(len(rows))])
            spread = np.maximum(spread, np.abs(values[:, :d]).max(axis=0))
            sums += values.T @ (block[:, np.newaxis] * values)
        total, mean = sums[-1, -1], sums[-1, :-1] / sums[-1, -1] * intercept
        sums = sums[:-1, :-1] - total * np.outer(mean, mean)
        unit = np.sqrt(sums.diagonal()[:d] / total)
        if not (spread < _LARGEST).all() or not (unit > _SMALLEST).all():
            return None
        if (np.abs(centre[:d]) > _FAR * unit).any():
            return None
        gram, cross = sums[:d, :d] / np.outer(unit, unit), sums[:d, d] / unit
        found = cls(X, y, w, intercept, centre + mean, unit, gram, cross, spread)
        return found if _condition(gram) <= _WELL_CONDITIONED else None

    @property
    def condition(self) -> float:
        """The condition number of Phi."""
        values = np.linalg.eigvalsh(self.gram * np.outer(self.unit, self.unit))
        return float(values[-1] / values[0])

    def refit(self, penalty: float) -> Refit:
        """The ridge regression, with the scales that differences are relative to."""
        shrink = np.diag(penalty / self.unit**2)
        factor = scipy.linalg.cho_factor(self.gram + shrink)
        coef = scipy.linalg.cho_solve(factor, self.cross) / self.unit
        gradient, _, _ = self._residual_sums(coef)
        step = scipy.linalg.cho_solve(factor, (gradient - penalty * coef) / self.unit)
        coef = coef + step / self.unit
        _, mean, squares = self._residual_sums(coef)
        d = coef.size
        offset = float(self.centre[d] - self.centre[:d] @ coef + mean) * self.intercept
        return self._with_scales(coef, offset, squares + penalty * float(coef @ coef), shrink)

    def _residual_sums(self, coef: Array) -> tuple[Array, float, float]:
        """X'Wr around the mean, the mean of r and r'Wr, for the residuals r of the rows."""
        d, total = coef.size, float(self.weights.sum())
        gradient, mean, squares = np.zeros(d), 0.0, 0.0
        for rows, responses, w in _blocks(self.X, self.y, self.weights):
            away = rows - self.centre[:d]
            residual = responses - self.centre[d] - away @ coef
            gradient += away.T @ (w * residual)
            mean += float(w @ residual) / total
            squares += float(w @ residual**2)
        return gradient, mean, squares

    def _with_scales(self, coef: Array, offset: float, squares: float, shrink: Array) -> Refit:
        x_max, y_max = np.abs(self.X).max(axis=0), float(np.abs(self.y).max())
        condition = _condition(self.gram + shrink)
        fitted = math.sqrt(float(coef**2 @ (self.gram.diagonal() * self.unit**2)))
        fitted = max(fitted, 1e-6 * math.sqrt(float(self.weights @ self.y**2))) or 1.0
        last_digit = _EPS * float((x_max / self.spread).max())
        relative = math.sqrt(squares) / fitted
        return Refit(
            coef=coef,
            intercept=offset,
            spread=self.spread,
            coef_scale=max(float(np.abs(coef * self.spread).max()), 1e-6 * y_max) or 1.0,
            intercept_scale=max(abs(offset), y_max, float(np.abs(coef * self.centre[:-1]).max()))
            or 1.0,
            sensitivity=condition,
            rounding=last_digit * condition * (1.0 + condition * relative),
        )


def _condition(gram: Array) -> float:
    """The condition number of the columns with this Gram matrix, at a common scale."""
    lengths = np.sqrt(gram.diagonal())
    values = np.linalg.eigvalsh(gram / np.outer(lengths, lengths))
    return math.sqrt(float(values[-1] / values[0])) if values[0] > 0.0 else math.inf


def _blocks(X: Array, y: Array, w: Array) -> Iterator[tuple[Array, Array, Array]]:
    for start in range(0, len(y), _BLOCK):
        rows = slice(start, start + _BLOCK)
        yield X[rows], y[rows], w[rows]
