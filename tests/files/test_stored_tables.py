"""Tables for the models of a store."""

from __future__ import annotations

import numpy as np
import pytest

from efface.errors import BadTable, InvalidValue
from efface.files.readers import open_table
from efface.files.row_batches import RowBatch
from efface.files.stored_tables import PART, columns_of, feature_rows, parts

LEVELS = {"slot": ("a", "b", "c")}


@pytest.fixture
def table(tmp_path):
    (tmp_path / "rows.csv").write_text("slot,hum,temp\na,1,2\nc,3,4\nb,5,6\n")
    return open_table(str(tmp_path / "rows.csv"))


def test_features_come_in_the_order_of_the_model(table):
    ((X, _),) = feature_rows(table, ["temp", "slot=b", "slot=c"], LEVELS)
    assert X.tolist() == [[2.0, 0.0, 0.0], [4.0, 0.0, 1.0], [6.0, 1.0, 0.0]]
    ((X, keys),) = feature_rows(table, ["hum"], {})
    assert X.tolist() == [[1.0], [3.0], [5.0]]
    assert keys is None
    ((X, keys),) = feature_rows(table, ["hum"], {}, "slot")
    assert keys == ["a", "c", "b"]


def test_wrong_columns_are_named(table):
    for names, levels, text in (
        (["wind"], {}, "wind"),
        (["slot"], {}, "slot"),
        (["hum", "temp=1"], {"temp": ("1", "2")}, "temp"),
    ):
        with pytest.raises(BadTable, match=text):
            list(feature_rows(table, names, levels))
    with pytest.raises(InvalidValue, match="all text"):
        list(feature_rows(table, ["slot=b", "slot=c"], LEVELS))
    with pytest.raises(InvalidValue, match="features"):
        list(feature_rows(table, ["temp", "slot=c"], LEVELS))
    with pytest.raises(BadTable, match="one of a, b"):
        list(feature_rows(table, ["temp", "slot=b"], {"slot": ("a", "b")}))


def test_columns_of_features():
    assert columns_of(["x=1", "y"], {}) == ["x=1", "y"]


def test_rows_come_in_parts():
    count = PART + 3
    rows = RowBatch(np.arange(count), np.zeros((count, 1)), np.zeros(count))
    assert [len(part) for part in parts(rows)] == [PART, 3]
