"""The slow twin of live rows with owners and ends: a list of dicts, and obvious code."""

from __future__ import annotations

import numpy as np

POLICIES = {
    "4 rows": (4, lambda twin, rows: rows[-4:]),
    "9 units": (9.0, lambda twin, rows: rows),
    "add 3, drop 1": ((3, 1), lambda twin, rows: rows[1:] if twin.arrived % 3 == 0 else rows),
    "all": (None, lambda twin, rows: rows),
}


class OwnedRows:
    """Live rows, oldest first, each with id, at, x, y, weight, owner and until.

    ``policy`` is a key of ``POLICIES``.
    """

    def __init__(self, policy):
        self.policy = policy
        self.rows = []
        self.arrived = 0  # rows that have entered

    @property
    def phase(self):
        return self.arrived % 3 if self.policy == "add 3, drop 1" else 0

    def column(self, name):
        return [row[name] for row in self.rows]

    def next_id(self):
        return max([id for id in self.column("id") if isinstance(id, int)], default=-1) + 1

    def over(self, row, now):
        """Is a row too old or due at a time?"""
        too_old = self.policy == "9 units" and now - row["at"] >= 9.0
        return too_old or (row["until"] is not None and now >= row["until"])

    def release(self, now):
        """Rows that are over leave; return how many."""
        before = len(self.rows)
        self.rows = [row for row in self.rows if not self.over(row, now)]
        return before - len(self.rows)

    def clock(self, at):
        """The latest time of a live row and of one that comes; None without times."""
        return None if at is None else max([at, *self.column("at")])

    def welcome(self, row):
        """Rows leave that are over when a row comes; return the row with its id."""
        row = {**row, "id": self.next_id() if row["id"] is None else row["id"]}
        self.now = self.clock(row["at"])
        if self.now is not None:
            self.release(self.now)
        return row

    def learn(self, row):
        row = self.welcome(row)
        if self.now is not None and self.over(row, self.now):
            return
        self.arrived += 1
        self.rows.append(row)
        if row["at"] is not None:
            self.rows.sort(key=lambda each: each["at"])  # stable
        self.rows = POLICIES[self.policy][1](self, self.rows)

    def forget(self, ids=(), owners=()):
        """Rows leave by id and owner; return how many."""
        before = len(self.rows)
        gone = [row for row in self.rows if row["id"] in ids or row["owner"] in owners]
        self.rows = [row for row in self.rows if not any(row is each for each in gone)]
        return before - len(self.rows)

    def arrays(self, width):
        """X, y and weights."""
        X = np.array(self.column("x"), dtype=float).reshape(-1, width)
        return X, np.array(self.column("y"), dtype=float), np.array(self.column("weight"), float)
