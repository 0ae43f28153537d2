"""Tables as text and as HTML."""

from __future__ import annotations

import math

from efface.models.summary_tables import SummaryTable, figure

TABLE = SummaryTable(
    "a <b>", {"rows": "3"}, ("coef", "t"), {"x": (1.23456, math.nan), "&": (-2e9, 1)}
)


def test_columns_are_aligned():
    assert repr(TABLE).splitlines() == [
        "a <b>",
        "  rows  3",
        "       coef  t",
        "  x   1.235",
        "  &  -2e+09  1",
    ]


def test_html_is_escaped():
    html = TABLE._repr_html_()
    assert "a &lt;b&gt;" in html
    assert "<th>&amp;</th><td>-2e+09</td><td>1</td>" in html


def test_numbers_can_be_taken_out():
    assert TABLE.to_dict()["&"] == {"coef": -2e9, "t": 1.0}
    assert figure(math.nan) == ""
