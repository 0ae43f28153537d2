"""The shape of the tree: leaves of rows, nodes of leaves, and how rows come and leave.

Some rows are *walls*: a hash of the id says so, and how high the wall is (see ``walls``). A leaf is
the live rows from one wall to the next. A node of level k is what lies between two walls that are
higher than k. So the shape follows from the ids and the order of the live rows. The first live row
begins a node of every level, whatever its id.

Nodes of a level lie side by side, in the order of their rows. A wall that leaves joins its nodes to
those before them. The sums of every node that contained a row that left are overwritten at once,
and made anew from rows and nodes when they are needed: nothing is ever subtracted.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.jit.compilation import INNER, KERNEL, carving, shared
from efface.engine.jit.records import Record, as_ints, record, words
from efface.engine.jit.views import Ints, Matrix, Responses, Vector, part, take
from efface.engine.linalg.dense import copy, fill
from efface.engine.sums.sliding import CHUNK, widen
from efface.engine.tree.nodes import (
    NodeWork,
    add_child,
    add_gram_of_rows,
    add_mean,
    finish_merge,
    lay_out_work,
    move_mean,
    node_bounds,
    node_words,
    sum_rows,
    weight_in,
)

GONE, CURRENT, STALE = range(3)  # of a node: has no rows; sums are those of its rows; sums are 0

tree_state, _STATE = record(
    ints=[
        *("width", "bounded", "levels", "nodes"),  # fixed at allocation
        "covered",  # rows before this place are in the tree
        "moved",  # how far rows have moved towards the front: places count from there
        "limit",  # no current node contains a row that leaves before this place
    ]
)


class SumTree(NamedTuple):
    """The tree in a store. Nodes have one numbering; places are those of rows, plus ``moved``."""

    state: Record
    starts: Ints  # (levels + 1,): where the nodes of a level begin
    front: Ints  # (levels,): the first node of a level that has live rows
    stop: Ints  # (levels,): behind the last node of a level
    waiting: Ints  # (levels,): how many nodes are in the queue
    queue: Ints  # (nodes,): the stale nodes, by level
    first: Ints  # (nodes,): the place of a leaf's first row; the first child of another node
    parent: Ints  # (nodes,)
    status: Ints  # (nodes,)
    work: NodeWork
    sums: Matrix  # (nodes, words per node)


@carving
def _lay_out(
    f: Vector, at: int, d: int, bounded: int, levels: int, nodes: int
) -> tuple[SumTree, int]:
    starts = at + _STATE
    front = starts + levels + 1
    queue = front + 3 * levels
    work, sums = lay_out_work(f, queue + 4 * nodes, d + 2)
    size = node_words(d, bounded)
    tree = SumTree(
        tree_state(part(f, at, starts)),
        as_ints(part(f, starts, front)),
        as_ints(part(f, front, front + levels)),
        as_ints(part(f, front + levels, front + 2 * levels)),
        as_ints(part(f, front + 2 * levels, queue)),
        as_ints(part(f, queue, queue + nodes)),
        as_ints(part(f, queue + nodes, queue + 2 * nodes)),
        as_ints(part(f, queue + 2 * nodes, queue + 3 * nodes)),
        as_ints(part(f, queue + 3 * nodes, queue + 4 * nodes)),
        work,
        take(f, sums, nodes, size),
    )
    return tree, sums + nodes * size


@carving
def open_tree(store: Vector) -> SumTree:
    """The tree that lies in a store; its state says its shape."""
    state = tree_state(store)
    return _lay_out(store, 0, state.width, state.bounded, state.levels, state.nodes)[0]


def allocate_tree(width: int, bounded: bool, counts: Ints) -> Vector:
    """A store for a tree without rows that has room for ``counts[k]`` nodes of level k."""
    levels, nodes = counts.size, int(counts.sum())
    store = np.zeros(words(_lay_out, width, int(bounded), levels, nodes))
    state = tree_state(store)
    state.width, state.bounded, state.levels, state.nodes = width, bounded, levels, nodes
    tree = open_tree(store)
    tree.starts[1:] = np.cumsum(counts)
    tree.front[:] = tree.stop[:] = tree.starts[:-1]
    return store


# -- the way through the tree --------------------------------------------------------------------


@numba.njit(**INNER)
def next_node(t: SumTree, level: int, node: int) -> int:
    """The next node of a level that has rows, or the end of the level."""
    node += 1
    while node < t.stop[level] and t.status[node] == GONE:
        node += 1
    return node


@numba.njit(**INNER)
def _holder(t: SumTree, node: int) -> int:
    """The node that a node belongs to now: itself, or the one that it was joined to."""
    while t.status[node] == GONE:
        node -= 1
    return node


@numba.njit(**INNER)
def first_child(t: SumTree, level: int, node: int) -> int:
    return t.front[level - 1] if node == t.front[level] else t.first[node]


@numba.njit(**INNER)
def behind_children(t: SumTree, level: int, node: int) -> int:
    """The end of the children of a node."""
    following = next_node(t, level, node)
    return t.first[following] if following < t.stop[level] else t.stop[level - 1]


@numba.njit(**INNER)
def place_of_node(t: SumTree, level: int, node: int) -> int:
    """The place of the first row of a node other than the front."""
    for _ in range(level):
        node = t.first[node]
    return t.first[node] - t.state.moved


@numba.njit(**INNER)
def _leaf_of(t: SumTree, place: int) -> int:
    """The leaf that contains a place, which is counted as ``first`` is."""
    low, high = t.front[0], t.stop[0]
    while high - low > 1:
        middle = (low + high) // 2
        if t.first[middle] <= place:
            low = middle
        else:
            high = middle
    return _holder(t, low)


# -- rows come and leave -------------------------------------------------------------------------


@numba.njit(**INNER)
def _enqueue(t: SumTree, level: int, node: int) -> None:
    t.queue[t.starts[level] + t.waiting[level]] = node
    t.waiting[level] += 1
    t.status[node] = STALE


@numba.njit(**INNER)
def _invalidate(t: SumTree, level: int, node: int) -> None:
    """Overwrite the sums of a node and of all that contain it."""
    while t.status[node] == CURRENT:
        fill(t.sums[node], 0.0)
        _enqueue(t, level, node)
        level += 1
        if level == t.state.levels:
            return
        node = _holder(t, t.parent[node])


@numba.njit(**INNER)
def _discard(t: SumTree, node: int) -> None:
    """The node has no rows of its own any more."""
    if t.status[node] == CURRENT:
        fill(t.sums[node], 0.0)
    t.status[node] = GONE


@numba.njit(**INNER)
def _append(t: SumTree, level: int, place: int) -> bool:
    """A new last node of a level; False if there is no room."""
    node = t.stop[level]
    if node == t.starts[level + 1]:
        return False
    t.first[node] = place if level == 0 else t.stop[level - 1]
    t.parent[node] = t.stop[level + 1] - 1 if level + 1 < t.state.levels else 0
    t.stop[level] += 1
    _enqueue(t, level, node)
    return True


@numba.njit(**KERNEL)
def extend_tree(store: Vector, places: Ints, heights: Ints, head: int, end: int) -> bool:
    """Take in the rows up to ``end``, of which those at ``places`` are walls.

    False if there is no room: the tree must then be made anew, with more.
    """
    t = open_tree(store)
    levels, moved = t.state.levels, t.state.moved
    if t.stop[0] == t.starts[0]:
        t.state.covered = head
        for level in range(levels - 1, -1, -1):
            if not _append(t, level, head + moved):
                return False
    elif t.state.covered < (places[0] if places.size else end):
        _invalidate(t, 0, _holder(t, t.stop[0] - 1))
    for i in range(places.size):
        if places[i] == head:
            continue
        height = heights[i]
        if height >= levels:
            return False
        _invalidate(t, height, _holder(t, t.stop[height] - 1))
        for level in range(height - 1, -1, -1):
            if not _append(t, level, places[i] + moved):
                return False
    t.state.covered = end
    return True


@numba.njit(**INNER)
def remove_from_tree(t: SumTree, place: int) -> None:
    """A row leaves from anywhere; nothing that contained it remains."""
    if place >= t.state.covered:
        return
    at = place + t.state.moved
    node, level = _leaf_of(t, at), 0
    _invalidate(t, 0, node)
    wall = t.first[node] == at
    while wall and node != t.front[level]:
        _discard(t, node)
        _invalidate(t, level, _holder(t, node))
        if level + 1 == t.state.levels:
            return
        parent = t.parent[node]
        wall = t.status[parent] != GONE and t.first[parent] == node
        node, level = parent, level + 1


@numba.njit(**KERNEL)
def insert_in_tree(store: Vector, place: int) -> None:
    """A row that is no wall was put in at ``place``, behind the first, and others moved up."""
    t = open_tree(store)
    if place >= t.state.covered:
        return
    at = place + t.state.moved
    _invalidate(t, 0, _leaf_of(t, at - 1))
    for leaf in range(t.front[0] + 1, t.stop[0]):
        if t.first[leaf] >= at:
            t.first[leaf] += 1
    t.state.covered += 1
    t.state.limit = min(t.state.limit, at)


@numba.njit(**KERNEL)
def release_tree(store: Vector, head: int) -> None:
    """The rows before ``head`` have left: overwrite all sums that contained them."""
    t = open_tree(store)
    place = head + t.state.moved
    if t.stop[0] == t.starts[0] or place <= t.state.limit:
        return
    _invalidate(t, 0, t.front[0])
    if head >= t.state.covered:
        _clear(t)
        return
    leaf = t.front[0]
    following = next_node(t, 0, leaf)
    while following < t.stop[0] and t.first[following] <= place:
        _invalidate(t, 0, leaf)
        _discard(t, leaf)
        leaf, following = following, next_node(t, 0, following)
    if t.first[leaf] < place:
        _invalidate(t, 0, leaf)
    _move_front(t, leaf)
    t.state.limit = place
    if t.status[leaf] == STALE:
        t.state.limit = t.state.covered + t.state.moved
        if following < t.stop[0]:
            t.state.limit = t.first[following]


@numba.njit(**INNER)
def _move_front(t: SumTree, node: int) -> None:
    """Let the levels begin at the nodes that contain a leaf."""
    for level in range(t.state.levels):
        if level > 0:
            node = _holder(t, t.parent[node])
        for old in range(t.front[level], node):
            _discard(t, old)
        t.front[level] = node


@numba.njit(**INNER)
def _clear(t: SumTree) -> None:
    """No row is in the tree."""
    for level in range(t.state.levels):
        for node in range(t.front[level], t.stop[level]):
            _discard(t, node)
        t.front[level], t.stop[level], t.waiting[level] = t.starts[level], t.starts[level], 0
    t.state.limit = 0


def shift_tree(store: Vector, by: int) -> None:
    """Follow rows that have moved ``by`` places towards the front of their array."""
    state = tree_state(store)
    state.moved += by
    state.covered -= by


def cut_tree(store: Vector, end: int) -> None:
    """The places from ``end`` on have no rows any more."""
    tree_state(store).covered = end


# -- sums ----------------------------------------------------------------------------------------


@carving
def root_of(t: SumTree) -> Vector:
    """The sums of all rows of a tree whose sums are current."""
    return t.sums[t.front[t.state.levels - 1]]


@shared()
def refresh_tree(t: SumTree, x: Matrix, y: Responses, head: int) -> None:
    """Make all sums current."""
    for level in range(t.state.levels):
        for i in range(t.waiting[level]):
            node = t.queue[t.starts[level] + i]
            if t.status[node] == STALE:
                sum_node(t, level, node, x, y, head, t.sums[node])
                t.status[node] = CURRENT
        t.waiting[level] = 0
    t.state.limit = head + t.state.moved


@numba.njit(**INNER)
def sum_node(
    t: SumTree, level: int, node: int, x: Matrix, y: Responses, head: int, out: Vector
) -> None:
    """Write the sums of a node whose children have theirs."""
    if level > 0:
        _merge(t, level, node, out)
        return
    lo = head if node == t.front[0] else t.first[node] - t.state.moved
    following = next_node(t, 0, node)
    hi = t.first[following] - t.state.moved if following < t.stop[0] else t.state.covered
    sum_rows(x, y, lo, hi, out, t.state.bounded == 1, t.work)


@numba.njit(**INNER)
def _merge(t: SumTree, level: int, node: int, out: Vector) -> None:
    """The sums of a node, from its children in their order; of one child, those as they are."""
    start, stop = first_child(t, level, node), behind_children(t, level, node)
    d, bounded, weighted, last, total = t.state.width, t.state.bounded == 1, 0, start, 0.0
    for child in range(start, stop):
        weight = weight_in(t.sums[child], d)  # 0 if the child is gone
        if weight > 0.0:
            weighted, last, total = weighted + 1, child, total + weight
    copy(t.sums[last], out)
    if weighted <= 1:
        return
    for child in range(start, stop):
        if weight_in(t.sums[child], d) > 0.0:
            add_mean(t.sums[child], t.sums[last], total, d, t.work.mean)
            if bounded:
                new = node_bounds(t.sums[child], d)
                widen(node_bounds(out, d), new[0], new[1])
    _merge_sums(t, start, stop, out, total, d)


@numba.njit(**INNER)
def _merge_sums(t: SumTree, start: int, stop: int, out: Vector, total: float, d: int) -> None:
    """The sums of the nodes start..stop around their mean, which the scratch has in part."""
    w, count = t.work, 0
    move_mean(out, d, w)
    for child in range(start, stop):
        if weight_in(t.sums[child], d) > 0.0:
            add_mean(t.sums[child], out, total, d, w.mean)
    for child in range(start, stop):
        if weight_in(t.sums[child], d) > 0.0:
            add_child(out, t.sums[child], d, count, w)
            count += 1
            if count == CHUNK:
                add_gram_of_rows(out, count, w)
                fill(w.rows, 0.0)
                count = 0
    finish_merge(out, total, d, count, w)
