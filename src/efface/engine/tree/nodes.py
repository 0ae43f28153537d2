"""The sums of one node of the tree: of a few rows, or of the nodes below it.

A node holds a centre c and the Gram matrix of the rows q (x - c, 1, y - cy), where q is the square
root of a row's weight. The centre is the mean of the node's own rows, rounded. So sums lose no
digits, however far the rows lie from the origin, and no node depends on rows outside it.

With G a node's Gram matrix, R its row of the constant, W the weight and v = c - c' the way to
another centre, the Gram matrix around c' is

    G_ij + v_i (R_j + W v_j) + R_i v_j.
"""

from __future__ import annotations

from typing import NamedTuple

import numba

from efface.engine.jit.compilation import INNER, carving
from efface.engine.jit.views import ROOT, VALUE, WEIGHT, Matrix, Responses, Vector, part, take
from efface.engine.linalg.dense import copy, fill
from efface.engine.sums.sliding import CHUNK, add_gram_of, widen


class NodeWork(NamedTuple):
    """Scratch of a tree; q = d + 2. All zeros between calls."""

    rows: Matrix  # (CHUNK, q)
    gram: Matrix  # (q, q)
    vectors: Matrix  # (2, q)


@carving
def lay_out_work(store: Vector, at: int, q: int) -> tuple[NodeWork, int]:
    """The scratch that lies in a flat array, and the offset behind it."""
    gram = at + CHUNK * q
    vectors = gram + q * q
    work = NodeWork(take(store, at, CHUNK, q), take(store, gram, q, q), take(store, vectors, 2, q))
    return work, vectors + 2 * q


@carving
def node_words(d: int, bounded: int) -> int:
    """Numbers per node: centre, lower triangle of the Gram matrix, and bounds of the features."""
    q = d + 2
    return q + q * (q + 1) // 2 + 2 * d * bounded


@carving
def gram_row(node: Vector, q: int, i: int) -> Vector:
    """Row i of the lower triangle of a node's Gram matrix, i + 1 numbers."""
    start = q + i * (i + 1) // 2
    return part(node, start, start + i + 1)


@numba.njit(**INNER)
def weight_in(node: Vector, d: int) -> float:
    """The sum of the weights of a node's rows."""
    return gram_row(node, d + 2, d)[d]


@numba.njit(**INNER)
def node_bounds(node: Vector, d: int) -> Matrix:
    """The largest and the smallest of each feature, (2, d), of a node with bounds."""
    return take(node, node.size - 2 * d, 2, d)


@numba.njit(**INNER)
def sum_rows(
    x: Matrix, y: Responses, lo: int, hi: int, node: Vector, bounded: bool, w: NodeWork
) -> None:
    """Write the sums of the rows lo..hi. Rows without weight are as good as absent."""
    d = x.shape[1]
    q, centre = d + 2, part(node, 0, d + 2)
    fill(node, 0.0)
    first, total = lo, 0.0
    while first < hi and y[first, WEIGHT] == 0.0:
        first += 1
    if first == hi:
        return
    for i in range(first, hi):
        total += y[i, WEIGHT]
    for i in range(first, hi):
        weight = y[i, WEIGHT]
        for j in range(d):
            centre[j] += weight * (x[i, j] - x[first, j])
        centre[d + 1] += weight * (y[i, VALUE] - y[first, VALUE])
    for j in range(d):
        centre[j] = x[first, j] + centre[j] / total
    centre[d + 1] = y[first, VALUE] + centre[d + 1] / total
    _add_rows(x, y, first, hi, centre, w)
    for i in range(q):
        copy(w.gram[i], gram_row(node, q, i))
    fill(w.gram, 0.0)
    if bounded:
        bounds = node_bounds(node, d)
        copy(x[first], bounds[0])
        copy(x[first], bounds[1])
        for i in range(first, hi):
            if y[i, WEIGHT] > 0.0:
                widen(bounds, x[i], x[i])


