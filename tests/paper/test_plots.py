"""Figures draw the given rows: every plot, every line, every number."""

from __future__ import annotations

import numpy as np
import pytest
import synthetic_results
from matplotlib.image import imread

from efface.paper import plots
from efface.paper.figure_rows import rows_of
from efface.paper.methods import METHODS
from efface.paper.settings import experiments_for

SHAPES = {
    "fig2": (2, 5),
    "fig3": (3, 4),
    "fig4": (3, 4),
    "fig4-variance": (3, 4),
    "fig5": (3, 3),
    "fig6": (4, 4),
    "fig7": (3, 4),
    "fig3-relative": (3, 4),
    "fig4-relative": (3, 4),
    "fig4-variance-relative": (3, 4),
    "fig5-relative": (3, 3),
}


def rows(figure):
    figure = figure.removesuffix("-relative")
    settings = experiments_for(figure.removesuffix("-variance"), 600, ("standardized",), METHODS)
    wanted = (figure, "fig3")
    found = {
        each: synthetic_results.numbers(each)
        for each in settings
        if getattr(each, "figure", figure) in wanted
    }
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
    if figure != "fig2":
        for row in np.reshape(drawn.axes, (down, along)):
            assert len({axis.get_ylim() for axis in row}) == 1
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
    assert len(set(colours[1].values())) == 8
    assert colours[0].items() <= colours[1].items()
    shared = colours[0].keys() & colours[2].keys()
    assert len(shared) == 5
    assert all(colours[0][name] == colours[2][name] for name in shared)


def test_lines_that_are_not_the_papers_are_marked_and_broken():
    legend = plots.draw("fig5", rows("fig5")).legends[0]
    styles = {
        text.get_text(): handle.get_linestyle()
        for text, handle in zip(legend.get_texts(), legend.get_lines(), strict=True)
    }
    marked = {name for name in styles if name.endswith("*")}
    assert len(marked) == 3
    assert {name for name, style in styles.items() if style != "-"} == marked


def test_fig_7_has_the_first_run_beside_the_mean():
    table = rows("fig7")
    first = plots.draw("fig7", table).axes[0]
    run = [
        r["lambda_run"] for r in table if (r["s"], r["sigma"], r["method"]) == (20, 1, "adaptive")
    ]
    assert any(list(line.get_ydata()) == run for line in first.lines)


def test_fig_1_shows_three_steps_of_the_protocol():
    texts = {text.get_text() for text in plots.draw("fig1", []).axes[0].texts}
    assert {"step t = 5", "step t = 6", "step t = 7"} <= texts
    assert "row that left: nothing of it remains" in texts


EVERY = ["fig3", "fig4-variance", "fig5", "fig6", "fig7", "fig3-relative", "fig5-relative"]


@pytest.mark.parametrize("figure", EVERY)
def test_every_line_is_inside_its_axes(figure):
    """Also one that is nine times as high as the others."""
    table = rows(figure)
    for row in table:
        if row["method"] == "fixed" and row["penalty"] == row["sigma"]:
            for name in ("regret_mean", "relative_mean", "l2_mean"):
                if name in row:
                    row[name] *= 9
    for axis in plots.draw(figure, table).axes:
        low, high = axis.get_ylim()
        for line in axis.lines:
            heights = np.asarray(line.get_ydata(), dtype=float)
            assert low <= heights.min()
            assert heights.max() <= high


def test_figures_have_no_title_and_no_numbers_beside_subplots():
    for figure in ("fig2", "fig3", "fig6"):
        drawn = plots.draw(figure, rows(figure))
        assert drawn.get_suptitle() == ""
        assert not any(axis.texts for axis in drawn.axes)


def test_the_last_row_of_fig_6_has_the_adaptive_ridge_alone_around_1():
    table = rows("fig6")
    axis = plots.draw("fig6", table).axes[12]
    low, high = axis.get_ylim()
    mine = [row["l2_mean"] for row in table if row["method"] == "adaptive"]
    assert low < min(mine)
    assert high > max(*mine, 1.0)
    long = [line for line in axis.lines if len(line.get_ydata()) > 50]
    wanted = [
        [r["l2_mean"] for r in table if (r["method"], r["s"], r["sigma"]) == ("adaptive", 20, v)]
        for v in (1, 2, 3)
    ]
    assert [list(line.get_ydata()) for line in long] == wanted


@pytest.mark.parametrize("figure", ["fig1", "fig2", *EVERY])
def test_no_label_is_clipped(figure):
    drawn = plots.draw(figure, [] if figure == "fig1" else rows(figure))
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
