"""What is asked of every window, and where the answers go."""

from __future__ import annotations

from typing import NamedTuple

import numba

from efface.engine.jit.compilation import INNER
from efface.engine.jit.views import Matrix, Responses, Vector
from efface.engine.sums.precise_windows import NO_DIRECTIONS


class Problem(NamedTuple):
    """The regression on every window of at most s rows."""

    x: Matrix
    y: Responses
    s: int
    penalty: float
    intercept: bool
    null: Matrix = NO_DIRECTIONS  # added to the Gram matrix of features: see ``precise_windows``


class Estimates(NamedTuple):
    """For the window that ends at each row; usable where the margin is at least SAFE."""

    coef: Matrix
    level: Vector  # the intercept
    margin: Vector


@numba.njit(**INNER)
def add_null(null: Matrix, total: Matrix) -> None:
    """Add the multiple of the projection on null directions to the sums of a core."""
    for i in range(null.shape[0]):
        for j in range(i + 1):
            total[i, j] += null[i, j]


@numba.njit(**INNER)
def free_directions(null: Matrix, penalty: float) -> float:
    """The degrees of freedom that ``add_null`` hides: penalty times what the trace of the inverse
    lacks, 1 / penalty - 1 / (penalty + m) per direction, for the multiple m of the projection.
    """
    trace, square = 0.0, 0.0
    for i in range(null.shape[0]):
        trace += null[i, i]
        for j in range(null.shape[0]):
            square += null[i, j] * null[i, j]
    return trace / (penalty + square / trace) if trace > 0.0 else 0.0
