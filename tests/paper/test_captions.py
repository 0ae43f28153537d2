"""Captions name the figure, the reading and the runs; tables have the last values."""

from __future__ import annotations

import pytest
import synthetic_results

from efface.paper.captions import caption, last_values
from efface.paper.figure_rows import rows_of
from efface.paper.settings import experiments_for


def rows(figure):
    settings = experiments_for(figure, 600, ("standardized",))
    return rows_of(figure, {each: synthetic_results.numbers(each) for each in settings})


@pytest.mark.parametrize(
    ("figure", "head"),
    [
        ("fig3", "**Fig. 3.** Cumulative regret. Gaussian noise"),
        ("fig3-relative", "**Fig. 3.** The regret divided by that of the best"),
        ("fig6", "**Fig. 6.** The L2 error"),
    ],
)
def test_a_caption_has_the_reading_and_the_runs(figure, head):
    text = caption(figure, rows(figure.removesuffix("-relative")))
    assert text.startswith(head)
    assert "Standardized contexts, d = 100, 8 runs." in text
    assert "* are not the paper's" in text


def test_the_table_has_the_last_value_of_each_line():
    table = rows("fig5")
    lines = last_values("fig5", table).splitlines()
    assert len(lines) == 2 + 9
    first = next(r for r in table if (r["sigma"], r["k"], r["t"]) == (1, 2, 600))
    assert lines[2].startswith("| σ = 1, k = 2 | ")
    value = lines[2].split("|")[2].split("±")[0].strip().replace(",", "")
    assert float(value) == pytest.approx(first["regret_mean"], rel=1e-3)


def test_the_table_of_memory_has_the_floor():
    table = rows("memory")
    lines = last_values("memory", table).splitlines()
    assert len(lines) == 2 + 48
    assert lines[0] == "|  | floor | least squares | adaptive | best ridge | AutoRidge |"
    assert "8 runs" in caption("memory", table)
