"""The error against the memory: one panel per noise level, the floor, and every method."""

from __future__ import annotations

import numpy as np
import synthetic_results

from efface.paper.figure_rows import rows_of
from efface.paper.plots import draw
from efface.paper.settings import experiments_for


def table():
    settings = experiments_for("memory", 600, ("standardized",))
    return rows_of("memory", {each: synthetic_results.numbers(each) for each in settings})


def test_lines_have_the_values_of_the_rows():
    rows = table()
    drawn = draw("memory", rows)
    assert [axis.get_title() for axis in drawn.axes] == ["σ = 1", "σ = 2", "σ = 3"]
    for axis, sigma in zip(drawn.axes, (1, 2, 3), strict=True):
        shown = [list(line.get_ydata()) for line in axis.lines]
        for method in ("ols", "adaptive", "oracle", "auto"):
            line = [r["error_mean"] for r in rows if (r["sigma"], r["method"]) == (sigma, method)]
            assert line in shown
        assert axis.get_xscale() == axis.get_yscale() == "log"


def test_least_squares_has_its_exact_error_where_it_is_finite():
    rows = [r for r in table() if r["method"] == "ols" and r["sigma"] == 2]
    assert {r["n"] for r in rows if r["ols_exact"] is None} == {5, 10, 20, 40, 60, 80, 90}
    found = {r["n"]: r["ols_exact"] for r in rows if r["ols_exact"] is not None}
    n = np.array(list(found))
    assert np.allclose(list(found.values()), 4 * 100 / (n - 101))
