"""Standard errors of coefficients, measured from the live rows at some rows of a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from efface.files.requests import Group
from efface.inputs.types import Matrix, Vector
from efface.models.regression import Model

_EVERY = 50  # rows between two measurements, at least
_SHARE = 64  # and at least this fraction of the rows so far
_LONG = 10_000  # rows of a batch or so far, from which batches are not cut: the engine is faster


class MeasuredErrors:
    """The last standard errors of each group; None is the name of a stream without groups.

    A measurement costs O(n d^2) for n live rows. So there are about 64 in the first 3,200 rows, and
    about 64 more whenever the stream has become three times as long. In a long stream, or for a
    long batch, a measurement waits for the end of the batch.
    """

    def __init__(self) -> None:
        self._rows = self._measured = 0
        self._errors: dict[Group, Vector] = {}

    def pieces(self, count: int) -> Iterator[slice]:
        """Cut a batch where a measurement is due."""
        start = 0
        while start < count:
            due = self._measured + self._step - self._rows
            whole = max(count, self._rows) >= _LONG
            stop = count if whole else min(count, start + max(1, due))
            self._rows += stop - start
            yield slice(start, stop)
            start = stop

    def update(self, models: Callable[[], Mapping[Group, Model]]) -> None:
        """Measure, if that is due."""
        if not self._errors or self._rows - self._measured >= self._step:
            self._errors = {n: model.standard_errors().coef for n, model in models().items()}
            self._measured = self._rows

    def columns(self, names: Sequence[str] | None, shape: tuple[int, int]) -> Matrix:
        """The standard errors that were known at each row; NaN where none were measured."""
        found = np.full(shape, np.nan)
        if names is None:
            found[:] = self._errors.get(None, np.nan)
            return found
        for row, name in enumerate(names):
            if name in self._errors:
                found[row] = self._errors[name]
        return found

    @property
    def _step(self) -> int:
        return max(_EVERY, self._rows // _SHARE)
