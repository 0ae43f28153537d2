"""What a replay records while it runs; the memory of a log does not grow with the stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.charts.history import History
from efface.files.requests import Id
from efface.files.row_batches import RowBatch
from efface.files.scores import Coverage, GroupScores, Score
from efface.inputs.types import Vector

_MILLISECOND = np.timedelta64(1, "ms")

STEP_COLUMNS = {  # our column, and the attribute of ``replay``'s result
    "prediction": "prediction",
    "lower": "lower",
    "upper": "upper",
    "penalty": "penalty",
    "rank": "rank",
    "n_rows": "n_rows",
    "leverage": "leverage_new",
    "leverage_oldest": "leverage_old",
    "frt": "frt",
    "condition": "condition",
}


@dataclass(frozen=True)
class PredictedRows:
    """Rows in their order, with the model state that predicted each of them."""

    rows: RowBatch
    ids: Sequence[Id]
    columns: Mapping[str, NDArray[Any]]  # y, STEP_COLUMNS, intercept, coef and coef_error

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def take(self, index: NDArray[np.intp]) -> PredictedRows:
        """The rows at these indices."""
        columns = {name: values[index] for name, values in self.columns.items()}
        return PredictedRows(self.rows.take(index), [self.ids[k] for k in index], columns)


@dataclass(frozen=True)
class RequestOutcome:
    """The result of one request to forget."""

    line: int  # of the file of requests
    id: Id | None
    owner: Id | None
    asked: Any  # the requested time or row; None for the end
    row: int  # how many rows of the stream had been read
    arrived: int | None  # the number of the newest row with this id or owner; None without one
    rows: int  # how many rows were removed
    status: str  # "forgotten", "already gone" or "unknown"
    verdict: str  # of the audit
    error: float  # of the coefficients, relative to a refit on the remaining rows
    holds: bool
    by_owner: bool
    seconds: float  # until the rows were gone and the model had new coefficients
    audit_seconds: float


@dataclass
class RunLog:
    """Scores, coverage, history for the charts and outcomes of requests."""

    scores: dict[str, Score] = field(default_factory=dict)
    group_scores: GroupScores = field(default_factory=GroupScores)
    rank_falls: int = 0
    largest_frt: float = float("nan")
    coverage: Coverage = field(default_factory=Coverage)
    history: History = field(default_factory=History)
    outcomes: list[RequestOutcome] = field(default_factory=list)
    people: set[Id] = field(default_factory=set)  # the owners of rows so far
    rows: int = 0
    skipped: int = 0
    hidden: int = 0  # rows that are in no output
    first: Any = None  # time, if rows have times
    last: Any = None

    def add(self, predicted: PredictedRows, errors: Mapping[str, Vector]) -> None:
        """Record rows, and the absolute errors of the model and its baselines at each."""
        rows = predicted.rows
        if not len(rows):
            return
        covered = self.coverage.add(rows.y, predicted["lower"], predicted["upper"])
        self.history.add(positions(rows), predicted.columns, covered, errors, rows.groups)
        self.largest_frt = float(np.fmax.reduce([self.largest_frt, *predicted["frt"]]))
        if rows.at is not None:
            self.history.axis = "calendar" if rows.at.dtype.kind == "M" else "number"
            self.first = rows.at[0] if self.first is None else self.first
            self.last = rows.at[-1]

    def count(self, rows: RowBatch, shown: int) -> None:
        """Count rows that were read, of which so many are shown."""
        self.rows += len(rows)
        self.hidden += len(rows) - shown
        self.people.update(owner for owner in rows.owners or () if owner is not None)

    def add_outcome(self, outcome: RequestOutcome) -> None:
        """Record the result of a request."""
        self.outcomes.append(outcome)
        self.history.requests.append(self.history.rows)


def positions(rows: RowBatch) -> Vector:
    """Positions on the axis of a chart: milliseconds since 1970, numeric times or row numbers."""
    if rows.at is None:
        return rows.number.astype(np.float64)
    if rows.at.dtype.kind == "M":
        return np.asarray((rows.at - np.datetime64(0, "ms")) / _MILLISECOND)
    return np.asarray(rows.at, dtype=np.float64)
