"""The results of windows that were solved eight at once: measured in their lanes, then copied."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.events.event_replay import forgetting_term
from efface.engine.events.leverage import (
    GAUGES,
    GAUGES_KEPT,
    IMAGE_2,
    LEVERAGE,
    SCATTER,
    SIZE_2,
    UNEXPLAINED,
)
from efface.engine.jit.compilation import INNER
from efface.engine.jit.simd import add_dot, set_all
from efface.engine.jit.views import Matrix, Vector, part
from efface.engine.linalg.batched_cholesky import substitute_back
from efface.engine.windows.systems import (
    CROSS,
    EXPLAINED,
    IMAGE,
    LEVEL,
    NEW,
    NUMBERS,
    OLD,
    PREDICTION,
    SIZE,
    SPREAD,
    SQUARES,
    Offsets,
    solve,
)

# Prediction, penalty, intercept; leverages of the new and the oldest row, FRT.
STATES, MEASURED_STATES = 3, 6


class LaneFits(NamedTuple):
    """What is known of each window, usable where the margin is at least SAFE."""

    states: Matrix  # (STATES, n), or (MEASURED_STATES, n)
    coef: Matrix  # (n, d), or (0, d) where it is not wanted
    gauges: Matrix  # (GAUGES, n), or (GAUGES, 0)
    margin: Vector  # (n,)
    unpenalised: Vector  # (n,): the margin without the penalty, or (0,)

    @classmethod
    def empty(cls, n: int, d: int, *, coef: bool, gauges: bool, rank: bool) -> LaneFits:
        """Room for n windows of rows with d features; ``rank`` stands for all diagnostics."""
        return cls(
            np.full((MEASURED_STATES if rank else STATES, n), np.nan),
            np.full((n if coef else 0, d), np.nan),
            np.full((GAUGES, n if gauges else 0), np.nan),
            np.zeros(n),
            np.zeros(n if rank else 0),
        )

    def part(self, first: int, last: int) -> LaneFits:
        """The windows from ``first`` up to ``last``, where they lie."""
        rows = slice(first, last)
        return LaneFits(
            self.states[:, rows],
            self.coef[rows],
            self.gauges[:, rows],
            self.margin[rows],
            self.unpenalised[rows],
        )


@numba.njit(**INNER)
def set_leverages(f: Matrix, at: Offsets) -> None:
    """Coefficients, leverages and gauges of each lane, whose factors are there."""
    m, step, numbers = at.m, at.step, at.numbers
    theta = at.factor + m * step
    new, old = theta + step, theta + 2 * step
    for k in range(EXPLAINED, NUMBERS):
        set_all(f, numbers + k, 0.0)
    add_dot(f, numbers + NEW, new - 1, new - 1, m + 1)
    add_dot(f, numbers + OLD, old - 1, old - 1, m + 1)
    add_dot(f, numbers + CROSS, new - 1, old - 1, m + 1)
    solve(f, at)
    substitute_back(f, at, new)
    add_dot(f, numbers + IMAGE, new, new, m)
    add_dot(f, numbers + SIZE, theta, theta, m)


@numba.njit(**INNER)
def collect_lane(f: Matrix, at: Offsets, i: int, found: LaneFits, k: int, middle: float) -> None:
    """Copy the results of lane i to window k; ``middle`` is the centre of the responses."""
    numbers, theta = part(f, at.numbers, at.numbers + NUMBERS), at.factor + at.m * at.step
    states, gauges, penalty = found.states, found.gauges, f[at.penalty, i]
    new, old, size = numbers[NEW, i], numbers[OLD, i], numbers[SIZE, i]
    found.margin[k] = f[at.margin, i] if 0.0 <= penalty < np.inf else 0.0
    states[0, k], states[1, k] = numbers[PREDICTION, i] + middle, penalty
    states[2, k] = numbers[LEVEL, i] + middle
    if states.shape[0] > STATES:
        states[3, k], states[4, k] = new, old
        states[5, k] = forgetting_term(new, old, numbers[CROSS, i])
    if found.coef.shape[0] > 0:
        for j in range(found.coef.shape[1]):
            found.coef[k, j] = f[theta + j, i]
    if gauges.shape[1] > 0:
        left = numbers[SQUARES, i] - numbers[EXPLAINED, i] - penalty * size
        gauges[LEVERAGE, k], gauges[IMAGE_2, k] = new, numbers[IMAGE, i]
        gauges[UNEXPLAINED, k], gauges[SIZE_2, k] = left, size
        gauges[SCATTER, k] = max(numbers[SPREAD, i], 0.0)
        if not left > GAUGES_KEPT * numbers[SQUARES, i]:
            found.margin[k] = 0.0
