"""Whether a tree holds anything but sums over live rows; for audits.

Every sum is made anew from the live rows and compared bit by bit: equal rows give equal bits. Tests
compare the sums with those by NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator

import numba
import numpy as np

from efface.engine.jit.compilation import KERNEL
from efface.engine.jit.views import Matrix, Responses, Vector
from efface.engine.tree.shape import CURRENT, open_tree, sum_node


def wrong_nodes(store: Vector, x: Matrix, y: Responses, head: int) -> Iterator[str]:
    """The names of parts of a tree that hold anything but sums over live rows."""
    if not store.size:
        return
    t = open_tree(store)
    if any(part.any() for part in t.work):
        yield "tree.work"
    if t.sums[t.status != CURRENT].any():
        yield "tree.sums"
    level = _first_wrong_level(store.copy(), x, y, head, np.zeros(t.sums.shape[1]))
    if level >= 0:
        yield f"tree.level[{level}]"


@numba.njit(**KERNEL)
def _first_wrong_level(store: Vector, x: Matrix, y: Responses, head: int, again: Vector) -> int:
    """The lowest level that has a current node with other sums than its rows give, or -1."""
    t = open_tree(store)
    for level in range(t.state.levels):
        for node in range(t.front[level], t.stop[level]):
            if t.status[node] == CURRENT:
                found = t.sums[node]
                sum_node(t, level, node, x, y, head, again)
                for k in range(found.size):
                    if found[k] != again[k]:
                        return level
    return -1
