"""Embedded charts need nothing from a network, and names cannot break out of the page."""

from __future__ import annotations

import json
import re

import numpy as np

from efface.charts.embedding import embed
from efface.charts.history import DIAGNOSTICS, PREDICTED, History, Labels
from efface.charts.replay_charts import draw
from efface.charts.themes import DARK, LIGHT

EVIL = "</script><b>&"


def embedded():
    history, rng = History(), np.random.default_rng(0)
    columns = {name: rng.random(100) for name in (*PREDICTED, *DIAGNOSTICS)}
    columns |= {name: rng.random((100, 3)) for name in ("coef", "coef_error")}
    history.add(np.arange(100.0), columns, np.ones(100), {EVIL: rng.random(100)})
    return embed(draw(history, Labels(EVIL, (EVIL, "b", "c"), 0.9, (EVIL,))))


def test_every_chart_has_an_element_and_every_colour_a_variable():
    parts = embedded()
    assert len(parts.elements) == 9
    for colour in {*LIGHT.values(), *DARK.values()}:
        assert colour in parts.style


def test_names_are_escaped_in_scripts():
    assert EVIL not in embedded().scripts


def test_the_script_knows_both_themes():
    facts = json.loads(re.search(r"const charts = (.*)", embedded().scripts)[1])
    assert facts["themes"] == {"light": LIGHT, "dark": DARK}
