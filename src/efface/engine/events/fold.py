"""Cores whose sums come from the tree, and rows that leave from anywhere.

The first core of many rows is formed from the sums of the tree: all live rows, none outside it. So
it is the same whether rows have left or never came. When rows come and leave after that, the
sliding sums go on from the nodes of the tree.
"""

from __future__ import annotations

import numba

from efface.engine.events.rows import Rows, open_rows
from efface.engine.events.state import discard_state, open_stream
from efface.engine.events.stream import form_core, gather_core
from efface.engine.jit.compilation import INNER, KERNEL
from efface.engine.jit.views import WEIGHT, Ints, Matrix, Responses, Vector, part, take
from efface.engine.linalg.dense import copy, fill
from efface.engine.sums.sliding import NEVER, Sums, clear_bounds, start_at, widen
from efface.engine.tree.nodes import add_to_total, node_bounds, weight_in
from efface.engine.tree.shape import (
    GONE,
    SumTree,
    behind_children,
    open_tree,
    place_of_node,
    refresh_tree,
    remove_from_tree,
    root_of,
)


@numba.njit(**KERNEL, nogil=True)
def fold_rows(
    x: Matrix, y: Responses, span: Ints, store: Vector, tree: Vector, watched: bool | None
) -> bool:
    """Form a core of many rows from the sums of the tree: the answer to FOLD.

    True if sliding sums were started, which go on without the tree.
    """
    s, r, t = open_stream(store), open_rows(x, y, span), open_tree(tree)
    refresh_tree(t, x, y, r.span.head)
    first = s.state.core_start == r.span.head and s.state.fresh == 1
    if first:
        take_over(s.sums, r, s.state.has_intercept == 1, t)
        s.state.fresh = 0
    else:
        stack_nodes(s.sums, r, s.state.has_intercept == 1, t)
        gather_core(s, r)
    form_core(s, r, watched)
    return not first


@numba.njit(**INNER)
def _set_centre(s: Sums, root: Vector, intercept: bool) -> None:
    """The centre is the mean of y, and of x with an intercept."""
    fill(s.centre, 0.0)
    d = s.centre.size - 2
    if intercept:
        copy(root, part(s.centre, 0, d))
    s.centre[d + 1] = root[d + 1]


@numba.njit(**INNER)
def take_over(s: Sums, r: Rows, intercept: bool, t: SumTree) -> None:
    """The sums of all live rows. Nothing is kept for rows that come or leave later."""
    root = root_of(t)
    _set_centre(s, root, intercept)
    s.state.anchor, s.state.seen = r.span.end - 1, NEVER
    fill(s.total, 0.0)
    add_to_total(root, s.centre, s.total, t.work)
    if s.state.bounded == 1:
        bounds = node_bounds(root, t.state.width)
        copy(bounds[0], s.bounds[0])
        copy(bounds[1], s.bounds[1])


@numba.njit(**INNER)
def stack_nodes(s: Sums, r: Rows, intercept: bool, t: SumTree) -> None:
    """Sliding sums whose stack has an entry at each node behind the front ones, level by level."""
    start_at(s, r.span.end)
    _set_centre(s, root_of(t), intercept)
    for level in range(t.state.levels - 1, 0, -1):
        front = t.front[level]
        for node in range(behind_children(t, level, front) - 1, t.front[level - 1], -1):
            if t.status[node] != GONE:
                _push(s, t, level - 1, node)


@numba.njit(**INNER)
def _push(s: Sums, t: SumTree, level: int, node: int) -> None:
    """One more entry: the sums from the first row of a node on."""
    d, q, depth = s.bounds.shape[1], s.total.shape[0], s.state.entries
    if depth + 2 >= s.starts.size:
        return
    entry = take(s.stack, depth * q * q, q, q)
    if depth > 0:
        copy(s.stack[depth - 1], s.stack[depth])
    add_to_total(t.sums[node], s.centre, entry, t.work)
    if s.state.bounded == 1:
        bounds = take(s.stack_bounds, depth * 2 * d, 2, d)
        clear_bounds(bounds)
        if depth > 0:
            copy(s.stack_bounds[depth - 1], s.stack_bounds[depth])
        if weight_in(t.sums[node], d) > 0.0:
            new = node_bounds(t.sums[node], d)
            widen(bounds, new[0], new[1])
    s.starts[depth] = place_of_node(t, level, node)
    s.state.entries = depth + 1


@numba.njit(**KERNEL)
def blank_rows(
    x: Matrix, y: Responses, span: Ints, store: Vector, tree: Vector, positions: Ints
) -> None:
    """Overwrite rows where they lie, and all that was derived from them.

    What remains of a row is a gap: zeros, without weight. Positions count from the oldest row.
    """
    blank_places(open_rows(x, y, span), open_tree(tree), positions)
    discard_state(open_stream(store))


@numba.njit(**INNER)
def blank_places(r: Rows, t: SumTree, positions: Ints) -> None:
    """Overwrite rows, and the nodes of the tree that contain them."""
    for i in range(positions.size):
        row = r.span.head + positions[i]
        if r.y[row, WEIGHT] != 0.0:
            r.span.weightless += 1
        fill(r.x[row], 0.0)
        fill(r.y[row], 0.0)
        remove_from_tree(t, row)


@numba.njit(**KERNEL)
def discard_rows(store: Vector) -> None:
    """Overwrite all that was derived from the live rows; the next question starts from them."""
    discard_state(open_stream(store))