@numba.njit(**INNER)
def _add_rows(x: Matrix, y: Responses, lo: int, hi: int, centre: Vector, w: NodeWork) -> None:
    """w.gram += the Gram matrix of the rows lo..hi that have weight, CHUNK of them at a time."""
    d, count, most = x.shape[1], 0, min(CHUNK, hi - lo)
    for i in range(lo, hi):
        root = y[i, ROOT]
        if root == 0.0:
            continue
        for j in range(d):
            w.rows[count, j] = root * (x[i, j] - centre[j])
        w.rows[count, d] = root
        w.rows[count, d + 1] = root * (y[i, VALUE] - centre[d + 1])
        count += 1
        if count == CHUNK:
            add_gram_of(w.rows, count, w.gram)
            count = 0
    if count > 0:
        add_gram_of(w.rows, count, w.gram)
    fill(part(w.rows, 0, most), 0.0)


@numba.njit(**INNER)
def start_merge(node: Vector, child: Vector, d: int, w: NodeWork) -> None:
    """Add a child to the weight and the mean of a node; the first has the centre for the others."""
    weight, total = weight_in(child, d), w.vectors[1]
    if weight == 0.0:
        return
    if total[d] == 0.0:
        copy(child, part(node, 0, d + 2))
    constant = gram_row(child, d + 2, d)
    last = gram_row(child, d + 2, d + 1)
    for j in range(d):
        total[j] += constant[j] + weight * (child[j] - node[j])
    total[d + 1] += last[d] + weight * (child[d + 1] - node[d + 1])
    total[d] += weight


@numba.njit(**INNER)
def set_mean(node: Vector, d: int, w: NodeWork) -> None:
    """The centre of a node: the mean of its children, all of which ``start_merge`` has seen."""
    total = w.vectors[1]
    if total[d] > 0.0:
        for j in range(d + 2):
            node[j] += total[j] / total[d] if j != d else 0.0
    fill(total, 0.0)


@numba.njit(**INNER)
def add_child(node: Vector, child: Vector, d: int, bounded: bool, w: NodeWork) -> None:
    """Add the sums of a child to those of a node that has its centre."""
    q = d + 2
    if weight_in(child, d) == 0.0:
        return
    first = weight_in(node, d) == 0.0
    _set_shift(child, part(node, 0, q), w)
    for i in range(q):
        _add_shifted(gram_row(child, q, i), i, q, child, gram_row(node, q, i), w)
    fill(w.vectors, 0.0)
    if bounded:
        bounds, new = node_bounds(node, d), node_bounds(child, d)
        if first:
            copy(new[0], bounds[0])
            copy(new[1], bounds[1])
        widen(bounds, new[0], new[1])


@numba.njit(**INNER)
def _set_shift(node: Vector, centre: Vector, w: NodeWork) -> None:
    """vectors <- v, the way from a centre to that of the node, and R + W v."""
    q = centre.size
    constant, last, weight = gram_row(node, q, q - 2), gram_row(node, q, q - 1), 0.0
    weight = constant[q - 2]
    for j in range(q):
        w.vectors[0, j] = node[j] - centre[j]
        row = constant[j] if j < q - 1 else last[q - 2]
        w.vectors[1, j] = row + weight * w.vectors[0, j]


@numba.njit(**INNER)
def _add_shifted(source: Vector, i: int, q: int, node: Vector, out: Vector, w: NodeWork) -> None:
    """out += row i of the Gram matrix of a node around another centre."""
    v, t = w.vectors[0], w.vectors[1]
    constant = gram_row(node, q, q - 2)
    way, row = v[i], constant[i] if i < q - 1 else gram_row(node, q, q - 1)[q - 2]
    for j in range(i + 1):
        out[j] += source[j] + way * t[j] + row * v[j]


@numba.njit(**INNER)
def add_to_total(node: Vector, centre: Vector, total: Matrix, w: NodeWork) -> None:
    """Add the sums of a node to a full matrix of sums around another centre, lower triangle."""
    q = centre.size
    _set_shift(node, centre, w)
    for i in range(q):
        _add_shifted(gram_row(node, q, i), i, q, node, part(total[i], 0, i + 1), w)
    fill(w.vectors, 0.0)
