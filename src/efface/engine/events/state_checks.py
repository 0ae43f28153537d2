"""Whether the state of an event solver holds anything of rows that have left; for audits.

Every part of the state must be zero, or follow from the live rows that it declares.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from efface.engine.events.rows import span_of
from efface.engine.events.state import Stream, open_stream
from efface.engine.jit.views import ROOT, Ints, Matrix, Responses, Vector
from efface.engine.sums.sliding import NEVER
from efface.engine.sums.sum_checks import wrong_sums


def residues(x: Matrix, y: Responses, span: Ints, store: Vector) -> list[str]:
    """The names of the parts of a state that do not follow from the live rows."""
    s, at = open_stream(store), span_of(span)
    head, end = int(at.head), int(at.end)
    return [*_solution_residues(s), *_core_residues(s, x, y, head, end)]


def _solution_residues(s: Stream) -> Iterator[str]:
    """Coefficients and work space, which must be zero unless they are in use."""
    if s.state.used == 0:
        work = zip(s.work._fields, s.work, strict=True)
        yield from (f"work.{name}" for name, part in work if part.any())
        if s.state.solved_end < 0 and s.coef.any():
            yield "coef"
    scratch = s.core.scratch[2 * s.core.inverse.shape[0] :] if s.state.used else s.core.scratch
    if scratch.any():
        yield "core.scratch"


def _core_residues(s: Stream, x: Matrix, y: Responses, head: int, end: int) -> Iterator[str]:
    """The core, the rows outside it, and the sums."""
    state, dual = s.state, s.core.state.dual == 1
    if state.valid == 0:
        for room, parts in (("core", s.core[1:-2]), ("outside", s.outside), ("stats", s.stats)):
            if any(part.any() for part in parts):
                yield room
        if s.sums.state.seen == NEVER and s.sums.centre.any():
            yield "sums.centre"
        yield from wrong_sums(s.sums, x, y, head, None)
        return
    start, stop = int(state.core_start), int(state.core_end)
    if start < head or stop > end:
        yield "core"
    elif dual and not _same(s, x, y, range(start, stop), s.core.rows[: stop - start]):
        yield "core.rows"
    yield from _outside_residues(s, x, y, head)
    yield from wrong_sums(s.sums, x, y, head, None if dual else (start, stop))


def _outside_residues(s: Stream, x: Matrix, y: Responses, head: int) -> Iterator[str]:
    """The rows outside the core: zero where they have left, else those of the row store."""
    state, o = s.state, s.outside
    first, start, stop, placed = (
        int(value) for value in (state.tail_start, state.core_start, state.core_end, state.placed)
    )
    left, tail = max(head - first, 0), start - first
    used = tail + placed - stop
    parts = (o.rows, o.images, o.schur, o.weight[:, np.newaxis], o.residual.T)
    gone = [places[:left] for places in (*parts, s.stats.tail_moments, s.stats.tail_bounds)]
    if any(part.any() for part in (*gone, *(places[used:] for places in parts))):
        yield "outside"
    elif state.refit == 0:
        rows = [*range(first + left, start), *range(stop, placed)]
        if not _same(s, x, y, rows, o.rows[left:used]):
            yield "outside.rows"


def _same(s: Stream, x: Matrix, y: Responses, rows: range | list[int], found: Matrix) -> bool:
    """Are these the features of live rows, centred and weighted?"""
    index, d = np.fromiter(rows, np.intp), x.shape[1]
    expected = y[index, ROOT, np.newaxis] * (x[index] - s.sums.centre[:d])
    return bool((found[:, :d] == expected).all())
