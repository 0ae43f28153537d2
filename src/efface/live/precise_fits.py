"""Sums of the live rows in double-double precision, kept while fits need them."""

from __future__ import annotations

from typing import final

import numpy as np

from efface.engine.jit.views import Vector
from efface.engine.sums.precise_sums import allocate_precise, follow_precise, seen_by
from efface.engine.sums.sum_checks import wrong_precise_sums
from efface.live.rows import RowStore


@final
class PreciseFits:
    """The store of the sums, made when a fit first needs it, overwritten once none does.

    >>> fits = PreciseFits(2, centred=True)
    >>> fits.active, fits.nbytes
    (False, 0)
    """

    def __init__(self, width: int, *, centred: bool) -> None:
        self._width, self._centred = width, centred
        self._store: Vector = np.zeros(0)
        self.active = False  # do sums of rows lie in the store?

    def serve(self, rows: RowStore) -> bool:
        """Can the sums determine the coefficients, as there are more rows than unknowns?"""
        head, end = rows.span
        return end - head - rows.weightless - self._centred > self._width

    def store_for(self, rows: RowStore) -> Vector:
        """The store, for a fit of these rows."""
        if not self._store.size:
            self._store = allocate_precise(self._width, self._centred, rows.capacity)
        self.active = True
        return self._store

    @property
    def kept(self) -> Vector | None:
        """The store, if it holds sums."""
        return self._store if self.active else None

    def release(self, head: int, end: int, by: int = 0) -> None:
        """Rows before ``head`` have left; then rows moved ``by`` places towards the front."""
        if self.active:
            self.active = bool(follow_precise(self._store, head, end, by))

    def disturb(self, place: int) -> None:
        """A row was put in at ``place``."""
        if self.active and place < seen_by(self._store):
            self.clear()

    def clear(self) -> None:
        """Overwrite all sums; the store is made anew when it is next needed."""
        if self._store.size:
            self._store[:] = 0.0
            self._store, self.active = np.zeros(0), False

    def residues(self, rows: RowStore) -> list[str]:
        """The names of sums that do not follow from the live rows."""
        (x, y, _), head = rows.arrays, rows.span[0]
        return list(wrong_precise_sums(self._store, x, y, head)) if self.active else []

    @property
    def nbytes(self) -> int:
        return self._store.nbytes
