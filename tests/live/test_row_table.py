"""Columns of rows: free places say nothing, columns appear when rows need them."""

from __future__ import annotations

import numpy as np

from efface.inputs.times import never
from efface.live.names import NOBODY
from efface.live.row_table import RowTable, joined


def rows(n, **columns):
    return RowTable(np.full((n, 2), 5.0), np.full(n, 6.0), np.ones(n), np.arange(n) + 2, **columns)


def test_a_column_appears_with_the_first_rows_that_have_it():
    table = RowTable.empty(2)
    table.resize(4)
    table.put(np.array([0, 1]), rows(2))
    assert table.owners is None
    table.put(np.array([2]), rows(1, owners=np.array([8]), untils=np.array([3.5])))
    assert table.owners.tolist() == [NOBODY, NOBODY, 8, NOBODY]
    assert table.untils.tolist() == [never(float)] * 2 + [3.5, never(float)]


def test_cleared_places_hold_fill_values_alone():
    table = RowTable.empty(2)
    table.resize(3)
    marks = {"times": np.arange(3), "owners": np.arange(3), "untils": np.arange(3)}
    table.put(np.arange(3), rows(3, **marks))
    live = np.array([True, False, True])
    assert not table.free(live)
    table.clear(np.array([1]))
    assert table.free(live)
    assert table.untils[1] == never(int)
    assert not table.X[1].any()


def test_new_places_are_free_and_old_ones_stay():
    table = RowTable.empty(2)
    table.resize(2)
    table.put(np.arange(2), rows(2, owners=np.array([4, 6])))
    table.resize(50)
    assert table.free(np.arange(50) < 2)
    assert table.owners[:3].tolist() == [4, 6, NOBODY]
    assert table.nbytes == 50 * (2 + 1 + 1 + 1 + 1) * 8


def test_joined_tables_are_filled_where_one_lacks_a_column():
    whole = joined([rows(1), rows(2, owners=np.array([2, 4]))])
    assert whole.owners.tolist() == [NOBODY, 2, 4]
    assert whole.ids.tolist() == [2, 2, 3]
    assert whole.times is None
