"""The layout of a frame in its store."""

import numpy as np
import pytest

from efface.engine.jit.records import words
from efface.engine.standardized.correlations import lay_out_frame


@pytest.mark.parametrize("d", [1, 4])
def test_the_parts_of_a_frame_fill_the_store_and_do_not_overlap(d):
    store = np.zeros(words(lay_out_frame, d))
    frame, end = lay_out_frame(store, 0, d)
    for name in frame.state.dtype.names:
        setattr(frame.state, name, 1.0)
    for part in frame[1:-1]:  # the last is all of it, as one array
        part += 1.0
    assert end == store.size == frame.everything.size
    assert (store == 1.0).all()
    assert frame.products.shape == frame.system.shape == (d, d)
    assert {part.size for part in frame[3:11]} == {d}
