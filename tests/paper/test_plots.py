"""Figures draw the given rows: every plot, every line, every number."""

from __future__ import annotations

import numpy as np
import pytest
import synthetic_results
from matplotlib.image import imread

from efface.paper import plots
from efface.paper.experiments import experiments_for
from efface.paper.reproduction import rows_of

SHAPES = {
    "fig2": (1, 5),
    "fig3": (3, 4),
    "fig4": (3, 4),
    "fig5": (3, 3),
    "fig6": (3, 4),
    "fig7": (3, 4),
}


def rows(figure):
    settings = experiments_for(figure, 600, ("standardized",))
    found = {each: synthetic_results.numbers(each) for each in settings}
    if figure == "fig2":
        for each in found:
            found[each] = {"rank": np.resize(found[each]["rank"], (8, len(each.times)))}
    return rows_of(figure, found)


@pytest.mark.parametrize("figure", SHAPES)
def test_a_figure_has_one_plot_per_setting_and_labelled_axes(figure):
    drawn = plots.draw(figure, rows(figure))
    down, along = SHAPES[figure]
    assert len(drawn.axes) == down * along
    assert all(axis.get_title() for axis in drawn.axes[:along])
    assert all(axis.get_xlabel() for axis in drawn.axes[-along:])
    assert all(axis.get_ylabel() for axis in drawn.axes[::along])
    assert drawn.legends[0].get_texts()


@pytest.mark.parametrize("figure", ["fig3", "fig5", "fig6"])
def test_lines_have_the_values_of_the_rows(figure):
    table = rows(figure)
    quantity = "l2" if figure == "fig6" else "regret"
    first = plots.draw(figure, table).axes[0]
    memory = "k" if figure == "fig5" else "s"
    part = [r for r in table if r["sigma"] == 1 and r[memory] == (2 if memory == "k" else 20)]
    drawn = {tuple(round(float(y), 9) for y in line.get_ydata()) for line in first.lines}
    for method, penalty in {(r["method"], r["penalty"]) for r in part}:
        line = [r for r in part if (r["method"], r["penalty"]) == (method, penalty)]
        assert tuple(round(r[f"{quantity}_mean"], 9) for r in line) in drawn


def test_a_method_has_the_same_colour_in_every_figure():
    colours = [
        {
            text.get_text(): handle.get_color()
            for text, handle in zip(legend.get_texts(), legend.get_lines(), strict=True)
        }
        for legend in (plots.draw(f, rows(f)).legends[0] for f in ("fig3", "fig5", "fig7"))
    ]
    assert len(set(colours[1].values())) == 5
    assert colours[0].items() <= colours[1].items()
    assert colours[0] == colours[2]


@pytest.mark.parametrize("figure", list(SHAPES)[1:])
def test_every_line_is_inside_its_axes(figure):
    for axis in plots.draw(figure, rows(figure)).axes:
        low, high = axis.get_ylim()
        for line in axis.lines:
            assert low <= min(line.get_ydata())
            assert max(line.get_ydata()) <= high


def test_no_label_is_clipped():
    drawn = plots.draw("fig5", rows("fig5"))
    drawn.canvas.draw()
    page = drawn.bbox
    for axis in drawn.axes:
        box = axis.get_tightbbox()
        assert box.x0 >= page.x0 - 1 and box.x1 <= page.x1 + 1  # noqa: PT018
        assert box.y0 >= page.y0 - 1 and box.y1 <= page.y1 + 1  # noqa: PT018


def test_the_same_rows_give_the_same_bytes(tmp_path):
    table = rows("fig2")
    for name in ("a", "b"):
        plots.save(plots.draw("fig2", table), tmp_path / f"{name}.png", tmp_path / f"{name}.svg")
    for suffix in ("png", "svg"):
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()
    assert imread(tmp_path / "a.png").shape[1] > 1000
    assert "s = 500" in (tmp_path / "a.svg").read_text("utf-8")


def test_labels_beside_a_plot_do_not_overlap():
    heights = plots.draw("fig5", rows("fig5")).axes[0].texts
    places = sorted(text.get_position()[1] for text in heights)
    assert np.diff(places).min() > 0.15
    assert places[-1] <= 1.0
