"""Fig. 2 shows all steps, and single steps at their own scale."""

from __future__ import annotations

from efface.paper.rank_plot import draw_ranks


def rows(s, ranks):
    falls = 0
    for t, rank in enumerate(ranks):
        falls += t > 0 and rank < ranks[t - 1]
        yield {"s": s, "t": s + t, "runs": 4, "rank": rank, "rank_mean": rank, "falls_mean": falls}


def test_falls_are_counted_in_the_title_and_visible_below():
    ranks = [100, 99, 100] * 200
    drawn = draw_ranks([*rows(60, [40] * 600), *rows(500, ranks)])
    assert drawn.axes[1].get_title() == "s = 500\n200 falls in 599 steps"
    low, high = drawn.axes[3].get_ylim()
    assert high - low < 2
    (line,) = drawn.axes[3].lines
    assert list(line.get_ydata()) == ranks[-300:]
    assert all(axis.get_ylim() == (0, 106) for axis in drawn.axes[:2])
