"""Both themes have the same colours."""

from __future__ import annotations

import re

from efface.charts.themes import DARK, LIGHT, css_variables, series_colour


def test_both_themes_have_the_same_names_and_hexadecimal_colours():
    assert LIGHT.keys() == DARK.keys()
    assert all(re.fullmatch("#[0-9a-f]{6}", c) for c in (*LIGHT.values(), *DARK.values()))


def test_css_variables_have_every_colour():
    assert css_variables(DARK).count("--") == len(DARK)


def test_series_have_colours_however_many_there_are():
    assert series_colour(0) == "model"
    assert {series_colour(k) for k in range(1, 20)} == set("0123456")
