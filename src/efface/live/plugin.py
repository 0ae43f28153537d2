"""Live rows with a pilot fit beside them, whose findings set the penalty."""

from __future__ import annotations

from math import inf
from typing import final

import numpy as np
from numpy.typing import NDArray

from efface.engine.events import penalty as moments
from efface.engine.events import stream
from efface.engine.events.penalty import GIVEN, PILOT
from efface.engine.events.pilot import (
    AUTO,
    RESIDUAL,
    RESPONSE,
    idle,
    plug_in,
    plug_in_directly,
    plug_in_rows,
)
from efface.engine.jit.views import Ints, Matrix, Vector, weighed
from efface.live.memory import ADAPTIVE, Memory, Penalty
from efface.live.standardized import StandardizedMemory

__all__ = ["AUTO", "RESIDUAL", "RESPONSE", "memory_for"]


def memory_for(
    width: int, penalty: Penalty, *, intercept: bool, shrinks: bool, standardize: bool = False
) -> Memory:
    """A memory of the kind that the penalty needs, or standardised features."""
    if standardize:
        return StandardizedMemory(width, penalty, intercept=intercept, shrinks=shrinks)
    pilot = penalty.noise == RESIDUAL or penalty.theta_max == AUTO
    kind = PluggedMemory if pilot else Memory
    return kind(width, penalty, intercept=intercept, shrinks=shrinks)


@final
class Pilot(Memory):
    """The pilot fit: a memory that tells a penalty.

    >>> pilot = Pilot(1, Penalty(ADAPTIVE, theta_max=AUTO, noise=RESIDUAL), intercept=False)
    >>> pilot.extend(np.ones((4, 1)), np.array([1.0, 3.0, 1.0, 3.0]))
    >>> round(pilot.plug_in(), 2)  # about sqrt(8 log(40)) sqrt(4 / 3) / 2
    3.14
    """

    def __init__(
        self, width: int, penalty: Penalty, *, intercept: bool, shrinks: bool = True
    ) -> None:
        switch_at = inf if penalty.kind == ADAPTIVE else penalty.switch_at
        penalty = penalty._replace(kind=PILOT, switch_at=switch_at)
        super().__init__(width, penalty, intercept=intercept, shrinks=shrinks)

    def plug_in(self) -> float:
        """The penalty that the live rows ask for."""
        values = stream.solution(self._floats, self.width)[0]
        if idle(self._y, self._ints, values):
            return 0.0
        nowhere, code = np.zeros(self.width), stream.FORM
        while code != stream.DONE:
            code, _ = stream.predict_row(*self._state, nowhere, self._watched)
            if code == stream.REFIT:
                return self._refitted()
            self._supply(code)
        return plug_in(*self._state)  # type: ignore[no-any-return]

    def plug_in_all(
        self, X: Matrix, y: Vector, before: Ints, after: Ints, weights: Vector | None = None
    ) -> Vector:
        """The penalty before each row of a replay, each of which is then learned."""
        leaving, responses = self._prepare(before, after), weighed(y, weights)
        penalties, row, code = np.full(y.size, np.nan), 0, stream.FORM
        while code != stream.DONE:
            row, code = plug_in_rows(*self._state, X, responses, leaving, penalties, row)
            if code == stream.REFIT:
                penalties[row] = self._refitted()
            else:
                self._supply(code)
        self.n_rows = self._span[1] - self._span[0]
        return penalties

    def _refitted(self) -> float:
        self._supply(stream.REFIT)
        lo, hi = self._span
        values, coef = stream.solution(self._floats, self.width)
        self._ints[moments.DIRTY] = 1  # what follows would not find the solution where it looks
        return plug_in_directly(self._x[lo:hi], self._y[lo:hi], values, coef, bool(self._shape[0]))


@final
class PluggedMemory(Memory):
    """A memory whose penalty a pilot fit of the same rows sets, before every event."""

    def __init__(
        self, width: int, penalty: Penalty, *, intercept: bool, shrinks: bool = True
    ) -> None:
        self._pilot = Pilot(width, penalty, intercept=intercept, shrinks=shrinks)
        super().__init__(width, Penalty(GIVEN), intercept=intercept, shrinks=shrinks)

    def learn(self, x: Vector, y: float, leaving: int, weight: float = 1.0) -> None:
        self._pilot.learn(x, y, leaving, weight)
        super().learn(x, y, leaving, weight)

    def insert(self, position: int, x: Vector, y: float, weight: float = 1.0) -> None:
        self._pilot.insert(position, x, y, weight)
        super().insert(position, x, y, weight)

    def extend(self, X: Matrix, y: Vector, weights: Vector | None = None) -> None:
        self._pilot.extend(X, y, weights)
        super().extend(X, y, weights)

    def drop(self, count: int) -> None:
        self._pilot.drop(count)
        super().drop(count)

    def remove(self, positions: NDArray[np.intp]) -> None:
        self._pilot.remove(positions)
        super().remove(positions)

    def rebuild(self) -> None:
        self._pilot.rebuild()
        super().rebuild()

    def replace(self, X: Matrix, y: Vector) -> None:
        self._pilot.replace(X, y)
        super().replace(X, y)

    def rule(self, rows: int) -> Vector:
        return self._pilot.rule(rows)

    def predict(self, x: Vector) -> float:
        if self._ints[moments.DIRTY]:
            self._take_penalty()
        return super().predict(x)

    def _solved_by_core(self) -> bool:
        self._take_penalty()
        return super()._solved_by_core()

    def _take_penalty(self) -> None:
        values, _ = stream.solution(self._floats, self.width)
        values[moments.ALPHA] = self._pilot.plug_in()

    def _penalties(
        self, X: Matrix, y: Vector, before: Ints, after: Ints, weights: Vector | None
    ) -> Vector:
        return self._pilot.plug_in_all(X, y, before, after, weights)

    @property
    def working_store(self) -> int:
        pilot = self._pilot
        return super().working_store + pilot.working_store + pilot.n_rows * (self.width + 3) * 8
