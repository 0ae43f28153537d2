"""Whether the sums of a tree are those of the live rows; by NumPy, for audits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from efface.engine.jit.views import ROOT, VALUE, Matrix, Responses, Vector
from efface.engine.tree.shape import CURRENT, GONE, SumTree, open_tree

_CLOSE = 1e-9  # of the product of two columns' lengths


def wrong_nodes(store: Vector, x: Matrix, y: Responses, head: int, end: int) -> Iterator[str]:
    """The names of parts of a tree that hold anything but sums over live rows."""
    if not store.size:
        return
    t = open_tree(store)
    if any(part.any() for part in t.work):
        yield "tree.work"
    if t.sums[t.status != CURRENT].any():
        yield "tree.sums"
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
            yield f"tree.level[{level}]"


def _nodes(t: SumTree, level: int) -> Vector:
    """The nodes of a level that have rows."""
    nodes = np.arange(t.front[level], t.stop[level])
    return nodes[t.status[nodes] != GONE]


def _gram(node: Vector, d: int) -> Matrix:
    """The Gram matrix of a node, the lower triangle."""
    q = d + 2
    gram = np.zeros((q, q))
    gram[np.tril_indices(q)] = node[q : q + q * (q + 1) // 2]
    return gram


def _sums_rows(node: Vector, x: Matrix, y: Responses) -> bool:
    """Are these the sums of these rows?"""
    d = x.shape[1]
    values = np.column_stack([x, np.ones(len(x)), y[:, VALUE]]) - node[: d + 2]
    values *= y[:, ROOT, np.newaxis]
    expected = values.T @ values
    size = np.sqrt(np.outer(expected.diagonal(), expected.diagonal()))
    if node.size > (d + 2) * (d + 5) // 2 and len(x[y[:, ROOT] > 0.0]):
        bounds = node[-2 * d :].reshape(2, d)
        weighted = x[y[:, ROOT] > 0.0]
        if (bounds[0] != weighted.max(axis=0)).any() or (bounds[1] != weighted.min(axis=0)).any():
            return False
    return bool((np.abs(np.tril(expected) - _gram(node, d)) <= _CLOSE * size).all())


def _sums_children(t: SumTree, level: int, node: int) -> bool:
    """Are these the sums of the nodes below?"""
    if t.status[node] != CURRENT:
        return True
    d, children = int(t.state.width), _children(t, level, node)
    if (t.status[children] != CURRENT).any():
        return False
    expected, centre = np.zeros((d + 2, d + 2)), t.sums[node][: d + 2]
    for child in t.sums[children]:
        gram = _gram(child, d)
        gram += np.tril(gram, -1).T
        way, row = child[: d + 2] - centre, gram[d]
        expected += gram + np.outer(way, row + row[d] * way) + np.outer(row, way)
    size = np.sqrt(np.outer(expected.diagonal(), expected.diagonal()))
    found = _gram(t.sums[node], d)
    return bool((np.abs(np.tril(expected) - found) <= _CLOSE * size).all())


def _children(t: SumTree, level: int, node: int) -> Vector:
    """The nodes below a node."""
    nodes, below = _nodes(t, level), _nodes(t, level - 1)
    at = int(np.searchsorted(nodes, node))
    start = below[0] if at == 0 else t.first[node]
    stop = t.first[nodes[at + 1]] if at + 1 < nodes.size else t.stop[level - 1]
    return below[(below >= start) & (below < stop)]
