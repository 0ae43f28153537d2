"""Owners and ends of rows, kept together by row id."""

from __future__ import annotations

import numpy as np

from efface.live.marks import RowMarks


def test_marks_are_those_of_the_rows_that_remain():
    marks = RowMarks()
    marks.add(["a", "b", "c"], ["ann", None, "ann"], [5, 2**63 - 1, 7])
    assert marks.some
    assert marks.owner_of_each(["c", "b"]) == ["ann", None]
    assert marks.until_of_each(["c", "b"]).tolist() == [7, 2**63 - 1]
    assert marks.until_of_each("c").dtype == np.int64
    marks.remove(["a", "c"])
    assert not marks.some
    assert marks.owner_of_each("b") is marks.until_of_each("b") is None


def test_marks_of_rows_that_are_not_alive_are_named():
    marks = RowMarks()
    marks.add(["a", "b"], ["ann", None], [5.0, 6.0])
    assert marks.residues(["a", "b"]) == []
    assert marks.residues(["a"]) == ["ends"]
    assert marks.residues(["b"]) == ["owners", "ends"]
