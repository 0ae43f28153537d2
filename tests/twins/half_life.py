"""Least squares of each window with weights 2^(-age / halflife), refitted from its rows."""

from __future__ import annotations

import numpy as np


def refit(X, y, weights, alpha, intercept):
    """Coefficients and intercept of one window."""
    A = np.column_stack([X, np.ones((len(y), int(intercept)))]) * np.sqrt(weights)[:, np.newaxis]
    b = y * np.sqrt(weights)
    penalty = np.sqrt(alpha) * np.eye(X.shape[1], A.shape[1])
    unit = np.linalg.norm(A, axis=0) if alpha == 0 else np.ones(A.shape[1])
    unit[unit == 0.0] = 1.0
    both = np.vstack([A, penalty]) / unit
    theta = np.linalg.lstsq(both, np.append(b, np.zeros(X.shape[1])), rcond=None)[0] / unit
    return theta[: X.shape[1]], theta[X.shape[1]] if intercept else 0.0


def windows(times, window, halflife, weights):
    """(rows, weights) of the window that ends at each row; ages and the window are in ``times``."""
    for t in range(len(times)):
        ages = times[t] - times[: t + 1]
        rows = np.flatnonzero(ages < min(window, 53 * halflife))
        yield rows, weights[rows] * 2.0 ** (-ages[rows] / halflife)


def fading_weights(weights, halflife, times=None):
    """Weights of live rows, oldest first: halved with each half-life since the newest of them."""
    n = len(weights)
    ages = [n - 1 - i for i in range(n)] if times is None else [times[-1] - t for t in times]
    return np.array([w * 0.5 ** (age / halflife) for w, age in zip(weights, ages, strict=True)])
