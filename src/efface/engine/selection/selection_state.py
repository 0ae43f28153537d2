"""The state of a solver that selects its penalty: layout, allocation, and rows that come or leave.

Sums over many rows come from the tree of sums, as in ``efface.engine.events.fold``.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.events.fold import blank_places, stack_nodes, take_over
from efface.engine.events.rows import open_rows, span_of
from efface.engine.events.state import STATE_WORDS, Rule, set_rule, stream_state
from efface.engine.events.stream import push
from efface.engine.jit.compilation import INNER, KERNEL, carving
from efface.engine.jit.records import Record, record, words
from efface.engine.jit.views import Ints, Matrix, Responses, Vector, part
from efface.engine.linalg.dense import fill
from efface.engine.selection.few_rows import FewRows, clear_few, lay_out_few
from efface.engine.selection.grid import Grid, clear_grid, lay_out_grid
from efface.engine.standardized.correlations import Frame, lay_out_frame
from efface.engine.standardized.standardized_fit import release_stream
from efface.engine.sums.sliding import (
    NEVER,
    Sums,
    depth_for,
    lay_out_sums,
    shift_down,
    start_sums,
)
from efface.engine.tree.shape import open_tree, refresh_tree, root_of
from efface.engine.tree.walls import fold_from

# What is fixed at allocation: are coefficients averaged, are features standardised; then whether
# ``total`` holds the sums of the tree, and whether the frame holds the factors of Phi + penalty.
options_of, _OPTIONS = record(ints=["averages", "standardizes", "folded", "factorised"])


class SelectionStream(NamedTuple):
    """All that is derived from the live rows."""

    state: Record  # that of an event solver, see ``efface.engine.events.state``
    options: Record
    coef: Vector  # (d,)
    sums: Sums
    frame: Frame
    grid: Grid
    other: Grid  # of the second scaling; of no features without ``averages``
    few: FewRows


@carving
def _lay_out(
    f: Vector, at: int, size: int, options: int, d: int, depth: int, other: int
) -> tuple[SelectionStream, int]:
    first = at + size
    coef = first + options
    sums, end = lay_out_sums(f, coef + d, d, depth)
    frame, end = lay_out_frame(f, end, d)
    grid, end = lay_out_grid(f, end, d)
    second, end = lay_out_grid(f, end, other)
    few, end = lay_out_few(f, end, d)
    state, fixed = stream_state(part(f, at, first)), options_of(part(f, first, coef))
    vector = part(f, coef, coef + d)
    return SelectionStream(state, fixed, vector, sums, frame, grid, second, few), end


@carving
def open_selection(store: Vector) -> SelectionStream:
    """The stream that lies in a store; its state says its shape."""
    state, options = stream_state(store), options_of(part(store, STATE_WORDS, store.size))
    other = state.width * options.averages
    shape = state.width, state.depth, other
    return _lay_out(store, 0, STATE_WORDS, _OPTIONS, shape[0], shape[1], shape[2])[0]


def allocate_selection(
    width: int, intercept: bool, capacity: int, *, averages: bool, standardizes: bool
) -> Vector:
    """A store for the state of at most ``capacity`` rows."""
    depth = depth_for(capacity)
    shape = STATE_WORDS, _OPTIONS, width, depth, width * averages
    store = np.zeros(words(_lay_out, *shape))
    state, options = stream_state(store), options_of(store[STATE_WORDS:])
    state.width, state.has_intercept, state.depth = width, intercept, depth
    state.fold_from = fold_from(width)
    options.averages, options.standardizes = averages, standardizes
    return store


def reset_selection(store: Vector, rule: Rule) -> None:
    """Overwrite everything but the shape; no row is solved."""
    state, options = stream_state(store), options_of(store[STATE_WORDS:])
    shape = state.width, state.has_intercept, state.depth, state.fold_from
    fixed = options.averages, options.standardizes
    store[:] = 0.0
    state.width, state.has_intercept, state.depth, state.fold_from = shape
    options.averages, options.standardizes = fixed
    state.fresh = 1
    set_rule(state, rule)
    start_sums(open_selection(store).sums, True)


@numba.njit(**KERNEL)
def shift_selection(store: Vector, by: int) -> None:
    """Follow rows that have moved ``by`` places towards the front of their array."""
    s = open_selection(store)
    s.state.solved_head -= by
    s.state.solved_end -= by
    s.state.core_start -= by
    s.state.core_end -= by
    shift_down(s.sums, by)


@numba.njit(**KERNEL)
def release_selection(span: Ints, store: Vector) -> None:
    """Overwrite all that was derived from rows that have left."""
    _release(open_selection(store), span_of(span).head)


@numba.njit(**INNER)
def _release(s: SelectionStream, head: int) -> None:
    release_stream(s, head)
    if s.sums.state.seen == NEVER:  # the sums of the tree have a centre of their own
        fill(s.sums.centre, 0.0)
    s.options.folded = s.options.factorised = 0
    clear_grid(s.grid)
    clear_grid(s.other)
    clear_few(s.few)


@numba.njit(**KERNEL)
def disturb_selection(store: Vector, place: int) -> None:
    """A row was put in at ``place``: clear what was built from the rows behind it."""
    s = open_selection(store)
    _release(s, NEVER if place < s.sums.state.seen else 0)


@numba.njit(**KERNEL)
def learn_selection(
    x: Matrix,
    y: Responses,
    span: Ints,
    store: Vector,
    row: Vector,
    response: float,
    weight: float,
    leaving: int,
) -> bool:
    """Append a row, then drop the oldest ``leaving`` rows; False if there is no free place."""
    r = open_rows(x, y, span)
    if not push(r, row, response, weight, leaving):
        return False
    _release(open_selection(store), r.span.head)
    return True


# -- sums from the tree --------------------------------------------------------------------------


@numba.njit(**KERNEL, nogil=True)
def fold_selection(x: Matrix, y: Responses, span: Ints, store: Vector, tree: Vector) -> bool:
    """Take the sums of many rows from the tree: the answer to FOLD.

    True if sliding sums were started, which go on without the tree.
    """
    s, r, t = open_selection(store), open_rows(x, y, span), open_tree(tree)
    refresh_tree(t, x, y, r.span.head)
    root, first = root_of(t), s.state.fresh == 1
    if first:
        take_over(s.sums, root, r, centred_rows(s), t)
        s.state.fresh, s.options.folded = 0, 1
        s.state.core_start, s.state.core_end = r.span.head, r.span.end
    else:
        stack_nodes(s.sums, root, r, centred_rows(s), t)
    return not first


@numba.njit(**KERNEL)
def blank_selection(
    x: Matrix, y: Responses, span: Ints, store: Vector, tree: Vector, positions: Ints
) -> None:
    """Overwrite rows where they lie, and all that was derived from them."""
    blank_places(open_rows(x, y, span), open_tree(tree), positions)
    s = open_selection(store)
    _release(s, NEVER)
    s.state.fresh = 1


@numba.njit(**INNER)
def centred_rows(s: SelectionStream) -> bool:
    """Are the rows centred on their mean?"""
    return s.state.has_intercept == 1 or s.options.standardizes == 1
