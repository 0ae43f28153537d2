"""The sums of one node of the tree: of a few rows, or of the nodes below it.

A node holds the weight W of its rows (x, y), their mean and the sums of squares and products around
it. The mean is c + e: c is the mean, rounded to a double, and e is what c lacks. So sums lose no
digits, however far the rows lie from the origin, and no node depends on rows outside it. With v the
mean of a node minus the mean of all its siblings, the sums of the node above are

    W = sum W_k,    M = sum M_k + sum W_k v_k v_k'.

The numbers lie in the lower triangle of a matrix with q = d + 2 rows: M in the rows and columns of
x and y, and between them row d with e and W.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.jit.blas import add_gram
from efface.engine.jit.compilation import INNER, carving
from efface.engine.jit.simd import LANES, add_products
from efface.engine.jit.views import ROOT, VALUE, WEIGHT, Matrix, Responses, Vector, part, take
from efface.engine.linalg.dense import add_row, copy, fill
from efface.engine.sums.sliding import CHUNK, SMALL, widen


class NodeWork(NamedTuple):
    """Scratch of a tree; q = d + 2. All zeros between calls."""

    rows: Matrix  # (CHUNK, q)
    gram: Matrix  # (q, q)
    mean: Vector  # (q,)


@carving
def lay_out_work(store: Vector, at: int, q: int) -> tuple[NodeWork, int]:
    """The scratch that lies in a flat array, and the offset behind it."""
    gram = at + CHUNK * q
    mean = gram + q * q
    work = NodeWork(take(store, at, CHUNK, q), take(store, gram, q, q), part(store, mean, mean + q))
    return work, mean + q


@carving
def node_words(d: int, bounded: int) -> int:
    """Numbers per node: rounded mean, lower triangle, and bounds of the features if wanted."""
    q = d + 2
    return q + q * (q + 1) // 2 + 2 * d * bounded


@carving
def triangle_row(node: Vector, q: int, i: int) -> Vector:
    """Row i of the lower triangle of a node, i + 1 numbers."""
    start = q + i * (i + 1) // 2
    return part(node, start, start + i + 1)


@numba.njit(**INNER)
def weight_in(node: Vector, d: int) -> float:
    """The sum of the weights of a node's rows."""
    return triangle_row(node, d + 2, d)[d]


@numba.njit(**INNER)
def node_bounds(node: Vector, d: int) -> Matrix:
    """The largest and the smallest of each feature, (2, d), of a node with bounds."""
    return take(node, node.size - 2 * d, 2, d)


@numba.njit(**INNER)
def sum_rows(
    x: Matrix, y: Responses, lo: int, hi: int, node: Vector, bounded: bool, w: NodeWork
) -> None:
    """Write the sums of the rows lo..hi. Rows without weight are as good as absent."""
    d, first, total = x.shape[1], lo, 0.0
    centre = part(node, 0, d + 2)
    fill(node, 0.0)
    while first < hi and y[first, WEIGHT] == 0.0:
        first += 1
    if first == hi:
        return
    for i in range(first, hi):
        weight = y[i, WEIGHT]
        total += weight
        for j in range(d):
            centre[j] += weight * (x[i, j] - x[first, j])
        centre[d + 1] += weight * (y[i, VALUE] - y[first, VALUE])
    for j in range(d):
        centre[j] = x[first, j] + centre[j] / total
    centre[d + 1] = y[first, VALUE] + centre[d + 1] / total
    _add_rows(x, y, first, hi, node, w)
    _centre_sums(node, d, total)
    if bounded:
        _bound_rows(x, y, first, hi, node_bounds(node, d))


@numba.njit(**INNER)
def _centre_sums(node: Vector, d: int, total: float) -> None:
    """From sums around the rounded mean to sums around the mean; row d becomes e and W."""
    rest, last = triangle_row(node, d + 2, d), triangle_row(node, d + 2, d + 1)
    for j in range(d):
        rest[j] /= total
    last[d] /= total
    for i in range(d):
        row, moment = triangle_row(node, d + 2, i), total * rest[i]
        for j in range(i + 1):
            row[j] -= moment * rest[j]
    for j in range(d):
        last[j] -= total * last[d] * rest[j]
    last[d + 1] -= total * last[d] * last[d]


@numba.njit(**INNER)
def _bound_rows(x: Matrix, y: Responses, lo: int, hi: int, bounds: Matrix) -> None:
    copy(x[lo], bounds[0])
    copy(x[lo], bounds[1])
    for i in range(lo, hi):
        if y[i, WEIGHT] > 0.0:
            widen(bounds, x[i], x[i])


