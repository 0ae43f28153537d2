"""Plans, files and rows in long form, with short horizons and few runs."""

from __future__ import annotations

import csv
import json

import pytest

from efface.errors import InvalidValue
from efface.paper import reproduction
from efface.paper.methods import METHODS
from efface.paper.reproduction import (
    ReproductionPlan,
    folder_of,
    methods_of,
    readings_of,
    reproduce,
    workers_of,
)
from efface.paper.settings import experiments_for
from efface.paper.simulate import READINGS

HEAD = ["figure", "reading"]
REGRETS = [
    f"{name}_{what}" for name in ("regret", "abs_regret", "relative") for what in ("mean", "se")
]


def table(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"target": "fig9"}, "'target' is 'fig9': expected 'fig1' or 'fig2'"),
        ({"runs": 0}, "'runs' is 0: expected a whole number of at least 1"),
        ({"seed": -1}, "'seed' is -1"),
        (
            {"horizon": 80},
            "'horizon' is 80: expected more than 80, the window of setting fig3/s=80,sigma=1",
        ),
        ({"target": "all", "horizon": 500}, "more than 500, the window of setting fig2/s=500"),
        ({"target": "claims", "horizon": 150}, "'horizon' is 150"),
    ],
)
def test_an_invalid_plan_is_refused(values, message):
    with pytest.raises(InvalidValue, match=message):
        ReproductionPlan(**{"target": "fig3", **values})


