"""Which rows are alive: a plain list of rows, and the rules by which rows leave."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import numpy as np
from conformance.oracle import Answer, Spec, solve


@dataclass(frozen=True)
class Row:
    """A row as it is learned; times are plain numbers here."""

    id: int | str | None
    x: np.ndarray
    y: float
    weight: float = 1.0
    owner: str | None = None
    at: float | None = None
    until: float | None = None
    key: str = "a"


@dataclass(frozen=True)
class Window:
    """When rows leave by themselves: ("rows", s), ("age", length), ("add", k, drop) or ("all",)."""

    kind: str = "all"
    size: float = 0
    drop: int = 1


@dataclass
class ExpectedRows:
    """The live rows of one model, oldest first."""

    spec: Spec
    window: Window
    width: int
    rows: list[Row] = field(default_factory=list)
    arrived: int = 0

    # -- rows come and leave -----------------------------------------------------------------------

    def next_id(self) -> int:
        return max((r.id for r in self.rows if isinstance(r.id, int)), default=-1) + 1

    def admit(self, at: float | None) -> float | None:
        """Rows leave that are over once a row of this time comes; return the time."""
        if at is None:
            return None
        now = max([at, *(r.at for r in self.rows if r.at is not None)])
        self.expire(now)
        return now

    def learn(self, row: Row) -> None:
        now = self.admit(row.at)
        if now is not None and self.over(row, now):
            return
        self.arrived += 1
        self.rows.append(row)
        if row.at is not None:
            self.rows.sort(key=lambda each: each.at or 0.0)  # stable
        self.shrink()

    def shrink(self) -> None:
        window, halflife = self.window, self.spec.halflife
        limit = window.size if window.kind == "rows" else float("inf")
        if halflife is not None and not self.fades_by_time:
            limit = min(limit, ceil(53 * halflife))
        if len(self.rows) > limit:
            del self.rows[: len(self.rows) - int(limit)]
        if window.kind == "add" and self.arrived % window.size == 0:
            del self.rows[: window.drop]

    fades_by_time: bool = False

    def over(self, row: Row, now: float) -> bool:
        """Is a row too old or due?"""
        length = self.window.size if self.window.kind == "age" else float("inf")
        if self.spec.halflife is not None and self.fades_by_time:
            length = min(length, 53 * self.spec.halflife)
        old = row.at is not None and now - row.at >= length
        return old or (row.until is not None and now >= row.until)

    def expire(self, now: float) -> int:
        return self._keep([r for r in self.rows if not self.over(r, now)])

    def forget(self, ids: Iterable[Any] = (), owners: Iterable[Any] = ()) -> int:
        ids, owners = set(ids), set(owners)
        return self._keep([r for r in self.rows if r.id not in ids and r.owner not in owners])

    def _keep(self, rows: list[Row]) -> int:
        gone = len(self.rows) - len(rows)
        self.rows = rows
        return gone

    # -- what must be ------------------------------------------------------------------------------

    @property
    def ids(self) -> list[Any]:
        return [r.id for r in self.rows]

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        X = np.array([r.x for r in self.rows], dtype=float).reshape(-1, self.width)
        return X, np.array([r.y for r in self.rows]), np.array([r.weight for r in self.rows])

    def answer(self) -> Answer:
        X, y, weights = self.arrays()
        times = [r.at or 0.0 for r in self.rows] if self.fades_by_time else None
        return solve(X, y, self.spec, weights, times)
