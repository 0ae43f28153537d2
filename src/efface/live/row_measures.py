"""Leverages, gauges and conditioning of the live rows of a solver, by singular values."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from efface.engine.linalg.spectrum import (
    Spectrum,
    WeightedSystem,
    conditioning,
    interpolated,
    spectrum,
    summary,
    weighted_system,
)
from efface.inputs.types import Matrix, Vector

if TYPE_CHECKING:
    from efface.live.solver import Solver

_NOTHING = (np.nan,) * 6


class ScaledRows(NamedTuple):
    """Rows as they are regressed on: (x - origin - shift) scale."""

    rows: Matrix
    origin: Vector
    shift: Vector
    scale: Vector

    @classmethod
    def of(cls, X: Matrix, weights: Vector, *, centred: bool, power: float) -> ScaledRows:
        heard, d = weights > 0.0, X.shape[1]
        nothing, ones = np.zeros(d), np.ones(d)
        if power == 0.0 or not heard.any():
            return cls(X, nothing, nothing, ones)
        counted, share = X[heard], (weights[heard] / weights.sum())[:, np.newaxis]
        origin = counted[-1] if centred else nothing
        shift = (share * (counted - origin)).sum(axis=0) if centred else nothing
        away = X - origin - shift
        reach = np.abs(away[heard]).max(axis=0)
        unit = np.ldexp(1.0, np.frexp(reach)[1])  # so that squares are numbers
        deviation = unit * np.sqrt((share * (away[heard] / unit) ** 2).sum(axis=0))
        flat = np.ptp(counted, axis=0) == 0.0 if centred else reach == 0.0
        with np.errstate(divide="ignore"):
            scale = np.where(flat, 0.0, deviation**-power)
        return cls(away * scale, origin, shift, scale)

    def of_row(self, x: Vector) -> Vector:
        return np.asarray((x - self.origin - self.shift) * self.scale)


class Measures:
    """What singular values say of the live rows of a solver."""

    def __init__(self, solver: Solver) -> None:
        X, y, weights, _ = solver._arrays()
        self._X, self._y, self._weights, self._solver = X, y, weights, solver
        self._penalty = float(solver.window.penalty(0))
        self.rank = -1 if self._penalty > 0.0 else solver.rank
        kind = {"centred": solver.centred, "power": solver.power}
        self._scaled = ScaledRows.of(X, weights, **kind)

    @classmethod
    def of(cls, solver: Solver) -> Measures:
        return cls(solver)

    @cached_property
    def _system(self) -> WeightedSystem:
        rows = self._scaled.rows
        return weighted_system(rows, self._y, self._weights, self._solver.intercepts)

    @cached_property
    def _spectrum(self) -> Spectrum:
        return spectrum(self._system, self._penalty, self.rank)

    @property
    def _exact(self) -> bool:
        """Are all rows fitted exactly, without a penalty?"""
        n = len(self._y) - self._solver.intercepts
        return self._penalty == 0.0 and self.rank == n and bool((self._weights > 0.0).all())

    def gauge(self, x: Vector) -> tuple[float, ...]:
        """Leverage, square of the image; unexplained, scatter, size and total weight of the rows."""
        if not self._weights.any():
            return _NOTHING
        if self._exact and self._solver.power == 0.0:
            found = interpolated(self._X, self._weights, self._solver.intercepts, x)
            return found.new_or_infinite, 0.0, 0.0, 0.0, 0.0, float(self._weights.sum())
        return *self._spectrum.gauge(self._scaled.of_row(x)), *self._summary

    @cached_property
    def _summary(self) -> tuple[float, float, float, float]:
        scale, coef = self._scaled.scale, self._solver.coef
        theta = np.divide(coef, scale, out=np.zeros(coef.size), where=scale > 0.0)
        return summary(self._system, theta)

    def row(self, x: Vector, diagnostics: bool, marked: bool) -> list[float]:
        """Leverages, forgetting term, phi2, condition, rank, rows with weight, and the gauges."""
        none = [np.nan] * 3
        products = self._products(x) if diagnostics and len(self._y) else none
        placed = self.conditioning() if marked and diagnostics and len(self._y) else (np.nan,) * 2
        rank = self._solver.rank if diagnostics else self.rank
        counts = rank, int(np.count_nonzero(self._weights))
        return [*products, *placed, *counts, *(self.gauge(x) if len(self._y) else _NOTHING)]

    def _products(self, x: Vector) -> list[float]:
        """Leverages of a new row of weight 1 and of the oldest, and the forgetting regret term."""
        if self._exact and self._solver.power == 0.0:
            new, old, cross, _ = interpolated(self._X, self._weights, self._solver.intercepts, x)
        elif self._weights.any():
            plain = self._spectrum.products(self._scaled.of_row(x), self._scaled.rows[0])
            weight = float(self._weights[0])
            new, old, cross = plain.new, weight * plain.old, np.sqrt(weight) * plain.cross
        else:
            return [np.nan] * 3
        apart = max(0.0, new - cross * cross / old) if old > 0.0 else new
        return [new, old, old * (apart + 1.0)]

    def conditioning(self) -> tuple[float, float]:
        """phi2 and the condition number of the rows."""
        if not self._weights.any():
            return np.nan, np.nan
        return conditioning(self._scaled.rows, self._weights, self._solver.centred)
