"""Whether kept sums are those of the rows that they declare; by NumPy, for audits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from efface.engine.jit.views import ROOT, VALUE, Matrix, Responses
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
        if span is None:
            wrong = bool(found.any())
        else:
            wrong = (span[0] < head and span[0] < span[1]) or not _equal(s, x, y, span, found)
        if wrong:
            yield f"sums.{name}"
    if s.rows.any():
        yield "sums.rows"
    bounds = np.concatenate([s.bounds.ravel(), s.recent_bounds.ravel(), s.stack_bounds.ravel()])
    bounds = bounds[np.isfinite(bounds) & (bounds != 0.0)]
    if bounds.size and not np.isin(bounds, x[head:]).all():
        yield "sums.bounds"


def _equal(s: Sums, x: Matrix, y: Responses, span: tuple[int, int], found: Matrix) -> bool:
    """Is this the lower triangle of the Gram matrix of the rows of a range?"""
    gram, largest = np.zeros(s.total.shape), np.zeros(len(s.total))
    for start in range(*span, _BLOCK):
        rows = slice(start, min(start + _BLOCK, span[1]))
        values = np.column_stack([x[rows], np.ones(rows.stop - start), y[rows, VALUE]])
        values = y[rows, ROOT, np.newaxis] * (values - s.centre)
        gram += values.T @ values
        largest = np.maximum(largest, np.abs(values).max(axis=0))
    lengths = np.maximum(np.sqrt(gram.diagonal()), largest)  # squares of tiny values underflow
    size = np.outer(lengths, lengths)
    return bool((np.tril(np.abs(found - gram)) <= _CLOSE * size).all())