@numba.njit(**INNER)
def _add_rows(x: Matrix, y: Responses, lo: int, hi: int, node: Vector, w: NodeWork) -> None:
    """Add the Gram matrix of the rows lo..hi that have weight, CHUNK of them at a time."""
    d, count, most = x.shape[1], 0, min(CHUNK, hi - lo)
    centre = part(node, 0, d + 2)
    for i in range(lo, hi):
        root = y[i, ROOT]
        if root == 0.0:
            continue
        row = w.rows[count]
        for j in range(d):
            row[j] = root * (x[i, j] - centre[j])
        row[d] = root
        row[d + 1] = root * (y[i, VALUE] - centre[d + 1])
        count += 1
        if count == CHUNK:
            add_gram_of_rows(node, count, w)
            count = 0
    add_gram_of_rows(node, count, w)
    fill(part(w.rows, 0, most), 0.0)


@numba.njit(**INNER)
def add_gram_of_rows(node: Vector, count: int, w: NodeWork) -> None:
    """Add the Gram matrix of the first ``count`` rows of the scratch to the triangle of a node."""
    q, at = w.gram.shape[0], w.gram.shape[0]
    if q < SMALL:
        out = take(node, 0, 1, node.size)
        for i in range(q):
            for j in range(0, i + 1, LANES):
                add_products(w.rows, out, at + j, j, i, q, count)
            at += i + 1
        return
    add_gram(part(w.rows, 0, count), w.gram)
    for i in range(q):
        add_row(1.0, w.gram[i], triangle_row(node, q, i))
    fill(w.gram, 0.0)


@numba.njit(**INNER)
def add_mean(child: Vector, centre: Vector, total: float, d: int, out: Vector) -> None:
    """out += W_k / total times the mean of a child, measured from a centre."""
    share = weight_in(child, d) / total
    rest, last = triangle_row(child, d + 2, d), triangle_row(child, d + 2, d + 1)
    for j in range(d):
        out[j] += share * (child[j] - centre[j] + rest[j])
    out[d + 1] += share * (child[d + 1] - centre[d + 1] + last[d])


@numba.njit(**INNER)
def move_mean(node: Vector, d: int, w: NodeWork) -> None:
    """Move the rounded mean of a node by the scratch; nothing is summed around it yet."""
    for j in range(d + 2):
        node[j] += w.mean[j]
    fill(w.mean, 0.0)
    fill(_triangle(node, d + 2), 0.0)


@numba.njit(**INNER)
def add_child(node: Vector, child: Vector, d: int, count: int, w: NodeWork) -> None:
    """Add the sums of a child around its mean; the mean itself is row ``count`` of the scratch."""
    q, row, root = d + 2, w.rows[count], np.sqrt(weight_in(child, d))
    rest, last = triangle_row(child, q, d), triangle_row(child, q, d + 1)
    for j in range(d):
        row[j] = root * (child[j] - node[j] + (rest[j] - w.mean[j]))
    row[d + 1] = root * (child[d + 1] - node[d + 1] + (last[d] - w.mean[d + 1]))
    source, out = _triangle(child, q), _triangle(node, q)
    for k in range(out.size):
        out[k] += source[k]


@numba.njit(**INNER)
def finish_merge(node: Vector, total: float, d: int, count: int, w: NodeWork) -> None:
    """Add what the means of ``count`` children contribute, and write e and W."""
    q = d + 2
    add_gram_of_rows(node, count, w)
    rest, last = triangle_row(node, q, d), triangle_row(node, q, d + 1)
    copy(w.mean, part(rest, 0, d))
    rest[d], last[d] = total, w.mean[d + 1]
    fill(w.mean, 0.0)
    fill(part(w.rows, 0, count), 0.0)


@numba.njit(**INNER)
def _triangle(node: Vector, q: int) -> Vector:
    return part(node, q, q + q * (q + 1) // 2)


@numba.njit(**INNER)
def add_to_total(node: Vector, centre: Vector, total: Matrix, w: NodeWork) -> None:
    """Add the sums of a node to the Gram matrix of rows (x, 1, y) around a centre."""
    q = centre.size
    d, weight, v = q - 2, weight_in(node, q - 2), w.mean
    if weight == 0.0:
        return
    add_mean(node, centre, weight, d, v)
    v[d] = 1.0
    for i in range(q):
        source, out, moment = triangle_row(node, q, i), total[i], weight * v[i]
        for j in range(i + 1):
            out[j] += moment * v[j] + (source[j] if i != d and j != d else 0.0)
    fill(v, 0.0)
