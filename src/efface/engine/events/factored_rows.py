"""The live rows by their triangular factor: d + 1 rows that have the same sums of products.

Rows without weights and without a mean, one per feature, and one for what the features leave of the
responses. They come from sums in double-double precision, so that no pass over the live rows is
needed to measure leverages and residuals: see ``linalg.precise_factor``.
"""

from __future__ import annotations

import math

import numba

from efface.engine.events.rows import open_rows
from efface.engine.jit.compilation import KERNEL
from efface.engine.jit.views import Ints, Matrix, Responses, Vector
from efface.engine.linalg.exact_products import padded_columns
from efface.engine.linalg.precise_factor import AROUND, LEAST_LEFT, LEFT
from efface.engine.linalg.precise_solve import UNSOLVED, Window, clear_system
from efface.engine.sums.precise_sums import factor_range, open_precise


@numba.njit(**KERNEL)
def factor_rows(
    x: Matrix,
    y: Responses,
    span: Ints,
    sums: Vector,
    kind: tuple[bool, bool, bool],  # the last three of a ``Window``
    rows: Matrix,  # (d + 1, d), zeros
    responses: Vector,  # (d + 1,), zeros
    places: Matrix,  # (3, d): the origin, the mean's distance from it, the deviation
) -> tuple[int, float]:
    """Write the rows; return the rank and the sum of the weights.

    The rank is UNSOLVED where only the live rows can tell. Features are scaled as ``kind`` says.
    """
    r, s, d = open_rows(x, y, span), open_precise(sums), x.shape[1]
    head, end, w = r.span.head, r.span.end, padded_columns(d + 2)
    asked = Window(end - head - r.span.weightless, 0.0, kind[0], kind[1], kind[2])
    rank = factor_range(s, r.x, r.y, head, end, asked)
    n, left, metric = s.total[d * w + d], s.system.residual[LEFT], s.system.metric
    if not left > LEAST_LEFT * s.system.residual[AROUND]:
        rank = UNSOLVED
    if asked.standardized and not asked.intercept:  # the features alone are centred
        middle = s.centre[d + 1] + s.total[(d + 1) * w + d] / n
        left += n * middle * middle
    for j in range(d if rank != UNSOLVED else 0):
        responses[j] = s.system.target[j]
        for i in range(j + 1):
            rows[i, j] = s.system.factor[i, j] * metric[j]
        places[0, j], places[2, j] = s.centre[j], 1.0 / metric[j] if metric[j] != 0.0 else 1.0
        if asked.intercept or asked.standardized:
            places[1, j] = s.total[d * w + j] / n
    responses[d] = math.sqrt(left) if rank != UNSOLVED else 0.0
    clear_system(s.system, s.total)
    return rank, n
