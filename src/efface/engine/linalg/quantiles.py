"""Quantiles of scores at a level that adapts to them, for conformal intervals."""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.jit.compilation import FAST, INNER, KERNEL, shared
from efface.engine.jit.views import Vector, part
from efface.engine.linalg.dense import mean

_BISECTIONS, _FEW = 20, 16  # at most so many, until at most so many scores are left to select from


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
    """The (count + 1) (1 - alpha)-th smallest score, interpolated; ``scores`` are overwritten.

    No score is negative.

    >>> upper_quantile(np.array([3.0, 1.0, 2.0]), 0.5)
    2.0
    """
    last = scores.size - 1
    place = min(max((scores.size + 1) * (1.0 - alpha) - 1.0, 0.0), float(last))
    below = int(place)
    kept = part(scores, 0, _keep_largest(scores, scores.size - below))
    below -= scores.size - kept.size
    _select(kept, below)
    if below == kept.size - 1:
        return kept[below]
    above = np.inf
    for i in range(below + 1, kept.size):
        above = min(above, kept[i])
    return kept[below] + (place - int(place)) * (above - kept[below])


@numba.njit(**INNER, fastmath=FAST)
def _count_above(values: Vector, limit: float) -> float:
    count = 0.0
    for i in range(values.size):
        count += 1.0 if values[i] >= limit else 0.0
    return count


@numba.njit(**INNER)
def _keep_largest(values: Vector, wanted: int) -> int:
    """Move the largest values to the front: at least ``wanted``, and few more; how many.

    The limit is found by bisection: counting needs no branches, a selection among all does.
    """
    low, high = 0.0, 4.0 * mean(values)
    for _ in range(_BISECTIONS):
        if _count_above(values, high) < wanted:
            break
        low, high = high, 2.0 * high
    for _ in range(_BISECTIONS):
        limit = 0.5 * (low + high)
        count = _count_above(values, limit)
        if count < wanted:
            high = limit
        else:
            low = limit
            if count <= wanted + _FEW:
                break
    kept = 0
    for i in range(values.size):
        value = values[i]
        values[kept] = value
        kept += 0 if value < low else 1  # NaN is kept
    return kept


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
