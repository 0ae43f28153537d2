"""The state of a solver that selects its penalty: layout, allocation, and rows that come or leave.

Sums over many rows come from the tree of sums, as in ``efface.engine.events.fold``.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.events.fold import blank_places, stack_nodes, take_over
from efface.engine.events.rows import open_rows, span_of
from efface.engine.events.state import STATE_WORDS, stream_state
from efface.engine.events.stream import push
from efface.engine.jit.compilation import INNER, KERNEL, carving
from efface.engine.jit.records import Record, words
from efface.engine.jit.views import Ints, Matrix, Responses, Vector, part
from efface.engine.linalg.dense import fill
from efface.engine.selection.few_rows import FewRows, clear_few, lay_out_few
from efface.engine.selection.grid import Grid, lay_out_grid
from efface.engine.standardized.correlations import Frame, lay_out_frame
from efface.engine.standardized.standardized_fit import release_stream
from efface.engine.sums.sliding import NEVER, Sums, depth_for, lay_out_sums
from efface.engine.tree.shape import open_tree, refresh_tree
from efface.engine.tree.walls import fold_from


class SelectionStream(NamedTuple):
    """All that is derived from the live rows. It begins as a ``StandardStream`` does.

    In the state, ``folded`` says whether ``total`` holds the sums of the tree, and ``factorised``
    whether the frame holds the factors of Phi + penalty.
    """

    state: Record  # that of an event solver, see ``efface.engine.events.state``
    coef: Vector  # (d,)
    sums: Sums
    frame: Frame
    grid: Grid
    other: Grid  # of the second scaling; of no features without ``averages``
    few: FewRows


@carving
def _lay_out(f: Vector, at: int, d: int, depth: int, other: int) -> tuple[SelectionStream, int]:
    coef = at + STATE_WORDS
    sums, end = lay_out_sums(f, coef + d, d, depth)
    frame, end = lay_out_frame(f, end, d)
    grid, end = lay_out_grid(f, end, d)
    second, end = lay_out_grid(f, end, other)
    few, end = lay_out_few(f, end, d)
    state, vector = stream_state(part(f, at, coef)), part(f, coef, coef + d)
    return SelectionStream(state, vector, sums, frame, grid, second, few), end


@carving
def open_selection(store: Vector) -> SelectionStream:
    """The stream that lies in a store; its state says its shape."""
    state = stream_state(store)
    return _lay_out(store, 0, state.width, state.depth, state.width * state.averages)[0]


def allocate_selection(
    width: int, intercept: bool, capacity: int, *, averages: bool, standardizes: bool
) -> Vector:
    """A store for the state of at most ``capacity`` rows.

    ``averages``: coefficients are averaged. ``standardizes``: features are standardised.
    """
    depth = depth_for(capacity)
    store = np.zeros(words(_lay_out, width, depth, width * averages))
    state = stream_state(store)
    state.width, state.has_intercept, state.depth = width, intercept, depth
    state.sums_at, state.fold_from = STATE_WORDS + width, fold_from(width)
    state.averages, state.standardizes = averages, standardizes
    return store


@numba.njit(**KERNEL)
def release_selection(span: Ints, store: Vector) -> None:
    """Overwrite all that was derived from rows that have left."""
    _release(open_selection(store), span_of(span).head)


@numba.njit(**INNER)
def _release(s: SelectionStream, head: int) -> None:
    release_stream(s, head)
    if s.sums.state.seen == NEVER:  # the sums of the tree have a centre of their own
        fill(s.sums.centre, 0.0)
    s.state.folded = s.state.factorised = 0
    fill(s.grid.everything, 0.0)
    fill(s.other.everything, 0.0)
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
    first = s.state.fresh == 1
    if first:
        take_over(s.sums, r, centred_rows(s), t)
        s.state.fresh, s.state.folded = 0, 1
        s.state.core_start, s.state.core_end = r.span.head, r.span.end
    else:
        stack_nodes(s.sums, r, centred_rows(s), t)
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
    return s.state.has_intercept == 1 or s.state.standardizes == 1
