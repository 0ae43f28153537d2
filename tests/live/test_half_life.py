"""What a half-life means, and when faded rows leave."""

from __future__ import annotations

import numpy as np
import pytest
from twins import half_life as naive

from efface import FIFD, AddDrop, KeepAll, KeepFor
from efface.errors import InvalidValue
from efface.live.half_life import HalfLife, as_half_life, remembering


@pytest.mark.parametrize("timed", [False, True])
def test_halvings_are_ages_in_half_lives(timed):
    times = np.sort(np.random.default_rng(0).uniform(0.0, 50.0, size=30))
    halvings = HalfLife(7.0, timed).halvings(30, times)
    expected = naive.fading_weights(np.ones(30), 7.0, times if timed else None)
    np.testing.assert_allclose(2.0**halvings, expected, rtol=1e-13)
    assert HalfLife(7.0, timed).halvings(0, None).size == 0


def test_rows_leave_after_53_half_lives_or_as_the_window_says():
    assert remembering(100, None) == (None, FIFD(100))
    assert remembering(100, 4)[1] == FIFD(100)
    assert remembering(500, 4)[1] == FIFD(212)
    assert remembering(None, 0.01)[1] == FIFD(1)
    assert remembering("90d", "1d")[1] == KeepFor("53d")
    assert remembering("30d", "1d")[1] == KeepFor("30d")
    assert remembering(None, "1d") == (HalfLife(86_400e9, True), KeepFor("53d"))
    assert remembering(KeepFor(10.0), 3) == (HalfLife(3.0, True), KeepFor(10.0))


def test_other_policies_are_refused():
    with pytest.raises(InvalidValue, match="'window' is AddDrop"):
        as_half_life(4, AddDrop(3))


@pytest.mark.parametrize(
    ("halflife", "policy", "expected"),
    [
        (0, KeepAll(), "'halflife' is 0"),
        (-2.0, FIFD(5), "'halflife' is -2.0"),
        ("3d", FIFD(5), "a duration, but 'window' is FIFD"),
        ("1mo", KeepAll(), "expected a duration of a fixed length"),
        ("1d", KeepFor("3mo"), "'window' is KeepFor"),
        ("soon", KeepAll(), "'duration' is 'soon'"),
    ],
)
def test_unusable_halflife_values_are_refused(halflife, policy, expected):
    with pytest.raises(InvalidValue, match=expected):
        as_half_life(halflife, policy)