def test_invalid_options_are_refused(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    for call, message in (
        (lambda: readings_of("whitened"), "'reading' is 'whitened'"),
        (lambda: workers_of(0), "'jobs' is 0"),
        (lambda: folder_of(blocked / "out"), "a writable folder"),
    ):
        with pytest.raises(InvalidValue, match=message):
            call()


def test_all_contains_every_setting_once():
    settings = ReproductionPlan("all", readings=READINGS).experiments()
    comparisons, statements = 12 + 24 + 9, 5 + 5 + 6
    corrections, either = 8 + 2 + 12 + 9, 5 + 2 + 5 + 48
    assert (
        len(settings) == len(set(settings)) == either + 2 * (comparisons + statements + corrections)
    )
    more = ReproductionPlan("all", readings=READINGS, methods=METHODS).experiments()
    assert len(more) - len(settings) == 2 * comparisons


def test_a_figure_is_written_for_both_readings(tmp_path):
    plan = ReproductionPlan("fig3", runs=2, horizon=90, readings=READINGS)
    done = reproduce(plan, tmp_path)
    names = {path.name for path in done.files}
    assert names == {"fig3.csv", "fig3.md"} | {
        f"fig3{version}{reading}.{kind}"
        for version in ("", "-relative")
        for reading in ("", "-unit-norm")
        for kind in ("png", "svg")
    }
    rows = table(tmp_path / "fig3.csv")
    assert list(rows[0]) == [*HEAD, "s", "sigma", "method", "penalty", "t", "runs", *REGRETS]
    assert {row["reading"] for row in rows} == set(READINGS)
    assert {row["method"] for row in rows} == {"adaptive", "fixed", "oracle", "zero"}
    assert rows[-1]["t"] == "90"
    assert {claim.finding.target for claim in done.claims} == {"fig3"}
    page = (tmp_path / "fig3.md").read_text("utf-8")
    assert page.count("![Fig. 3](fig3") == 4
    assert page.count("**Fig. 3.** Cumulative regret. Gaussian noise") == 2
    assert page.count("| σ = 3, s = 80 |") == 2


def test_some_methods_are_drawn_and_autoridge_is_run_if_it_is_one_of_them(tmp_path):
    methods = methods_of("adaptive,auto")
    plan = ReproductionPlan("fig3", runs=2, horizon=90, methods=methods)
    done = reproduce(plan, tmp_path)
    rows = table(tmp_path / "fig3.csv")
    assert {row["method"] for row in rows} == {"adaptive", "auto"}
    assert {row["runs"] for row in rows} == {"2"}
    assert "auto-best-fig3" in {claim.finding.name for claim in done.claims}


def test_fig_4_is_also_drawn_at_equal_variance(tmp_path):
    done = reproduce(ReproductionPlan("fig4", runs=2, horizon=90), tmp_path)
    names = {path.name for path in done.files}
    assert {"fig4.csv", "fig4-variance.csv", "fig4-variance.png", "fig4-variance.md"} <= names
    plain, equal = (table(tmp_path / f"{name}.csv") for name in ("fig4", "fig4-variance"))
    oracle = {row["penalty"] for row in equal if row["method"] == "oracle"}
    assert oracle == {"100"}
    assert len({row["penalty"] for row in plain if row["method"] == "oracle"}) == 3
    assert len(plain) == len(equal)


def test_names_of_methods_are_checked_and_ordered():
    assert methods_of("zero, adaptive") == ("adaptive", "zero")
    assert methods_of("all") == METHODS
    with pytest.raises(InvalidValue, match="'methods' is 'lasso'"):
        methods_of("adaptive,lasso")


def test_fig_1_needs_no_runs(tmp_path):
    done = reproduce(ReproductionPlan("fig1"), tmp_path)
    assert [path.name for path in done.files] == ["fig1.png", "fig1.svg"]
    assert [claim.finding.name for claim in done.claims] == ["protocol"]
    assert not (tmp_path / ".runs").exists()


def test_stored_settings_give_the_same_bytes(tmp_path):
    plan = ReproductionPlan("fig6", runs=2, horizon=90)
    first = {path.name: path.read_bytes() for path in reproduce(plan, tmp_path).files}
    again = {path.name: path.read_bytes() for path in reproduce(plan, tmp_path).files}
    assert first == again


def small_experiments(figure, horizon, readings, methods=()):
    """The settings of the paper with at most ten features, so that they take seconds."""
    small = []
    for each in experiments_for(figure, 3000, readings, methods):
        values = {**each.setting(), "horizon": horizon}
        values |= {name: 8 for name in ("windows", "draws") if name in values}
        if values.get("s"):
            values["s"] = max(3, values["s"] // 10)
        values["d"] = min(values["d"], 10)
        if each.kind in ("slides", "theorem1"):
            values["s"] = values["d"] + max(2, values["s"] // 4)
        names = [name for name in values if name not in ("kind", "format")]
        small.append(type(each)(**{name: values[name] for name in names}))
    return tuple(dict.fromkeys(small))


def test_the_same_seed_gives_the_same_bytes_of_claims(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduction, "experiments_for", small_experiments)
    coverage = reproduction.coverage_table
    few = {"settings": [(2, 50)], "replicates": 100}
    monkeypatch.setattr(reproduction, "coverage_table", lambda **rest: coverage(**few, **rest))
    plan = ReproductionPlan("claims", runs=3, horizon=120, readings=READINGS, seed=4)
    first, second = (reproduce(plan, tmp_path / name) for name in ("a", "b"))
    assert [path.name for path in first.files] == ["claims.json", "claims.md"]
    for one, other in zip(first.files, second.files, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name
    document = json.loads(first.files[0].read_text("utf-8"))
    assert document["setting"] == {"runs": 3, "horizon": 120, "seed": 4}
    assert "The paper's findings, checked" in first.text


def test_the_coverage_table_is_written_and_returned_as_text(tmp_path, monkeypatch):
    coverage = reproduction.coverage_table
    few = {"settings": [(2, 50)], "replicates": 100}
    monkeypatch.setattr(reproduction, "coverage_table", lambda **rest: coverage(**few, **rest))
    done = reproduce(ReproductionPlan("coverage"), tmp_path)
    assert "paper, Lemma 1" in done.text
    rows = table(tmp_path / "coverage.csv")
    assert {row["reading"] for row in rows} == {"standardized"}
    assert {row["windows"] for row in rows} == {"100"}
    monkeypatch.setattr(reproduction, "coverage_table", None)  # the rows are stored
    again = reproduce(ReproductionPlan("coverage"), tmp_path)
    assert again.text == done.text
    assert table(tmp_path / "coverage.csv") == rows
