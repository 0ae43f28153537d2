"""Leverages and gauges of the live rows by singular values, where a solution does not give them.

Where sums in double-double precision are kept, the triangular factor of the rows takes their place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from efface.engine.events.event_replay import Events, forgetting_term
from efface.engine.events.factored_rows import factor_rows
from efface.engine.events.leverage import IMAGE_2, LEVERAGE, UNEXPLAINED
from efface.engine.jit.records import Record
from efface.engine.jit.views import Matrix, Vector
from efface.engine.linalg.precise_solve import UNSOLVED
from efface.engine.linalg.spectrum import (
    Products,
    Spectrum,
    WeightedSystem,
    spectrum,
    summary,
    weighted_system,
)
from efface.engine.standardized.zscores import Scores
from efface.live.precise_fits import PreciseFits
from efface.live.rows import RowStore


class Measured(NamedTuple):
    """The live rows as they are regressed on, or their factor, and their singular values."""

    z: Scores
    oldest: Vector
    system: WeightedSystem
    spectrum: Spectrum


class SpectralMeasures(ABC):
    """The part of a solver that measures rows by singular values."""

    width: int
    intercepts: bool
    rows: RowStore
    _precise: PreciseFits

    @property
    @abstractmethod
    def _state(self) -> Record:
        """The state of the fit."""

    @property
    @abstractmethod
    def _coef(self) -> Vector:
        """The coefficients, where they lie."""

    @property
    def _scaled(self) -> tuple[bool, bool]:
        """Are features divided by their deviations, or by the square roots of these?"""
        return False, False

    def _measure_by_spectrum(self, row: int, events: Events) -> None:
        """Leverages and gauges of one row, by singular values."""
        found, x = self._measured(), events.rows[row]
        self._write(row, events, self._products(found, x), found.spectrum.rank)
        if events.gauges.size:
            self._gauge_by_spectrum(x[np.newaxis], events.gauges[row : row + 1], found)

    def _write(self, row: int, events: Events, products: Products, rank: int) -> None:
        term = forgetting_term(*products[:3])
        events.states[3:6, row] = products.new, products.old, term
        events.counts[1, row] = rank

    def _products(self, found: Measured, new: Vector) -> Products:
        """Products of a new row of weight 1 and of the oldest row with its own weight."""
        _, root, weight = self.rows.responses[0, :3]
        plain = found.spectrum.products(found.z.of(new), found.oldest)
        return plain._replace(old=weight * plain.old, cross=root * plain.cross)

    def _gauge_by_spectrum(self, X: Matrix, columns: Matrix, found: Measured) -> None:
        columns[:, [LEVERAGE, IMAGE_2]] = [found.spectrum.gauge(row) for row in found.z.of(X)]
        columns[:, UNEXPLAINED:] = summary(found.system, self._coef * found.z.deviation)

    def _measured(self) -> Measured:
        penalty, rank, rows = float(self._state.penalty), int(self._state.rank), self.rows
        factored = self._factored(rank if penalty == 0.0 else -1)
        if factored is not None:
            z, system = factored
            return Measured(z, z.of(rows.features[0]), system, spectrum(system, penalty, rank))
        z = self._scores()
        system = weighted_system(z.rows, rows.y, rows.weights, self.intercepts)
        return Measured(z, z.rows[0], system, spectrum(system, penalty, rank))

    def _factored(self, rank: int) -> tuple[Scores, WeightedSystem] | None:
        """The factor of the live rows, if sums that give it are kept and it has this rank.

        A rank of -1 is not known.
        """
        sums, d, (head, end) = self._precise.kept, self.width, self.rows.span
        if sums is None or not self._precise.serve(self.rows):
            return None
        rows, responses, places = np.zeros((d + 1, d)), np.zeros(d + 1), np.zeros((3, d))
        into, kind = (rows, responses, places), (self.intercepts, *self._scaled)
        found, total_weight = factor_rows(*self.rows.arrays, sums, kind, *into)
        if found == UNSOLVED or rank not in (-1, found):
            return None
        base = 1.0 / total_weight if self.intercepts else 0.0
        count = end - head - self.rows.weightless
        system = WeightedSystem(rows, responses, np.zeros(d), base, total_weight, count, d + 1)
        return Scores(rows, *places), system

    def _scores(self) -> Scores:
        """The live rows as they are regressed on, and how other rows become like them."""
        nothing = np.zeros(self.width)
        return Scores(self.rows.features, nothing, nothing, np.ones(self.width))
