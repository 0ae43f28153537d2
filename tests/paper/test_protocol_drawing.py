"""Fig. 1: the window slides by one row per step."""

from __future__ import annotations

from matplotlib.colors import to_hex
from matplotlib.patches import FancyBboxPatch

from efface.paper.protocol_drawing import draw_protocol


def test_each_step_has_four_live_rows_one_arrival_and_the_departed_ones():
    (axis,) = draw_protocol().axes
    boxes = [patch for patch in axis.patches if isinstance(patch, FancyBboxPatch)]
    by_height = {}
    for box in boxes:
        by_height.setdefault(round(box.get_y(), 2), []).append(to_hex(box.get_facecolor()))
    steps = [colours for height, colours in sorted(by_height.items(), reverse=True) if height > 0]
    assert [colours.count("#56b4e9") for colours in steps] == [4, 4, 4]
    assert [colours.count("#e69f00") for colours in steps] == [1, 1, 1]
    assert [colours.count("#eeeeee") for colours in steps] == [0, 1, 2]
