"""The columns of live rows that slide from window to window, against windows on their own."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efface.engine.jit.simd import LANES
from efface.engine.windows import local_widths as widths
from efface.engine.windows.local_rows import PLACE, RESPONSE, SIDE, room_for

PLAIN = widths.Penalisation(True, True, 0)
NORMAL = 1.6448536269514722
EXAMPLES = 6 if numba.config.DISABLE_JIT else 60  # loops in Python are slow


def fits_of(X, windows):
    first, last = np.array(windows).T
    k, d = len(windows), X.shape[1]
    rows = X[np.minimum(last, len(X) - 1)]
    return widths.Fits(rows, first, last, np.ones((k, d)), np.zeros(k), np.ones(k))


def half_widths(X, y, weights, windows, form=PLAIN):
    return widths.local_widths(X, y, weights, fits_of(X, windows), form, 0.1, NORMAL)


@st.composite
def window_lists(draw, n):
    """Windows that move on by any step: most share rows, some do not."""
    first, last, found = 0, draw(st.integers(25, 60)), []
    for _ in range(draw(st.integers(2, 12))):
        found.append((first, last))
        first = min(first + draw(st.sampled_from([0, 1, 1, 2, 7, 70])), n - 25)
        last = min(max(last + draw(st.integers(0, 12)), first + 25), n)
    return found


@given(windows=window_lists(160), seed=st.integers(0, 99), centred=st.booleans())
@settings(max_examples=EXAMPLES, deadline=None)
def test_windows_have_the_same_widths_together_and_alone(windows, seed, centred):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(160, 3)), rng.normal(size=160)
    X[:, 0] += np.arange(160) / 4.0  # the mean moves away from any centre
    weights = np.where(rng.random(160) < 0.1, 0.0, rng.uniform(0.5, 2.0, size=160))
    form = widths.Penalisation(centred, centred, 0)
    together = half_widths(X, y, weights, windows, form)
    for window, got in zip(windows, together, strict=True):
        alone = half_widths(X, y, weights, [window], form)[0]
        assert got == pytest.approx(alone, rel=1e-9, nan_ok=True)  # with less than 20 rows


def test_columns_hold_the_rows_of_the_last_window(monkeypatch):
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(90, 2)), rng.normal(size=90), np.ones(90)
    weights[[20, 45]] = 0.0
    rooms = []
    monkeypatch.setattr(widths, "room_for", lambda *args: rooms.append(room_for(*args)) or rooms[0])
    half_widths(X, y, weights, [(t, t + 40) for t in range(11)])
    live = [place for place in range(10, 50) if weights[place] > 0.0]
    places = rooms[0].columns[PLACE, : len(live)]
    assert sorted(places) == live
    assert (rooms[0].columns[RESPONSE, : len(live)] == y[places.astype(int)]).all()


def test_a_row_that_is_left_out_of_one_window_counts_in_the_next():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(70, 2)), rng.normal(size=70)
    X[:, 1] = np.isin(np.arange(70), [30, 50])  # alone in the first windows, one of two in later
    windows = [(t, t + 45) for t in range(12)]
    free = fits_of(X, windows)._replace(penalty=np.zeros(12))
    together = widths.local_widths(X, y, np.ones(70), free, PLAIN, 0.1, NORMAL)
    for t in range(12):
        one = widths.Fits(*(each[t : t + 1] for each in free))
        alone = widths.local_widths(X, y, np.ones(70), one, PLAIN, 0.1, NORMAL)
        assert together[t] == pytest.approx(alone[0], rel=1e-9)


def test_a_window_without_weight_leaves_nothing_behind():
    rng = np.random.default_rng(2)
    X, y, weights = rng.normal(size=(80, 2)), rng.normal(size=80), np.ones(80)
    weights[:30] = 0.0
    after = half_widths(X, y, weights, [(0, 30), (5, 60)])
    assert np.isnan(after[0])
    assert after[1] == pytest.approx(half_widths(X, y, weights, [(5, 60)])[0], rel=1e-9)


@pytest.mark.parametrize("rows", [1, 31, 32, 33, 500])
def test_arrays_begin_at_a_cache_line_and_have_whole_blocks(rows):
    room = room_for(3, rows)
    assert room.z.ctypes.data % 64 == 0 == room.columns.ctypes.data % 64
    assert room.z.shape == (5, -(-rows // SIDE) * SIDE + LANES)
