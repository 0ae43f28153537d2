"""What the charts of a replay draw: predictions, diagnostics and errors, downsampled as they come.

The memory of a history does not grow with the number of rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from efface.charts.downsampling import BinnedSeries

AxisKind = Literal["calendar", "number", "row"]
Vector = NDArray[np.float64]

PREDICTED = ("y", "prediction", "lower", "upper")
DIAGNOSTICS = ("penalty", "rank", "n_rows", "leverage_oldest", "frt", "condition")


@dataclass
class History:
    """Series at three resolutions, and the rows at which requests to forget were answered."""

    axis: AxisKind = "row"
    fine: BinnedSeries = field(default_factory=lambda: BinnedSeries(1 << 14))  # PREDICTED
    medium: BinnedSeries = field(default_factory=lambda: BinnedSeries(1 << 9))  # and DIAGNOSTICS
    coarse: BinnedSeries = field(default_factory=lambda: BinnedSeries(1 << 7))  # and errors
    requests: list[int] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """How many rows were added."""
        return self.fine.rows

    def add(
        self,
        x: Vector,
        columns: Mapping[str, Vector],
        covered: Vector,
        errors: Mapping[str, Vector],
    ) -> None:
        """Append rows.

        ``x`` are positions on the axis. ``columns`` has the PREDICTED and DIAGNOSTICS columns.
        ``covered`` is 1 where the interval contains y, 0 where it does not, NaN without an
        interval. ``errors`` are the absolute errors of the model and its baselines, by name.
        """
        predicted = {"x": x, **{name: columns[name] for name in PREDICTED}}
        self.fine.add(predicted)
        self.medium.add({**predicted, **{name: columns[name] for name in DIAGNOSTICS}})
        self.coarse.add({"x": x, "covered": covered, **errors})


@dataclass(frozen=True)
class Labels:
    """What the captions of the charts name."""

    target: str
    features: int  # how many
    level: float  # of the intervals
    contenders: tuple[str, ...]  # the model first, then its baselines
