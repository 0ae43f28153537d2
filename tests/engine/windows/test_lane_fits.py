"""The results of windows: room for them, and parts of it."""

from __future__ import annotations

import numpy as np

from efface.engine.events.leverage import GAUGES
from efface.engine.windows.lane_fits import STATES, LaneFits


def test_parts_are_views():
    found = LaneFits.empty(9, 2, coef=True, gauges=True, rank=True)
    part = found.part(3, 5)
    part.states[:] = 7.0
    part.margin[:] = 1.0
    assert (found.states[:, 3:5] == 7.0).all()
    assert found.margin.sum() == 2.0
    assert part.gauges.shape == (GAUGES, 2)


def test_there_is_room_for_what_is_wanted_alone():
    found = LaneFits.empty(9, 2, coef=False, gauges=False, rank=False)
    assert [each.shape for each in found] == [(STATES, 9), (0, 2), (GAUGES, 0), (9,), (0,)]
    assert np.isnan(found.states).all()
    assert not found.margin.any()
