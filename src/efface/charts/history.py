"""What the charts of a replay draw: predictions, diagnostics and errors, downsampled as they come.

The memory of a history does not grow with the number of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from efface.charts.downsampling import BinnedSeries
from efface.inputs.types import Matrix, Vector

AxisKind = Literal["calendar", "number", "row"]

PREDICTED = ("y", "prediction", "lower", "upper")
MOST_FEATURES = 40  # with coefficient paths
MOST_GROUPS = 50  # with errors of their own
MOST_PATHS = 160  # coefficients, over all groups
_PATH_BINS = 1 << 7
DIAGNOSTICS = ("penalty", "rank", "n_rows", "leverage_oldest", "frt", "condition")


class CoefficientPaths:
    """Coefficients and their standard errors over time, for the first features and groups."""

    def __init__(self) -> None:
        self.groups: dict[str, BinnedSeries] = {}
        self.features = 0

    def add(self, group: str, x: Vector, coef: Matrix, errors: Matrix) -> None:
        """Append rows of one group."""
        self.features = min(coef.shape[1], MOST_FEATURES)
        if group not in self.groups and len(self.groups) >= max(1, MOST_PATHS // self.features):
            return
        series = self.groups.setdefault(group, BinnedSeries(_PATH_BINS))
        columns = {"x": x}
        for j in range(self.features):
            columns |= {f"coef{j}": coef[:, j], f"error{j}": errors[:, j]}
        series.add(columns)

    def path(self, group: str, feature: int) -> dict[str, Vector]:
        """One coefficient of one group, with a band of 1.96 standard errors."""
        series = self.groups[group]
        coef, error = series.mean(f"coef{feature}"), series.mean(f"error{feature}")
        band = {"lower": coef - 1.96 * error, "upper": coef + 1.96 * error}
        return {"x": series.mean("x"), "coef": coef, **band}


@dataclass
class History:
    """Series at three resolutions, and the rows at which requests to forget were answered."""

    axis: AxisKind = "row"
    fine: BinnedSeries = field(default_factory=lambda: BinnedSeries(1 << 14))  # PREDICTED
    medium: BinnedSeries = field(default_factory=lambda: BinnedSeries(1 << 9))  # and DIAGNOSTICS
    coarse: BinnedSeries = field(default_factory=lambda: BinnedSeries(1 << 7))  # and errors
    requests: list[int] = field(default_factory=list)
    paths: CoefficientPaths = field(default_factory=CoefficientPaths)
    groups: dict[str, BinnedSeries] = field(default_factory=dict)  # the errors of each group

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
        groups: Sequence[str] | None = None,
    ) -> None:
        """Append rows.

        ``x`` are positions on the axis. ``columns`` has the PREDICTED and DIAGNOSTICS columns.
        ``covered`` is 1 where the interval contains y, 0 where it does not, NaN without an
        interval. ``errors`` are the absolute errors of the model and its baselines, by name.
        ``groups`` are the groups of the rows.
        """
        predicted = {"x": x, **{name: columns[name] for name in PREDICTED}}
        self.fine.add(predicted)
        self.medium.add({**predicted, **{name: columns[name] for name in DIAGNOSTICS}})
        self.coarse.add({"x": x, "covered": covered, **errors})
        coef, wide = columns["coef"], columns["coef_error"]
        if groups is None:
            self.paths.add("", x, coef, wide)
            return
        for name, rows in self._rows_by_group(groups).items():
            self.paths.add(name, x[rows], coef[rows], wide[rows])
            series = self.groups.setdefault(name, BinnedSeries(_PATH_BINS))
            series.add({"x": x[rows], **{key: each[rows] for key, each in errors.items()}})

    def _rows_by_group(self, groups: Sequence[str]) -> dict[str, list[int]]:
        """The rows of the first groups that came; there may be very many others."""
        found: dict[str, list[int]] = {name: [] for name in self.groups}
        for row, name in enumerate(groups):
            if name in found:
                found[name].append(row)
            elif len(found) < MOST_GROUPS:
                found[name] = [row]
        return {name: rows for name, rows in found.items() if rows}


@dataclass(frozen=True)
class Labels:
    """What the captions of the charts name."""

    target: str
    features: tuple[str, ...]
    level: float  # of the intervals
    contenders: tuple[str, ...]  # the model first, then its baselines
