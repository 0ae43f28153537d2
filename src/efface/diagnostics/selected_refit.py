"""The reference refit of AutoRidge: scaling, penalty and coefficients by code of its own.

The rule is written in docs/penalty.md. All of it follows from one singular value decomposition per
scaling of the rows.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from efface.diagnostics.deviations import (
    StandardizedRows,
    binary_exponent,
    deviations,
    is_selected,
    scaled_rows,
)
from efface.diagnostics.reference import Refit, refit, refit_rows_scaled, refit_snapshot
from efface.live.snapshot import Snapshot
from efface.theory.geometry import Array

_EXPONENTS = np.arange(-30.0, 11.0, 2.0)
_EPS = float(np.finfo(np.float64).eps)


def refit_model(live: Snapshot, penalty: float) -> Refit:
    """The refit of the live rows of a model; the penalty of an AutoRidge is computed here."""
    return refit_selected(live)[0] if is_selected(live) else refit_snapshot(live, penalty)


class _Weighed(NamedTuple):
    """A decomposition of scaled rows, and its penalties with their log weights."""

    shrink: Array  # of each direction, by each penalty: sigma / (sigma^2 + lam)
    pull: Array  # of the response, in the directions
    directions: Array
    penalties: Array
    log_weights: Array
    doubts: Array  # by how much the last digits of the rows may change each log weight

    @staticmethod
    def of(rows: Array, y: Array, n: float, freedom: float) -> _Weighed:
        """For rows and responses that are centred and multiplied by the roots of the weights."""
        exponent, d = binary_exponent(rows), rows.shape[1]
        left, sigma, directions = np.linalg.svd(np.ldexp(rows, -exponent), full_matrices=False)
        squares = sigma**2
        lam = squares.sum() / d * 2.0 ** _EXPONENTS[:, np.newaxis]
        response = y / (np.linalg.norm(y) or 1.0)
        share = response @ left
        outside = float(np.sum((response - left @ share) ** 2)) if y.any() else 1.0
        ridge = lam / (squares + lam)
        penalised = outside + ridge @ share**2
        evidence = freedom * np.log(penalised) + np.log1p(squares / lam).sum(axis=1)
        blend = max(0.0, 1.0 - d / freedom) if freedom > 0.0 else 0.0
        if blend > 0.0:
            left_over = freedom - (1.0 - ridge).sum(axis=1)
            residual = outside + ridge**2 @ share**2
            crossed = freedom * (np.log(residual) - 2.0 * np.log(left_over))
            evidence = (1.0 - blend) * evidence + blend * crossed
        u = n / d * 2.0**_EXPONENTS
        prior = -0.5 * (np.log1p(u) + np.log1p(1.0 / u))
        with np.errstate(over="ignore"):
            penalties = np.ldexp(lam[:, 0], 2 * exponent)
            shrink = np.ldexp(sigma / (squares + lam), -exponent)
        doubts = _doubts(sigma, share, lam, penalised, freedom)
        return _Weighed(shrink, y @ left, directions, penalties, prior - 0.5 * evidence, doubts)


def _doubts(sigma: Array, share: Array, lam: Array, penalised: Array, freedom: float) -> Array:
    """The first-order change of half the evidence as each row changes in its last digit.

    Singular values change by eps sigma_max, and directions by eps sigma_max / sigma.
    """
    ridge, top = lam / (sigma**2 + lam), float(sigma.max(initial=0.0))
    shrunk = 2.0 * top * sigma / (sigma**2 + lam)
    turned = 2.0 * np.abs(share) * top / np.maximum(sigma, _EPS * top or 1.0)
    moved = 2.0 * np.sqrt(penalised) + (ridge * (share**2 * shrunk + turned)).sum(axis=1)
    change = freedom * moved / penalised + shrunk.sum(axis=1)
    return np.asarray(0.5 * _EPS * change)


class _Rows(NamedTuple):
    """Scaled rows of positive weight and their responses, centred if there is an intercept."""

    z: StandardizedRows
    X: Array
    y: Array
    weights: Array
    response: Array
    intercept: bool

    @staticmethod
    def of(live: Snapshot) -> _Rows:
        positive = live.weighed > 0.0
        X, y, weights = live.X[positive], live.y[positive], live.weighed[positive]
        intercept = bool(live.parameters["fit_intercept"])
        response = deviations(y[:, np.newaxis], weights=weights)[0][:, 0] if intercept else y
        z = scaled_rows(live, X, weights)
        assert z is not None
        return _Rows(z, X, y, weights, response, intercept)

    def weigh(self, scale: Array | float = 1.0) -> _Weighed:
        roots, n = np.sqrt(self.weights), float(self.weights.sum())
        rows = roots[:, np.newaxis] * (self.z.rows * scale)
        return _Weighed.of(rows, roots * self.response, n, max(0.0, n - self.intercept))


def refit_selected(live: Snapshot) -> tuple[Refit, float]:
    """The refit of AutoRidge, and its penalty.

    >>> X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([1.0, 2.0, 3.0, 5.0])
    >>> given = {"fit_intercept": True, "standardize": False}
    >>> live = Snapshot("AutoRidge", given, 0, None, [0, 1, 2, 3], None, X, y)
    >>> refit_selected(live)[0].coef.round(3)
    array([1.253])
    """
    intercept = bool(live.parameters["fit_intercept"])
    if not (live.weighed > 0.0).any():
        return refit(live.X[:0], live.y[:0], penalty=0.0, intercept=intercept), 0.0
    rows = _Rows.of(live)
    if not rows.z.rows.any():
        return _constant(rows), 0.0
    found = rows.weigh()
    weights = np.exp(found.log_weights - found.log_weights.max())
    weights /= weights.sum()
    exponent = float(weights @ _EXPONENTS)
    penalty = float(found.penalties[0] * 2.0 ** (exponent - _EXPONENTS[0]))
    reached = _at(rows, penalty)
    # The last digits of the rows also change the coefficients by way of the penalty.
    moved = float(weights @ (np.abs(_EXPONENTS - exponent) * found.doubts))
    return replace(reached, rounding=reached.rounding + math.log(2.0) * moved), penalty


def _at(rows: _Rows, penalty: float) -> Refit:
    """The refit with a penalty on the scaled rows."""
    y = rows.y if rows.response.any() else np.full_like(rows.y, rows.y[0])
    return refit_rows_scaled(rows.z, y, penalty, rows.intercept, rows.weights)


def _constant(rows: _Rows) -> Refit:
    """Without a spread no feature has a coefficient."""
    found = _at(rows, 1.0)
    return replace(found, coef=np.zeros_like(found.coef))
