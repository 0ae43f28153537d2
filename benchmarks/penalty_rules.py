"""Other rules for the penalty, refitted per window: GCV, REML and scikit-learn's RidgeCV."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads import Array

EXPONENTS = np.arange(-30.0, 11.0, 2.0)
# A feature is divided by its standard deviation to this power.
SCALINGS = {"": 0.0, " std": 1.0, " half": 0.5}
SCANNED = ("GCV", "REML", "GCV std", "REML std", "REML half")


def scan(X: Array, y: Array, row: Array, intercept: bool) -> list[float]:
    """Predictions of a row by the rules of ``SCANNED``."""
    found = {}
    for suffix, power in SCALINGS.items():
        predictions = gcv_and_reml(X, y, row, intercept, power)
        found |= {f"{name}{suffix}": each for name, each in zip(SCANNED, predictions, strict=False)}
    return [found[name] for name in SCANNED]


def gcv_and_reml(
    X: Array, y: Array, row: Array, intercept: bool, power: float
) -> tuple[float, float]:
    """Predictions of a row with the penalty of the grid that each criterion likes best.

    The grid is that of AutoRidge; with the power 1/2 the scaling is, too, so that the rules alone
    differ.
    """
    n, d = X.shape
    mean, level = (X.mean(axis=0), y.mean()) if intercept else (np.zeros(d), 0.0)
    Z, t, freedom = X - mean, y - level, n - intercept
    spread = np.sqrt((Z**2).mean(axis=0))
    scale = np.where(spread > 0.0, np.where(spread > 0.0, spread, 1.0) ** -power, 0.0)
    left, sigma, directions = np.linalg.svd(Z * scale, full_matrices=False)
    pull, squares = left.T @ t, sigma**2
    lam = squares.sum() / d * 2.0 ** EXPONENTS[:, np.newaxis]
    if not lam.any():
        return float(level), float(level)
    kept, outside = lam / (squares + lam), max(float(t @ t - pull @ pull), 0.0)
    tiny = np.finfo(float).tiny
    free = freedom - (1.0 - kept).sum(axis=1)
    gcv = np.log(outside + kept**2 @ pull**2 + tiny) - 2.0 * np.log(np.maximum(free, 1e-9))
    reml = freedom * np.log(outside + kept @ pull**2 + tiny) + np.log1p(squares / lam).sum(axis=1)
    place = (row - mean) * scale
    shrunk = sigma * pull / (squares + lam)
    predictions = level + shrunk @ (directions @ place)
    return float(predictions[gcv.argmin()]), float(predictions[reml.argmin()])


def ridge_cv(alphas: Any, X: Array, y: Array, row: Array, intercept: bool) -> float:
    """The prediction of RidgeCV by leave-one-out cross-validation over these penalties."""
    from sklearn.linear_model import RidgeCV

    model = RidgeCV(alphas=alphas, fit_intercept=intercept).fit(X, y)
    return float(model.predict(row[np.newaxis])[0])
