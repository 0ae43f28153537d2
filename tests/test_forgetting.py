"""Rows leave from anywhere: coefficients equal a refit, and a fresh model to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from histories import CLASSES, RULES, SELECTED, build, streams
from hypothesis import given, settings
from hypothesis import strategies as st

from efface import KeepFor, audit, replay

EVENTS = [
    *("learn", "learn", "learn", "batch", "late", "replay"),
    *("forget", "forget", "many", "none", "owner", "owner", "expire", "save"),
]
LEAVING = {"forget", "many", "none", "owner", "expire", "save"}


class History:
    """A model and the rows that it should hold, in lists."""

    def __init__(self, name, kind, *, window, intercept, weighted, named, marked, seed):
        rng = np.random.default_rng(seed)
        self.new = lambda: build(name, window=window, fit_intercept=intercept)
        self.model = self.new()
        self.X, self.y = streams(kind, 900, 3, seed)
        self.w = rng.choice([0.0, 0.5, 1.0, 3.0], size=900) if weighted else np.ones(900)
        self.owners = rng.choice(["ann", "bob", "eve", 7, None], size=900) if marked else None
        self.stays = rng.choice([2.5, 9.5, 40.5, np.nan, np.nan], size=900) if marked else None
        self.named, self.arrived = named, 0
        self.times = {}

    def take(self, count):
        rows = list(range(self.arrived, self.arrived + count))
        self.arrived += count
        return rows

    def id_of(self, row):
        return f"row {row}" if self.named and row % 3 else row

    def arguments(self, rows):
        ids = [self.id_of(row) for row in rows]
        at = np.array([self.times[id] for id in ids])
        marks = {} if self.owners is None else {"owners": self.owners[rows]}
        if self.stays is not None:
            marks["until"] = at + self.stays[rows]
        weights = {"sample_weight": self.w[rows]}
        return {"X": self.X[rows], "y": self.y[rows], "ids": ids, "at": at, **weights, **marks}

    def come(self, count, late=0.0):
        """The arguments of the next rows."""
        rows = self.take(count)
        self.times.update({self.id_of(row): float(row) - late for row in rows})
        return self.arguments(rows)

    def learn(self, count):
        self.model.partial_fit(**self.come(count))

    def learn_one(self, late=0.0):
        columns = self.come(1, late)
        names = {"X": "x", "ids": "id", "sample_weight": "weight", "owners": "owner"}
        row = {names.get(name, name): column[0] for name, column in columns.items()}
        if np.isnan(row.get("until", 0.0)):
            del row["until"]
        self.model.learn_one(**row)

    def fresh(self):
        """A model that never saw other rows than the live ones."""
        rows = [int(str(id).split()[-1]) for id in self.model.ids_]
        return self.new().partial_fit(**self.arguments(rows))


def run(history, event, number):
    """Let an event happen; whether the state must now be that of a fresh model."""
    model = history.model
    if event == "learn":
        history.learn_one()
    elif event == "batch":
        history.learn(1 + number % 9)
    elif event == "late":
        history.learn_one(late=number % 20 + 0.5)
    elif event == "replay":
        replay(model, **history.come(1 + number % 9, late=number % 3))
    elif event == "forget":
        model.forget(model.ids_[number % model.n_rows_])
    elif event == "many":
        ids = model.ids_
        model.forget([ids[k % len(ids)] for k in (number, number // 7, number // 31)])
    elif event == "none":
        model.forget([])
    elif event == "owner":
        people = ["ann", "bob", "eve", 7]
        model.forget([model.ids_[0]], owner=people[number % 4], missing="ok")
    elif event == "expire":
        model.expire(history.arrived + float(number % 5))
    elif event == "save":
        model.__getstate__()
    return event in LEAVING


def assert_same_bits(model, fresh):
    found, expected = ([m.intercept_, m.penalty_, *m.coef_] for m in (model, fresh))
    assert np.array(found).tobytes() == np.array(expected).tobytes()
    assert model.rank_ == fresh.rank_
    assert (model.ids_, model.owners_) == (fresh.ids_, fresh.owners_)


histories = st.lists(
    st.tuples(st.sampled_from(EVENTS), st.integers(0, 10**6)), min_size=5, max_size=40
)


@pytest.mark.parametrize("name", [*RULES, *SELECTED])
@settings(deadline=None, max_examples=25)
@given(
    events=histories,
    kind=st.sampled_from(CLASSES),
    window=st.sampled_from([None, 150, KeepFor(150.0)]),
    intercept=st.booleans(),
    weighted=st.booleans(),
    named=st.booleans(),
    marked=st.booleans(),
    seed=st.integers(0, 99),
)
def test_after_any_history_the_model_is_a_fresh_one(name, events, seed, **options):
    options = {"kind": options.pop("kind"), **options}
    history = History(name, seed=seed, **options)
    history.learn(200)
    for event, number in events:
        if history.model.n_rows_ == 0:
            history.learn(30)
        fresh = run(history, event, number)
        if fresh:
            assert_same_bits(history.model, history.fresh())
        if number % 3 == 0:
            history.model.predict_one(history.X[0])
    found = audit(history.model)
    assert found.holds, found


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", ["Ridge", "AdaptiveRidge", *SELECTED])
@pytest.mark.parametrize("rows", [127, 128, 129, 4600])
def test_both_sides_of_the_threshold_give_fresh_models(rows, name, intercept):
    rng = np.random.default_rng(rows)
    X = rng.normal(size=(rows, 4)) + 3.0
    y = X @ np.arange(4.0) + rng.normal(size=rows)
    model = build(name, fit_intercept=intercept).fit(X, y)
    left = np.arange(rows)
    for count in (1, 1, 2, 40, 1):
        gone = rng.choice(left, size=count, replace=False)
        model.forget(gone)
        left = np.setdiff1d(left, gone)
        fresh = build(name, fit_intercept=intercept).fit(X[left], y[left], ids=left)
        assert_same_bits(model, fresh)
        model.learn_one(X[0], float(y[0]), id=rows + len(left))
        model.forget(rows + len(left))
        assert_same_bits(model, fresh)
    assert audit(model).holds


def test_two_hundred_thousand_rows():
    rng = np.random.default_rng(0)
    n = 200_000
    X = rng.normal(size=(n, 3)) * [1.0, 1e3, 1e-3] + [0.0, 1e6, 1.0]
    X[70_000] *= 1e8
    y = X @ np.array([1.0, 1e-3, 1e3]) + rng.normal(size=n)
    model = build("OLS").fit(X, y)
    model.predict_one(X[0])
    gone = np.append(rng.choice(n, size=500, replace=False), 70_000)
    for id in gone[:250].tolist():
        model.forget(id)
    model.forget(np.unique(gone[250:]))
    left = np.setdiff1d(np.arange(n), gone)
    assert_same_bits(model, build("OLS").fit(X[left], y[left], ids=left))
    Z = X[left] - X[left].mean(axis=0)
    expected = np.linalg.lstsq(Z, y[left] - y[left].mean(), rcond=None)[0]
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-9)
