"""Requests to learn rows: what is skipped, what is refused, and how they are joined."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from store_cases import NAMES, data, filled

from efface import Ridge
from efface.errors import BadTime, InvalidValue, RefusedRow, RepeatedId
from efface.store import Store


def test_a_row_that_is_there_is_skipped_and_one_with_other_content_refused(tmp_path):
    X, y = data(6)
    now = datetime(2024, 5, 1, tzinfo=UTC)
    about = {"owners": ["ann", None, "ann", "bob", None, "bob"], "at": [now] * 6}
    about["until"] = [None, None, datetime(2200, 1, 1, tzinfo=UTC), None, None, None]
    with Store(tmp_path / "orders") as store:
        store.add("demand", Ridge(), features=NAMES)
        ids = list("abcdef")
        assert store.learn("demand", X, y, ids=ids, **about) == (ids, 6, 0)
        assert store.learn("demand", X, y, ids=ids, **about) == (ids, 0, 6)
        for change in (
            {"owners": ["ann", "ann", "ann", "bob", None, "bob"]},
            {"at": [*[now] * 5, now + timedelta(seconds=1)]},
            {"until": [None] * 6},
            {"sample_weight": [1, 1, 1, 1, 1, 2.0]},
        ):
            with pytest.raises(RepeatedId):
                store.learn("demand", X, y, ids=ids, **{**about, **change})
        with pytest.raises(RepeatedId):
            store.learn("demand", X, y + 1.0, ids=ids, **about)
        more = [*"abc", *"xyz"]
        about = {name: values for name, values in about.items() if name != "until"}
        with pytest.raises(RepeatedId):
            store.learn("demand", X, y, ids=more, **about)
        assert store.status()["rows"] == 6


def test_rows_that_left_do_not_come_back_for_seven_days(tmp_path, monkeypatch):
    X, y = data(40)
    with filled(tmp_path / "orders") as store:
        store.forget(owner="person 0")
    with Store(tmp_path / "orders") as store:
        ids, owners = [f"order-{k}" for k in range(9)], [f"person {k % 8}" for k in range(9)]
        with pytest.raises(RefusedRow, match="2 ids"):
            store.learn("demand", X[:9], y[:9], ids=ids, owners=owners)
        found = store.learn("demand", X[:9], y[:9], ids=ids, owners=owners, left="skip")
        assert found[1:] == (0, 9)
        store.learn("demand", X[:1], y[:1], ids=["new"], owners=["person 0"])  # they may return
        monkeypatch.setattr("time.time", lambda: 1e10)
        store.learn("demand", X[:1], y[:1], ids=["newer"])
        store.learn("demand", X[:1], y[:1], ids=["order-0"])


def test_rows_that_passed_through_a_window_do_not_come_back_either(tmp_path):
    X, y = data(10)
    with Store(tmp_path / "orders") as store:
        store.add("demand", Ridge(window=4), features=NAMES)
        store.learn("demand", X, y, ids=range(10))
        assert store.learn("demand", X, y, ids=range(10), left="skip")[1:] == (0, 10)
        assert store._models["demand"].model.ids_ == [6, 7, 8, 9]


def test_owners_forgotten_for_ever_are_refused_also_after_opening_again(tmp_path):
    with filled(tmp_path / "orders") as store:
        store.forget(owner="person 0", forever=True)
        store.forget(owner="stranger", forever=True, missing="ok")
    X, y = data(1)
    with Store(tmp_path / "orders") as store:
        for name in ("person 0", "stranger"):
            with pytest.raises(RefusedRow) as caught:
                store.learn("demand", X, y, owners=[name])
            assert name not in str(caught.value)
        store.learn("demand", X, y, owners=["person 1"])


def test_times_ahead_of_the_clock_are_refused(tmp_path):
    now = datetime.now(UTC)
    with Store(tmp_path / "orders") as store:
        store.add("demand", Ridge(), features=NAMES)
        store.learn("demand", *data(1), at=[now + timedelta(minutes=4)])
        with pytest.raises(BadTime, match="ahead of the clock"):
            store.learn("demand", *data(1), at=[now + timedelta(minutes=6)])
        assert store.status()["rows"] == 1


def test_invalid_rows_are_refused_before_anything_changed(tmp_path):
    X, y = data(3)
    with filled(tmp_path / "orders") as store:
        for wrong in (
            lambda: store.learn("demand", X[:, :2], y),
            lambda: store.learn("demand", X, y[:2]),
            lambda: store.learn("demand", X * np.nan, y),
            lambda: store.learn("demand", X, 5),
            lambda: store.learn("demand", X, y, ids=["a", "a", "b"]),
            lambda: store.learn("demand", X, y, at=[1.0, 2.0, 3.0]),
            lambda: store.learn("other", X, y),
            lambda: store.learn("demand", X, y, left="perhaps"),
        ):
            with pytest.raises(InvalidValue):
                wrong()
        assert store.status()["rows"] == 40
