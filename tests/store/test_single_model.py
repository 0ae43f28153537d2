"""One model of a store: rebuilt from rows that came in any order."""

from __future__ import annotations

import numpy as np
import pytest
from store_cases import data, filled

from efface import Ridge
from efface.errors import DamagedStore, InvalidValue
from efface.store.single_model import SingleModel
from efface.store.stored_models import Definition
from efface.store.stored_rows import StoredRows


def test_rows_come_back_in_the_order_of_time():
    X, y = data(4)
    rows = StoredRows(X, y, np.ones(4), list("abcd"), np.array([2.0, 1.0, 1.0, 3.0]))
    stored = SingleModel(Definition.of(1, "m", Ridge(), 3), rows, [5, 6, 7, 8], 0)
    assert stored.model.ids_ == ["b", "c", "a", "d"]
    assert stored.seqs == {"a": 5, "b": 6, "c": 7, "d": 8}
    assert (stored.model.live_rows.values()[0] == X[[1, 2, 0, 3]]).all()
    assert "4 rows" in repr(stored)
    assert "a" not in repr(stored).replace("SingleModel", "")


def test_rows_that_make_no_model_are_refused():
    rows = StoredRows(np.ones((2, 3)), np.ones(2), -np.ones(2), ["a", "a"])
    with pytest.raises(DamagedStore, match="cannot be rebuilt"):
        SingleModel(Definition(1, "m", "Unknown", {"window": None}, 3), rows, [0, 1], 0)


def test_one_model_has_no_keys(tmp_path):
    X, y = data(2)
    with filled(tmp_path / "orders") as store:
        for wrong in (
            lambda: store.learn("demand", X, y, keys=["a", "b"]),
            lambda: store.predict("demand", X, keys=["a", "b"]),
            lambda: store.predict_interval("demand", X, keys=["a", "b"]),
            lambda: store.coefficients("demand", "a"),
        ):
            with pytest.raises(InvalidValue, match="key"):
                wrong()
        with pytest.raises(InvalidValue, match="keyed model"), store.reading_fleet("demand"):
            pass
        assert store.status()["rows"] == 40
