"""The sums of a tree by NumPy, node by node, compared with those that the tree holds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from efface.engine.jit.views import VALUE, WEIGHT, weighed
from efface.engine.tree.shape import (
    CURRENT,
    GONE,
    allocate_tree,
    extend_tree,
    open_tree,
    refresh_tree,
    root_of,
)

_CLOSE = 1e-9  # of the product of two columns' lengths


def tree_of(X, y, weights=None, *, every=5, bounded=True):
    """A tree whose walls are every fifth row, each fifth of those higher."""
    n = len(y)
    places = np.arange(0, n, every)
    heights = np.where(places % (every * every) == 0, 2, 1)
    store = allocate_tree(X.shape[1], bounded, np.array([n, n, 2]))
    assert extend_tree(store, places, heights, 0, n)
    responses = weighed(y, weights)
    refresh_tree(open_tree(store), X, responses, 0)
    return store, responses, root_of(open_tree(store)).copy()


def wrong_levels(store, x, y, head, end):
    """The levels of a tree whose sums are not those of the live rows."""
    if not store.size:
        return
    t = open_tree(store)
    covered = min(int(t.state.covered), end)
    for level in range(int(t.state.levels)):
        nodes = _nodes(t, level)
        if level == 0 and nodes.size:
            begins = t.first[nodes] - int(t.state.moved)
            begins[:1] = head
            ends = np.append(begins[1:], covered)
            wrong = any(
                not _sums_rows(t.sums[node], x[lo:hi], y[lo:hi])
                for node, lo, hi in zip(nodes, begins, ends, strict=True)
                if t.status[node] == CURRENT
            )
        else:
            wrong = any(not _sums_children(t, level, node) for node in nodes)
        if wrong:
            yield level


def _nodes(t, level):
    """The nodes of a level that have rows."""
    nodes = np.arange(t.front[level], t.stop[level])
    return nodes[t.status[nodes] != GONE]


class _Moments(NamedTuple):
    """The sums of a node as they are: the mean is centre + rest."""

    weight: float
    centre: np.ndarray
    rest: np.ndarray
    scatter: np.ndarray

    @classmethod
    def of(cls, node, d):
        q = d + 2
        full, xy = np.zeros((q, q)), np.r_[:d, d + 1]
        full[np.tril_indices(q)] = node[q : q + q * (q + 1) // 2]
        rest = np.append(full[d, :d], full[d + 1, d])
        scatter = np.tril(full[np.ix_(xy, xy)])
        return cls(float(full[d, d]), node[xy], rest, scatter)

    def sums(self, away, weights, within=0.0):
        """Are these the sums of points, given from the centre, with sums ``within`` them?"""
        if not weights.any():
            return not self.weight and not self.scatter.any()
        rest = weights @ away / weights.sum()
        around = away - rest
        expected = np.tril(around.T @ (weights[:, np.newaxis] * around)) + within
        size = np.sqrt(expected.diagonal())
        close = np.abs(expected - self.scatter) <= _CLOSE * np.outer(size, size)
        near = np.abs(self.rest - rest) <= _CLOSE * (size + np.abs(self.centre))
        same = abs(self.weight - weights.sum()) <= _CLOSE * self.weight
        return bool(close.all() and near.all() and same)


def _sums_rows(node, x, y):
    """Are these the sums of these rows?"""
    d, weighted = x.shape[1], y[:, WEIGHT] > 0.0
    found = _Moments.of(node, d)
    x, y = x[weighted], y[weighted]
    if node.size > (d + 2) * (d + 5) // 2 and len(x):
        bounds = node[-2 * d :].reshape(2, d)
        if (bounds != [x.max(axis=0), x.min(axis=0)]).any():
            return False
    return found.sums(np.column_stack([x, y[:, VALUE]]) - found.centre, y[:, WEIGHT])


def _sums_children(t, level, node):
    """Are these the sums of the nodes below?"""
    if t.status[node] != CURRENT:
        return True
    d, children = int(t.state.width), _children(t, level, node)
    if (t.status[children] != CURRENT).any():
        return False
    found = _Moments.of(t.sums[node], d)
    below = [_Moments.of(child, d) for child in t.sums[children]]
    away = np.array([each.centre - found.centre + each.rest for each in below])
    weights = np.array([each.weight for each in below])
    return found.sums(away, weights, np.sum([each.scatter for each in below], axis=0))


def _children(t, level, node):
    """The nodes below a node."""
    nodes, below = _nodes(t, level), _nodes(t, level - 1)
    at = int(np.searchsorted(nodes, node))
    start = below[0] if at == 0 else t.first[node]
    stop = t.first[nodes[at + 1]] if at + 1 < nodes.size else t.stop[level - 1]
    return below[(below >= start) & (below < stop)]
