"""Tests of efface.service.published."""

from __future__ import annotations

import numpy as np
import pytest

from efface import Fleet, Ridge
from efface.errors import InvalidValue, UnknownKey
from efface.live.policies import KeepFor
from efface.service.published import (
    PublishedFleet,
    keys_named,
    next_due,
    next_due_of,
    published,
    readable_time,
    replaced_fits,
)

ABOUT = {"model": "Ridge", "parameters": {"alpha": 1.0}, "features": ["a", "b"]}


def fitted(**options):
    rng = np.random.default_rng(0)
    return Ridge(**options), rng.normal(size=(20, 2)), rng.normal(size=20)


def test_what_is_published_predicts_as_the_model_and_does_not_follow_it():
    model, X, y = fitted()
    model.fit(X[:10], y[:10])
    found = published("m", ABOUT, model, 3)
    expected = model.predict(X)
    model.partial_fit(X[10:], y[10:])
    assert np.array_equal(found.predict(X), expected)
    assert not np.array_equal(model.predict(X), expected)
    with pytest.raises(ValueError, match="read-only"):
        found.coef[0] = 1.0
    about = found.described()
    assert (about["rows"], about["commit"], about["next_due"]) == (10, 3, None)
    assert list(about["coefficients"]) == ["a", "b"]


def test_the_next_row_is_due_by_its_age_or_its_end():
    at = np.arange(20).astype("datetime64[D]").astype("datetime64[ns]")
    model, X, y = fitted(window="90d")
    model.fit(X, y, at=at)
    assert readable_time(next_due(model.live_rows)) == "1970-04-01T00:00:00.000000000Z"
    model, X, y = fitted(window="1mo")
    model.fit(X, y, at=at + np.timedelta64(30, "D"))
    assert readable_time(next_due(model.live_rows)) == "1970-03-01T00:00:00.000000000Z"
    model, X, y = fitted(window=KeepFor(50.0))
    model.fit(X, y, at=np.arange(20.0), until=[30.0, *[None] * 19])
    assert next_due(model.live_rows) == 30.0
    model, X, y = fitted()
    assert next_due(model.fit(X, y).live_rows) is None


@pytest.mark.parametrize("day", ["1970-01-31", "1971-12-31", "1972-02-29", "1973-01-01"])
def test_months_are_those_of_the_policy(day):
    model, X, y = fitted(window="1mo")
    model.fit(X[:1], y[:1], at=[np.datetime64(day, "ns")])
    due = next_due(model.live_rows)
    assert model.live_rows.overdue(np.datetime64(due - 1, "ns")) == []
    assert model.live_rows.overdue(np.datetime64(due, "ns")) == [0]


KEYS = ["a", "b", 3] * 8


def fleet(**options):
    rng = np.random.default_rng(0)
    made = Fleet(Ridge(**options.pop("model", {})))
    made.learn(KEYS, rng.normal(size=(24, 2)), rng.normal(size=24), **options)
    return made


def published_fleet(made, keys=None):
    fits = replaced_fits({}, made, keys)
    return PublishedFleet("m", "Ridge", {}, ("x", "z"), made.n_rows_, 1, fits)


def test_predictions_are_those_of_the_fleet_and_do_not_follow_it():
    made, X = fleet(), np.random.default_rng(1).normal(size=(3, 2))
    found, asked = published_fleet(made), ["b", "a", 3]
    expected = made.predict(asked, X)
    assert np.allclose(found.predict(X, asked), expected, rtol=1e-12)
    made.learn(["a"], [[9.0, 9.0]], [1e3])
    assert np.allclose(found.predict(X, asked), expected, rtol=1e-12)
    assert not np.allclose(made.predict(asked, X), expected)


def test_only_the_entries_of_keys_that_changed_are_replaced():
    made = fleet(owners=KEYS)
    fits = replaced_fits({}, made, None)
    before = dict(fits)
    touched = keys_named(made, [], ["a"])
    assert touched == ["a"]
    made.forget(owner="a")
    made.learn([3, "new"], np.ones((2, 2)), np.ones(2))
    assert replaced_fits(fits, made, [*touched, 3, "new"]) is fits
    assert fits.keys() == {"b", 3, "new"}
    assert fits["b"] is before["b"]
    assert (fits[3].rows, fits["new"].rows) == (9, 1)
    full = replaced_fits(dict(before), made, None)
    assert {key: fit.rows for key, fit in full.items()} == {"b": 8, 3: 9, "new": 1}


def test_keys_without_rows_are_refused_without_their_text_or_predict_0():
    found, X = published_fleet(fleet()), np.ones((2, 2))
    with pytest.raises(UnknownKey, match=r"'rows\.1\.key' has no live row") as raised:
        found.predict(X, ["a", "Zyxkey"])
    assert "Zyxkey" not in str(raised.value)
    assert found.predict(X, ["a", "Zyxkey"], lenient=True)[1] == 0.0
    with pytest.raises(UnknownKey):
        found.of_key("Zyxkey")
    with pytest.raises(InvalidValue, match="one key per row"):
        found.predict(X, None)


def test_a_key_shows_its_model():
    made = fleet()
    found = published_fleet(made)
    shown = found.of_key(3)
    assert (shown["key"], shown["rows"], shown["penalty"]) == (3, 8, 1.0)
    assert np.allclose(list(shown["coefficients"].values()), made.coef([3])[0])
    about = found.described()
    assert (about["keyed"], about["keys"], about["rows"]) == (True, 3, 24)
    assert "a" not in about["coefficients"]


def test_the_next_row_of_any_key_is_due_by_its_age_or_its_end():
    assert next_due_of(fleet()) is None
    aged = fleet(model={"window": KeepFor(50.0)}, at=np.arange(24.0))
    assert next_due_of(aged) == 50.0
    ended = fleet(model={"window": KeepFor(50.0)}, at=np.arange(24.0), until=[30.0, *[None] * 23])
    assert next_due_of(ended) == 30.0
