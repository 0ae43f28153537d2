"""Whether kept sums are those of the rows that they declare; by NumPy, for audits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from efface.engine.jit.views import ROOT, VALUE, Matrix, Responses, Vector
from efface.engine.linalg.exact_products import unpacked
from efface.engine.sums.precise_sums import open_precise
from efface.engine.sums.sliding import NEVER, Sums

_CLOSE = 1e-9  # of the product of two columns' lengths
_BLOCK = 1 << 13  # rows at a time, which fit into the cache


def wrong_sums(
    s: Sums, x: Matrix, y: Responses, head: int, summed: tuple[int, int] | None
) -> Iterator[str]:
    """The names of sums that contain rows before ``head`` or differ from the sum of their rows.

    ``summed`` is the range of ``total``, or None if that must be zero.
    """
    state, (depth, _) = s.state, s.stack.shape
    q, used = s.total.shape[0], int(state.entries)
    ranges = {"total": (s.total, summed)}
    kept = state.seen != NEVER
    ranges["recent"] = (s.recent, (int(state.turn), int(state.seen)) if kept else None)
    for k in range(depth):
        span = (int(s.starts[k]), int(state.turn)) if k < used else None
        ranges[f"stack[{k}]"] = (s.stack[k].reshape(q, q), span)
    for name, (found, span) in ranges.items():
        if not _follows(s.centre, x, y, head, span, found):
            yield f"sums.{name}"
    if s.rows.any():
        yield "sums.rows"
    bounds = np.concatenate([s.bounds.ravel(), s.recent_bounds.ravel(), s.stack_bounds.ravel()])
    bounds = bounds[np.isfinite(bounds) & (bounds != 0.0)]
    if bounds.size and not np.isin(bounds, x[head:]).all():
        yield "sums.bounds"


def wrong_precise_sums(store: Vector, x: Matrix, y: Responses, head: int) -> Iterator[str]:
    """``wrong_sums`` for the sums in double-double precision that lie in a store."""
    s = open_precise(store)
    state, q, used = s.state, s.centre.size, int(s.state.entries)
    kept, turn = state.seen != NEVER, int(state.turn)
    ranges = {"recent": (s.recent, (turn, int(state.seen)) if kept else None)}
    for k, entry in enumerate(s.stack):
        ranges[f"stack[{k}]"] = (entry, (int(s.starts[k]), turn) if k < used else None)
    for name, (entry, span) in ranges.items():
        high, low = unpacked(entry, q)
        if not _follows(s.centre, x, y, head, span, high + low) or (span is None and entry.any()):
            yield f"precise sums.{name}"
    for name, scratch in (("rows", s.rows), ("total", s.total), ("system", s.system.scratch)):
        if scratch.any():
            yield f"precise sums.{name}"


def _follows(
    centre: Vector,
    x: Matrix,
    y: Responses,
    head: int,
    span: tuple[int, int] | None,
    found: Matrix,
) -> bool:
    """Is this the sum of live rows in a range, or zero where there is no range?"""
    if span is None:
        return not found.any()
    gone = span[0] < head and span[0] < span[1]
    return not gone and _equal(centre, x, y, span, found)


def _equal(centre: Vector, x: Matrix, y: Responses, span: tuple[int, int], found: Matrix) -> bool:
    """Is this the lower triangle of the Gram matrix of the rows of a range?"""
    gram, largest = np.zeros(found.shape), np.zeros(len(found))
    for start in range(*span, _BLOCK):
        rows = slice(start, min(start + _BLOCK, span[1]))
        values = np.column_stack([x[rows], np.ones(rows.stop - start), y[rows, VALUE]])
        values = y[rows, ROOT, np.newaxis] * (values - centre)
        gram += values.T @ values
        largest = np.maximum(largest, np.abs(values).max(axis=0))
    lengths = np.maximum(np.sqrt(gram.diagonal()), largest)  # squares of tiny values underflow
    size = np.outer(lengths, lengths)
    return bool((np.tril(np.abs(found - gram)) <= _CLOSE * size).all())
