"""The recent past of each model, for the dashboard: kept in memory, in no file and no metric.

Coefficients before and after a deletion tell the deleted row. So all of it is dropped for the
models that a request to forget touches.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, final

from efface.service.published import Published

POINTS = 600
SHOWN = 8  # coefficients


@final
@dataclass(frozen=True)
class Errors:
    """How the rows of a commit were predicted before they were learned."""

    rows: int
    absolute: float  # the mean absolute error
    covered: float | None  # the share inside the intervals of 95 %, of those that were computed


@final
@dataclass
class RecentPast:
    """Points of all models, newest last."""

    points: dict[str, deque[dict[str, Any]]] = field(default_factory=dict)
    dropped: dict[str, float] = field(default_factory=dict)

    def add(self, model: Published, errors: Errors | None, now: float) -> None:
        """Add the point of a commit."""
        kept = self.points.setdefault(model.name, deque(maxlen=POINTS))
        kept.append(
            {
                "at": now,
                **model.point(SHOWN),
                "learned": 0 if errors is None else errors.rows,
                "error": None if errors is None else errors.absolute,
                "covered": None if errors is None else errors.covered,
            }
        )

    def drop(self, name: str, now: float) -> None:
        """Forget the past of a model."""
        self.points.pop(name, None)
        self.dropped[name] = now

    def of(self, name: str) -> dict[str, Any]:
        """The points of a model, and when earlier ones were dropped."""
        return {"points": list(self.points.get(name, ())), "dropped": self.dropped.get(name)}
