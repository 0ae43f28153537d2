"""What is asked of every window, and where the answers go."""

from __future__ import annotations

from typing import NamedTuple

from efface.engine.jit.views import Matrix, Responses, Vector


class Problem(NamedTuple):
    """The regression on every window of at most s rows."""

    x: Matrix
    y: Responses
    s: int
    penalty: float
    intercept: bool


class Estimates(NamedTuple):
    """For the window that ends at each row; usable where the margin is at least SAFE."""

    coef: Matrix
    level: Vector  # the intercept
    margin: Vector
