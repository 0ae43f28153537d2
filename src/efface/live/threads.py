"""Groups of rows, distributed over threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from efface.inputs.types import Ints


def share_out(work: Callable[[Sequence[int]], None], bounds: Ints, workers: int) -> None:
    """Call ``work`` on runs of consecutive groups, given as their bounds, on ``workers`` threads.

    >>> share_out(print, np.array([0, 2, 5]), workers=1)
    [0, 2, 5]
    """
    shares = _shares(bounds, workers)
    if len(shares) == 1:
        work(shares[0])
        return
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, shares))


def _shares(bounds: Ints, workers: int) -> list[list[int]]:
    """Runs of groups with about the same number of rows, four per worker."""
    if workers == 1:
        return [bounds.tolist()]
    cuts = np.searchsorted(bounds, np.linspace(0, bounds[-1], 4 * workers + 1)[1:-1])
    edges = np.unique(np.concatenate([[0], cuts, [len(bounds) - 1]]))
    return [bounds[a : b + 1].tolist() for a, b in pairwise(edges)]
