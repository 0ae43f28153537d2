"""Fig. 2 shows all steps, single steps at their own scale, and the expected rank."""

from __future__ import annotations

import itertools

import pytest

from efface.paper.figure_rows import expected_rank
from efface.paper.rank_plot import draw_ranks


def rows(s, ranks):
    return [{"s": s, "t": s + t, "runs": 4, "rank": rank} for t, rank in enumerate(ranks)]


def test_single_steps_are_visible_below_and_the_expectation_in_both():
    ranks = [100, 99, 100] * 200
    drawn = draw_ranks([*rows(60, [40] * 600), *rows(500, ranks)])
    assert [axis.get_title() for axis in drawn.axes[:2]] == ["s = 60", "s = 500"]
    low, high = drawn.axes[3].get_ylim()
    assert high - low < 2
    run, expected = drawn.axes[3].lines
    assert list(run.get_ydata()) == ranks[-300:]
    assert expected.get_ydata()[0] == pytest.approx(100 * (1 - 0.99**500))
    assert all(axis.get_ylim() == (0, 106) for axis in drawn.axes[:2])


@pytest.mark.parametrize(("s", "d"), [(1, 3), (4, 3), (5, 2)])
def test_the_expected_rank_is_a_mean_over_all_windows(s, d):
    sizes = [len(set(window)) for window in itertools.product(range(d), repeat=s)]
    assert expected_rank(s, d) == pytest.approx(sum(sizes) / len(sizes))
