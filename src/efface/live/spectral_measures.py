"""Leverages and gauges of the live rows by singular values, where a solution does not give them."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from efface.engine.events.event_replay import Events, forgetting_term
from efface.engine.events.leverage import REACH, STRETCH, UNEXPLAINED
from efface.engine.jit.records import Record
from efface.engine.jit.views import Matrix, Vector
from efface.engine.linalg.spectrum import Products, Spectrum, spectrum, summary
from efface.engine.standardized.zscores import Scores
from efface.live.rows import RowStore


class SpectralMeasures(ABC):
    """The part of a solver that measures rows by singular values."""

    width: int
    intercepts: bool
    rows: RowStore

    @property
    @abstractmethod
    def _state(self) -> Record:
        """The state of the fit."""

    @property
    @abstractmethod
    def _coef(self) -> Vector:
        """The coefficients, where they lie."""

    def _measure_by_spectrum(self, row: int, events: Events) -> None:
        """Leverages and gauges of one row, by singular values."""
        found, x = self._spectrum(), events.rows[row]
        self._write(row, events, self._products(found, x), found.rank)
        if events.gauges.size:
            self._gauge_by_spectrum(x[np.newaxis], events.gauges[row : row + 1], found)

    def _write(self, row: int, events: Events, products: Products, rank: int) -> None:
        term = forgetting_term(*products[:3])
        events.states[3:6, row] = products.new, products.old, term
        events.counts[1, row] = rank

    def _products(self, found: Spectrum, new: Vector) -> Products:
        """Products of a new row of weight 1 and of the oldest row with its own weight."""
        z, (_, root, weight) = self._scores(), self.rows.responses[0, :3]
        plain = found.products(z.of(new), z.rows[0])
        return plain._replace(old=weight * plain.old, cross=root * plain.cross)

    def _gauge_by_spectrum(self, X: Matrix, columns: Matrix, found: Spectrum) -> None:
        z, rows = self._scores(), self.rows
        columns[:, [REACH, STRETCH]] = [found.gauge(row) for row in z.of(X)]
        coef = self._coef * z.deviation
        columns[:, UNEXPLAINED:] = summary(z.rows, rows.y, rows.weights, coef, self.intercepts)

    def _spectrum(self) -> Spectrum:
        penalty, rank = float(self._state.penalty), int(self._state.rank)
        return spectrum(self._scores().rows, self.rows.weights, penalty, self.intercepts, rank)

    def _scores(self) -> Scores:
        """The live rows as they are regressed on, and how other rows become like them."""
        nothing = np.zeros(self.width)
        return Scores(self.rows.features, nothing, nothing, np.ones(self.width))
