"""A frame lies in a store of its own, wholly and without overlap."""

import numpy as np
import pytest

from efface.engine.standardized.correlations import open_frame, room_for_frame


@pytest.mark.parametrize("d", [1, 4])
def test_a_frame_takes_all_of_its_room_and_nothing_twice(d):
    room = np.zeros(room_for_frame(d))
    frame = open_frame(room, d)
    for part in frame:
        part += 1.0
    assert (room == 1.0).all()
    assert frame.products.shape == frame.system.shape == (d, d)
    assert {part.size for part in frame[2:10]} == {d}
