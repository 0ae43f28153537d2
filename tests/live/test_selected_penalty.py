"""The penalty that rows select."""

from __future__ import annotations

from efface.engine.events.state import SELECTED
from efface.live.penalties import Lemma3
from efface.live.selected_penalty import Selected


def test_it_adapts_and_needs_no_pilot_fit():
    penalty = Selected()
    assert penalty.adapts
    assert penalty.pilot is None
    assert penalty.rule.kind == SELECTED
    assert penalty.for_rows(3, 2) == penalty.rule
    assert Selected(True) != penalty != Lemma3()
