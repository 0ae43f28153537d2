"""Whether kept sums are those of the rows that they declare; by NumPy, for audits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from efface.engine.jit.views import ROOT, VALUE, Matrix, Responses, Vector
from efface.engine.linalg.exact_products import unpacked
from efface.engine.sums.precise_sums import PreciseSums, open_precise
from efface.engine.sums.sliding import NEVER, Sums

_CLOSE = 1e-9  # of the product of two columns' lengths
_BLOCK = 1 << 13  # rows at a time, which fit into the cache


def wrong_sums(
    s: Sums, x: Matrix, y: Responses, head: int, summed: tuple[int, int] | None
) -> Iterator[str]:
    """The names of sums that contain rows before ``head`` or differ from the sum of their rows.

    ``summed`` is the range of ``total``, or None if that must be zero.
    """
    q = s.total.shape[0]
    for name, entry, span in [("total", s.total, summed), *_kept_sums(s)]:
        if not _follows(s.centre, x, y, head, span, entry.reshape(q, q)):
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
    for name, entry, span in _kept_sums(s):
        high, low = unpacked(entry, s.centre.size)
        if not _follows(s.centre, x, y, head, span, high + low) or (span is None and entry.any()):
            yield f"precise sums.{name}"
    for name, scratch in (("rows", s.rows), ("total", s.total), ("system", s.system.scratch)):
        if scratch.any():
            yield f"precise sums.{name}"


def _kept_sums(s: Sums | PreciseSums) -> Iterator[tuple[str, Matrix, tuple[int, int] | None]]:
    """The name, the content and the range of rows of each sum; no range for one not in use."""
    turn, seen, used = int(s.state.turn), int(s.state.seen), int(s.state.entries)
    yield "recent", s.recent, (turn, seen) if seen != NEVER else None
    for k, entry in enumerate(s.stack):
        yield f"stack[{k}]", entry, (int(s.starts[k]), turn) if k < used else None


def _follows(
    centre: Vector, x: Matrix, y: Responses, head: int, span: tuple[int, int] | None, found: Matrix
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
