"""Tests of efface.service.published."""

from __future__ import annotations

import numpy as np
import pytest

from efface import Ridge
from efface.live.policies import KeepFor
from efface.service.published import next_due, published, readable_time

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
