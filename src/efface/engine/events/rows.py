"""The live rows as compiled code sees them: two arrays, and where the live rows lie in them.

Rows lie oldest first, from ``head`` up to ``end``. All other places hold zeros. A row that leaves
is overwritten at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.jit.compilation import INNER, carving
from efface.engine.jit.records import Record, record
from efface.engine.jit.views import ROOT, VALUE, WEIGHT, Ints, Matrix, Responses, Vector, part
from efface.engine.linalg.dense import fill

span_of, SPAN = record(ints=["head", "end", "weightless"])


class Rows(NamedTuple):
    """Features, responses with weights, and the span of the live rows."""

    x: Matrix
    y: Responses
    span: Record  # head, end, and how many live rows have a weight of 0


@carving
def open_rows(x: Matrix, y: Responses, span: Ints) -> Rows:
    return Rows(x, y, span_of(span))


@numba.njit(**INNER)
def append(r: Rows, row: Vector, response: float, weight: float) -> bool:
    """Add the newest row; False if there is no free place behind the live rows."""
    end = r.span.end
    if end == r.y.shape[0]:
        return False
    for j in range(row.size):
        r.x[end, j] = row[j]
    r.y[end, VALUE], r.y[end, ROOT], r.y[end, WEIGHT] = response, np.sqrt(weight), weight
    if weight == 0.0:
        r.span.weightless += 1
    r.span.end = end + 1
    return True


@numba.njit(**INNER)
def drop(r: Rows, count: int) -> None:
    """Remove the oldest rows and overwrite their places with zeros."""
    head = r.span.head
    for i in range(head, head + count):
        if r.y[i, WEIGHT] == 0.0:
            r.span.weightless -= 1
    fill(part(r.x, head, head + count), 0.0)
    fill(part(r.y, head, head + count), 0.0)
    r.span.head = head + count
