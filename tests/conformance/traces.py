"""Memory after rows have left: all of it is a function of the rows that stay.

Two subjects get the same calls, but the rows that leave have other values in the second. A sum, a
coefficient or a bound that a row left behind then differs between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from conformance.expected_rows import ExpectedRows, Row
from conformance.histories import random_setting, run_seeds
from conformance.subjects import SUBJECTS, Setting, Subject
from conformance.tally import Tally
from conformance.walk import held_values

PINNED = {"events": 40, "fleet": 12, "river": 60}  # seeds; a store also holds random keys
ROWS = 40
Call = Callable[[Subject, list[Row]], object]


class Plan:
    """Calls that are known beforehand, and which of their rows are alive in the end."""

    def __init__(
        self, setting: Setting, rng: np.random.Generator, *, width: int, keyed: bool, forgets: bool
    ) -> None:
        self.keyed = keyed
        self.rng, self.setting, self.calls = rng, setting, list[Call]()
        by_time = setting.fades_by_time
        self.expected = ExpectedRows(setting.spec, setting.window, width, fades_by_time=by_time)
        self.rows = [self.row(t, width) for t in range(ROWS)]
        arrived = 0
        while arrived < ROWS:
            count = min(int(rng.integers(1, 7)), ROWS - arrived)
            self.learn(arrived, arrived + count)
            arrived += count
            for step in (self.look, self.forget, self.expire):
                if rng.random() < 0.4:
                    step()
        if forgets:
            self.forget()

    def row(self, t: int, width: int) -> Row:
        rng, at, until = self.rng, None, None
        if self.setting.clock is not None:
            at = max(0.0, t / 2 - (float(rng.integers(1, 5)) if rng.random() < 0.1 else 0.0))
            until = at + float(rng.integers(1, 9)) if rng.random() < 0.1 else None
        x, weight = rng.normal(size=width), float(rng.choice([0.5, 1.0, 1.0, 2.0]))
        return Row(f"row {t}", x, float(rng.normal()), weight, f"owner {t}", at, until)

    def learn(self, start: int, stop: int) -> None:
        """In one call, or in one for each row."""
        step = int(self.rng.choice([1, stop - start]))
        for t in range(start, stop, step):
            for row in self.rows[t : t + step]:
                self.expected.learn(row)
            self.add(lambda subject, rows, t=t: subject.learn_many(rows[t : t + step]))

    def add(self, call: Call) -> None:
        self.calls.append(call)
        if self.keyed and not self.expected.rows:  # without rows a key does not exist
            self.expected.arrived = 0

    def forget(self) -> None:
        live = self.expected.rows
        if not live:
            return
        picked = [live[i] for i in self.rng.integers(0, len(live), size=3)]
        ids, owners = [row.id for row in picked[:2]], [row.owner for row in picked[2:]]
        self.expected.forget(ids, owners)
        self.add(lambda subject, rows: subject.forget(ids, owners))

    def expire(self) -> None:
        if self.setting.clock is not None and self.expected.rows:
            now = self.expected.rows[-1].at + 1.0  # type: ignore[operator]
            self.expected.expire(now)
            time = self.setting.time(now)
            self.add(lambda subject, rows: subject.expire(time))

    def look(self) -> None:
        """Ask for a fit and a prediction, so that what they compute is in memory."""
        x = self.rng.normal(size=self.expected.width)
        self.add(lambda subject, rows: (subject.fits(["a"]), subject.predict("a", x)))

    def other_rows(self) -> list[Row]:
        """The same rows; those that are gone in the end have other values."""
        alive, rng = {row.id for row in self.expected.rows}, self.rng
        return [
            row
            if row.id in alive
            else replace(row, x=3.0 * rng.normal(size=row.x.size), y=3.0 * float(rng.normal()))
            for row in self.rows
        ]


def check_traces(path: str, seeds: Sequence[int], *, forgets: bool) -> Tally:
    """``forgets``: the last call is ``forget``; else rows may have left by themselves."""

    def once(seed: int, tally: Tally) -> None:
        rng = np.random.default_rng([seed, 55, len(path)])
        width = int(rng.integers(1, 5))
        setting = random_setting(rng, width, fading=path != "fleet")
        one, other = (SUBJECTS[path](setting, width) for _ in range(2))
        plan = Plan(setting, rng, width=width, keyed=one.keyed, forgets=forgets)
        others = plan.other_rows()
        for call in plan.calls:
            call(one, plan.rows)
            call(other, others)
        kept, found = (np.sort(held_values(each.root)[0].view(np.int64)) for each in (one, other))
        tally.states += 1
        count = int(np.setdiff1d(kept, found).size)
        told = f"{count} numbers depend on rows that left; {setting.build()!r}"
        fit = one.fits(["a"]).get("a")  # after the walk: to ask is a step of its own
        ids = [] if fit is None else fit.ids
        tally.agree("ids", ids == plan.expected.ids, f"other rows are alive; {setting.build()!r}")
        tally.agree("trace", np.array_equal(kept, found), told)

    return run_seeds(once, seeds)
