"""``WindowScaler``: means and variances of the live rows, against exact fractions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from conformance.designs import draw
from conformance.expected_rows import ExpectedRows, Row
from conformance.histories import random_setting, run_seeds
from conformance.oracle import EPS, MILD, PROMISED, TINY, Spec, fraction, nearest
from conformance.subjects import Setting
from conformance.tally import Tally
from flint import fmpq

from efface import WindowScaler

DESIGNS = ("normal", "scaled 1e-4..1e4", "means 1e6", "giant rows", "constants", "prices", "dates")
ROWS = 60


def moments(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of each column, rounded from fractions."""
    means, variances = [], []
    for column in X.T:
        values = [fraction(v) for v in column]
        mean = sum(values, fmpq(0)) / len(values)
        square = sum(((v - mean) ** 2 for v in values), fmpq(0))
        means.append(nearest(mean))
        variances.append(nearest(square / len(values)))
    return np.array(means), np.array(variances)


class ScalerHistory:
    """A scaler whose rows come and leave, and the rows that it must have."""

    def __init__(self, setting: Setting, X: np.ndarray, rng: np.random.Generator) -> None:
        self.setting, self.X, self.rng, self.arrived = setting, X, rng, 0
        self.scaler = WindowScaler(setting.window_argument())
        self.expected = ExpectedRows(Spec(), setting.window, X.shape[1])

    def rows(self, count: int) -> list[Row]:
        found = []
        for t in range(self.arrived, min(self.arrived + count, ROWS)):
            at = None if self.setting.clock is None else t / 2
            found.append(Row(t, self.X[t], 0.0, owner=f"owner {t}", at=at))
        self.arrived += len(found)
        return found

    def learn(self) -> None:
        for row in self.rows(int(self.rng.integers(1, 4))):
            at = self.setting.time(row.at)
            self.scaler.learn_one(row.x.copy(), id=row.id, at=at, owner=row.owner)
            self.expected.learn(row)

    def learn_many(self) -> None:
        rows = self.rows(int(self.rng.integers(2, 9)))
        if rows:
            X, _, options = self.setting.columns(rows)
            del options["sample_weight"]
            self.scaler.partial_fit(X, **options)
            for row in rows:
                self.expected.learn(row)

    def roll(self, tally: Tally) -> None:
        """Scale each row by the rows before it, then learn it."""
        rows = self.rows(4)
        if not rows:
            return
        X, _, options = self.setting.columns(rows)
        del options["sample_weight"]
        scaled = self.scaler.rolling_transform(X, **options)
        for t, row in enumerate(rows):
            self.expected.admit(row.at)
            if self.expected.rows:
                self.compare(row.x, scaled[t], tally)
            self.expected.learn(row)

    def forget(self) -> None:
        live = self.expected.rows
        if live:
            ids = [live[int(self.rng.integers(len(live)))].id]
            owners = [live[int(self.rng.integers(len(live)))].owner]
            self.expected.forget(ids, owners)
            self.scaler.forget(ids, owners=owners)

    def check(self, tally: Tally) -> None:
        """Mean, variance and a scaled row; the tolerance follows from mean over deviation."""
        told = f"{self.scaler!r}, {len(self.expected.rows)} rows"
        tally.agree("ids", self.scaler.ids_ == self.expected.ids, f"other ids; {told}")
        if not self.expected.rows:
            return
        tally.states += 1
        mean, variance, allowed = self.answer()
        for name, found, right, size in (
            ("mean", self.scaler.mean_, mean, np.sqrt(variance)),
            ("variance", self.scaler.var_, variance, variance),
        ):
            limit = allowed * size + 4 * EPS * np.abs(right) + TINY
            error = float((np.abs(found - right) / limit).max())
            tally.close(name, error, f"{found}, right is {right}; {told}")
        x = self.X[min(self.arrived, ROWS - 1)]
        self.compare(x, self.scaler.transform_one(x.copy()), tally)

    def answer(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mean, variance, and the relative error that is allowed."""
        mean, variance = moments(self.expected.arrays()[0])
        deviation = np.sqrt(variance)
        condition = np.abs(mean) / np.where(deviation > 0, deviation, np.inf)
        return mean, variance, PROMISED * np.maximum(1.0, condition / MILD)

    def compare(self, x: np.ndarray, scaled: np.ndarray, tally: Tally) -> None:
        """A scaled row; what is constant up to rounding is not divided, so it is left out."""
        mean, variance, allowed = self.answer()
        spread = np.sqrt(variance) > 1e-9 * np.abs(mean)
        right = (x - mean)[spread] / np.sqrt(variance[spread])
        limit = allowed[spread] * (1.0 + np.abs(right)) + TINY
        error = float((np.abs(scaled[spread] - right) / limit).max(initial=0.0))
        tally.close("scaled row", error, f"{scaled}, right is {right}; {self.scaler!r}")


def check_scaler(seeds: Sequence[int]) -> Tally:
    def once(seed: int, tally: Tally) -> None:
        rng = np.random.default_rng([seed, 44])
        X = draw(DESIGNS[seed % len(DESIGNS)], rng, ROWS).X
        history = ScalerHistory(random_setting(rng, X.shape[1], fading=False), X, rng)
        history.learn_many()
        for _ in range(12):
            steps = (
                history.learn,
                history.learn_many,
                history.forget,
                partial(history.roll, tally),
            )
            steps[rng.integers(4)]()
            history.check(tally)

    return run_seeds(once, seeds)
