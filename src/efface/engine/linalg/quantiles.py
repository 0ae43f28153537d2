"""Quantiles of scores at a level that adapts to them, for conformal intervals."""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.jit.compilation import INNER, KERNEL, shared
from efface.engine.jit.views import Vector


@numba.njit(**KERNEL)
def adapted_quantile(scores: Vector, alpha: float, gamma: float) -> float:
    """The quantile of the scores at the level that adapts to them in order; sorts ``scores``.

    The level starts at ``alpha`` and changes by gamma (alpha - missed) after each score, where
    missed is 1 if the score exceeds the quantile of the scores before it (Gibbs and Candes, 2021).
    The quantile is infinite for fewer than 1 / alpha - 1 scores.

    >>> scores = np.arange(1.0, 10.0)
    >>> adapted_quantile(scores, 0.05, 0.0), round(adapted_quantile(scores, 0.5, 0.0), 9)
    (inf, 5.0)
    """
    m, level = scores.size, alpha
    for j in range(m):
        score = scores[j]
        if (j + 1) * alpha >= 1.0:
            missed = 1.0 if score > _quantile(scores, j, level) else 0.0
            level += gamma * (alpha - missed)
        k = j  # insertion sort
        while k > 0 and scores[k - 1] > score:
            scores[k] = scores[k - 1]
            k -= 1
        scores[k] = score
    return _quantile(scores, m, level) if (m + 1) * alpha >= 1.0 - 1e-9 else np.inf


@numba.njit(**INNER)
def _quantile(scores: Vector, count: int, level: float) -> float:
    """The (count + 1) (1 - level)-th smallest of ``count`` sorted scores, interpolated."""
    place = min(max((count + 1) * (1.0 - level) - 1.0, 0.0), count - 1.0)
    below = int(place)
    above = min(below + 1, count - 1)
    return scores[below] + (place - below) * (scores[above] - scores[below])


@shared()
def upper_quantile(scores: Vector, alpha: float) -> float:
    """The (count + 1) (1 - alpha)-th smallest score, interpolated; reorders ``scores``.

    >>> upper_quantile(np.array([3.0, 1.0, 2.0]), 0.5)
    2.0
    """
    last = scores.size - 1
    place = min(max((scores.size + 1) * (1.0 - alpha) - 1.0, 0.0), float(last))
    below = int(place)
    _select(scores, below)
    above = np.inf
    for i in range(below + 1, scores.size):
        above = min(above, scores[i])
    if below == last:
        return scores[below]
    return scores[below] + (place - below) * (above - scores[below])


@numba.njit(**INNER)
def _select(values: Vector, k: int) -> None:
    """Move the k-th smallest value to its place, no larger ones before it (Hoare)."""
    low, high = 0, values.size - 1
    while low < high:
        pivot, i, j = values[(low + high) // 2], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i, j = i + 1, j - 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            return
