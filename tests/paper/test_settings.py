"""The settings are those of the paper, each with its own numbers."""

from __future__ import annotations

from efface.paper.methods import METHODS
from efface.paper.settings import experiments_for
from efface.paper.simulate import READINGS

FIGURES = ("fig2", "fig3", "fig4", "fig5", "memory", "theory")


def test_the_settings_equal_those_of_the_paper():
    ids = {
        figure: [
            setting.id
            for setting in experiments_for(figure, 3000, READINGS)
            if setting.kind != "auto"
        ]
        for figure in FIGURES
    }
    assert len(ids["fig2"]) == 5
    assert len(ids["fig3"]) == 2 * 12
    assert len(ids["fig4"]) == 2 * 24  # with the noise as it is, and at equal variance
    assert "fig4-variance/s=20,df=5" in ids["fig4"]
    assert len(ids["memory"]) == 3 * 16
    assert len(ids["fig5"]) == 2 * 9
    assert "fig3/s=20,sigma=1" in ids["fig3"]
    assert "fig4/s=80,df=15" in ids["fig4"]
    assert "theorem1/d=10,s=50,scale=100" in ids["theory"]
    assert experiments_for("fig6", 3000, READINGS) == experiments_for("fig7", 3000, READINGS)


def test_autoridge_is_run_only_where_it_is_asked_for():
    for figure in ("fig3", "fig4", "fig5", "fig6", "theory"):
        assert not [s for s in experiments_for(figure, 3000, READINGS) if s.kind == "auto"]


def test_autoridge_has_a_subplot_for_each_one_of_three_figures():
    for figure in ("fig3", "fig4", "fig5"):
        settings = experiments_for(figure, 3000, READINGS, METHODS)
        subplots = {
            kind: [(each.id, each.reading) for each in settings if each.kind == kind]
            for kind in ("comparison", "auto")
        }
        assert subplots["comparison"] == subplots["auto"]


def test_no_two_settings_are_equal():
    found = (experiments_for(figure, 3000, READINGS, METHODS) for figure in FIGURES)
    every = dict.fromkeys(each for part in found for each in part)
    texts = [repr(sorted(setting.setting().items(), key=str)) for setting in every]
    assert len(set(texts)) == len(texts)
    assert all(setting.cost > 0 for setting in every)
