"""Robust variances of one window by the textbook sandwich, with dense matrices."""

from __future__ import annotations

import numpy as np


def sandwich(X, y, intercept, kind, lags=None, weights=None):
    """Variances of the unknowns (the features, then the intercept) of rows of full rank.

    Rows of weight 0 are left out.
    """
    w = np.ones(len(y)) if weights is None else weights
    X, y, w = X[w > 0], y[w > 0], w[w > 0]
    roots = np.sqrt(w.astype(np.longdouble))  # scores of many lags nearly cancel: more digits
    A = np.column_stack([X, np.ones((len(y), int(intercept)))]) * roots[:, np.newaxis]
    b = y * roots
    bread = inverse(A.T @ A)
    residual = b - A @ (bread @ (A.T @ b))
    leverage = np.einsum("ij,jk,ik->i", A, bread, A)
    count, p = int((w > 0).sum()), A.shape[1]
    factor = {
        "HC0": np.ones(len(y)),
        "HC1": np.full(len(y), count / (count - p)),
        "HC2": 1 / (1 - leverage),
        "HC3": 1 / (1 - leverage) ** 2,
        "HAC": np.ones(len(y)),
    }[kind]
    scores = A * residual[:, np.newaxis]
    meat = scores.T @ (scores * factor[:, np.newaxis])
    if kind == "HAC":
        lags = int(np.floor(4 * (len(y) / 100) ** (2 / 9))) if lags is None else lags
        for lag in range(1, min(lags, len(y) - 1) + 1):
            product = scores[lag:].T @ scores[:-lag]
            meat += (1 - lag / (lags + 1)) * (product + product.T)
    return np.diag(bread @ meat @ bread).astype(float)


def inverse(G):
    """The inverse of a positive definite matrix in extended precision, by Gauss-Jordan."""
    scale = 1 / np.sqrt(np.diag(G))
    p, rows = len(G), np.hstack([G * np.outer(scale, scale), np.eye(len(G), dtype=G.dtype)])
    for j in range(p):
        rows[j] /= rows[j, j]
        others = np.arange(p) != j
        rows[others] -= np.outer(rows[others, j], rows[j])
    return rows[:, p:] * np.outer(scale, scale)
