"""Every group is processed once, for any number of threads."""

from __future__ import annotations

import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efface.live.threads import share_out


@given(st.lists(st.integers(0, 50), min_size=1, max_size=60), st.integers(1, 5))
@settings(deadline=None, max_examples=50)
def test_each_group_is_processed_once(sizes, workers):
    bounds, seen, lock = np.concatenate([[0], np.cumsum(sizes)]), [], threading.Lock()

    def work(part):
        with lock:
            seen.extend(pairwise(part))

    share_out(work, bounds, workers)
    assert sorted(seen) == sorted(pairwise(bounds.tolist()))


def test_an_error_reaches_the_caller():
    def fail(part):
        raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        share_out(fail, np.arange(0, 100, 10), 3)
