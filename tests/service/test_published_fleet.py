"""Tests of efface.service.published_fleet."""

from __future__ import annotations

import numpy as np
import pytest

from efface import Fleet, Ridge
from efface.errors import InvalidValue, UnknownKey
from efface.live.policies import KeepFor
from efface.service.published_fleet import (
    PublishedFleet,
    keys_named,
    next_due_of,
    replaced_fits,
)

KEYS = ["a", "b", 3] * 8


def fleet(**options):
    rng = np.random.default_rng(0)
    made = Fleet(Ridge(**options.pop("model", {})))
    made.learn(KEYS, rng.normal(size=(24, 2)), rng.normal(size=24), **options)
    return made


def published(made, keys=None):
    fits = replaced_fits({}, made, keys)
    return PublishedFleet("m", "Ridge", {}, ("x", "z"), made.n_rows_, 1, fits)


def test_predictions_are_those_of_the_fleet_and_do_not_follow_it():
    made, X = fleet(), np.random.default_rng(1).normal(size=(3, 2))
    found, asked = published(made), ["b", "a", 3]
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
    found, X = published(fleet()), np.ones((2, 2))
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
    found = published(made)
    shown = found.of_key(3)
    assert (shown["key"], shown["rows"], shown["penalty"]) == (3, 8, 1.0)
    assert np.allclose(list(shown["coefficients"].values()), made.coef([3])[0])
    about = found.described()
    assert (about["keyed"], about["keys"], about["rows"]) == (True, 3, 24)
    assert "a" not in about["coefficients"]


def test_the_next_row_is_due_by_its_age_or_its_end():
    assert next_due_of(fleet()) is None
    aged = fleet(model={"window": KeepFor(50.0)}, at=np.arange(24.0))
    assert next_due_of(aged) == 50.0
    ended = fleet(model={"window": KeepFor(50.0)}, at=np.arange(24.0), until=[30.0, *[None] * 23])
    assert next_due_of(ended) == 30.0
