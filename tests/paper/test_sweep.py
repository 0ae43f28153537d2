"""Sweeps: the same bits on any workers, and stored settings are found again."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

from efface.paper import sweep as subject
from efface.paper.comparisons import AutoComparison, Comparison
from efface.paper.experiments import ForgettingTerms, Ranks
from efface.paper.sweep import LostWorker, RunStore, Workers, atomic_write, sweep

SETTINGS = (
    Comparison("standardized", 60, "fig3", s=8, d=12),
    Ranks("unit-norm", 40, s=6, d=5),
    ForgettingTerms("unit-norm", 40, d=3, s=9),
)


def equal(one, other):
    return all(
        one[setting][name].tobytes() == other[setting][name].tobytes()
        for setting in one
        for name in one[setting]
    )


def test_a_sweep_returns_the_runs_of_each_setting_in_order():
    found = sweep(SETTINGS, runs=6, seed=5)
    for setting in SETTINGS:
        for run in range(6):
            for name, expected in setting.run(5, run).items():
                assert found[setting][name][run].tobytes() == np.asarray(expected).tobytes()


def test_two_processes_give_the_same_bits_as_one():
    assert equal(
        sweep(SETTINGS, runs=9, seed=1), sweep(SETTINGS, runs=9, seed=1, workers=Workers(2))
    )


class Fatal(Ranks):
    """A run that ends its process."""

    def run(self, seed, number):
        os._exit(1)


def test_a_lost_process_is_reported_and_finished_settings_are_stored(tmp_path):
    store = RunStore(tmp_path)
    fine, fatal = SETTINGS[1], Fatal("unit-norm", 40, s=7, d=5)
    sweep([fine], runs=4, seed=0, store=store)
    with pytest.raises(LostWorker, match="a worker process died; finished settings are stored"):
        sweep([fine, fatal], runs=4, seed=0, store=store, workers=Workers(2))
    assert [path.suffix for path in tmp_path.iterdir()] == [".npz"]


def test_stored_settings_are_not_run_again(tmp_path, monkeypatch):
    store = RunStore(tmp_path)
    first = sweep(SETTINGS, runs=5, seed=3, store=store)
    monkeypatch.setattr(subject, "perform", None)
    reported = []
    again = sweep(
        SETTINGS, runs=5, seed=3, store=store, advance=lambda e, n: reported.append((e, n))
    )
    assert equal(first, again)
    assert reported == [(setting, 5) for setting in SETTINGS]


def test_a_stored_table_is_computed_again_only_if_it_is_damaged_or_depends_on_others(tmp_path):
    store, computed = RunStore(tmp_path / "runs"), []

    def compute():
        computed.append(1)
        return [{"share": 0.1 + 0.2, "count": len(computed)}]

    first = store.table("coverage", {"seed": 0}, compute)
    assert store.table("coverage", {"seed": 0}, compute) == first
    assert store.table("coverage", {"seed": 1}, compute)[0]["count"] == 2
    for path in (tmp_path / "runs").iterdir():
        path.write_text("[{")
    assert store.table("coverage", {"seed": 0}, compute)[0]["count"] == 3


@pytest.mark.parametrize("workers", [Workers(1), Workers(2)])
def test_more_runs_keep_those_that_exist(tmp_path, monkeypatch, workers):
    store, performed = RunStore(tmp_path), []
    sweep(SETTINGS, runs=3, seed=3, store=store)
    perform = subject.perform

    def counted(setting, seed, numbers):
        performed.append((setting, *numbers))
        return perform(setting, seed, numbers)

    if workers.jobs == 1:
        monkeypatch.setattr(subject, "perform", counted)
    more = sweep(SETTINGS, runs=8, seed=3, store=store, workers=workers)
    assert equal(more, sweep(SETTINGS, runs=8, seed=3))
    assert len(list(tmp_path.iterdir())) == len(SETTINGS)
    if workers.jobs == 1:
        numbers = {run for setting, *runs in performed[: 2 * len(SETTINGS)] for run in runs}
        assert numbers == set(range(3, 8))


def test_fewer_runs_are_the_first_of_those_that_exist(tmp_path, monkeypatch):
    store = RunStore(tmp_path)
    sweep(SETTINGS, runs=7, seed=3, store=store)
    monkeypatch.setattr(subject, "perform", None)
    few = sweep(SETTINGS, runs=2, seed=3, store=store)
    monkeypatch.undo()
    assert equal(few, sweep(SETTINGS, runs=2, seed=3))
    assert len(store.load(SETTINGS[0], 3)["regret"]) == 7


def test_a_changed_setting_has_another_file(tmp_path):
    store, setting = RunStore(tmp_path), SETTINGS[0]
    changed = [
        (setting, 1),
        (replace(setting, horizon=61), 0),
        (replace(setting, reading="unit-norm"), 0),
        (replace(setting, sigma=1.5), 0),
        (replace(setting, delta=0.1), 0),
        (replace(setting, d=11), 0),
        (AutoComparison("standardized", 60, "fig3", s=8, d=12), 0),
    ]
    names = {store.path(each, seed) for each, seed in [(setting, 0), *changed]}
    assert len(names) == 1 + len(changed)


def test_a_new_format_or_version_has_another_file(tmp_path, monkeypatch):
    store, setting = RunStore(tmp_path), SETTINGS[0]
    before = store.path(setting, 0)
    monkeypatch.setattr("efface.paper.experiments.FORMAT", 99)
    after = store.path(setting, 0)
    monkeypatch.setattr("efface.__version__", "99.0")
    assert len({before, after, store.path(setting, 0)}) == 3


def test_a_setting_with_a_damaged_file_is_run_again(tmp_path):
    store = RunStore(tmp_path)
    first = sweep(SETTINGS[1:2], runs=4, seed=0, store=store)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:100])
    assert equal(first, sweep(SETTINGS[1:2], runs=4, seed=0, store=store))
    assert store.load(SETTINGS[1], 0)


def test_finished_settings_stay_stored_after_an_interrupt(tmp_path):
    store, reported = RunStore(tmp_path), []

    def interrupt(setting, count):
        reported.append(setting)
        if setting is SETTINGS[2]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(SETTINGS, runs=4, seed=0, store=store, advance=interrupt)
    assert len(list(tmp_path.glob("*.npz"))) == 2
    reported.clear()
    found = sweep(
        SETTINGS, runs=4, seed=0, store=store, advance=lambda e, n: reported.append((e, n))
    )
    assert len(reported) == 3
    assert equal(found, sweep(SETTINGS, runs=4, seed=0))


def test_a_failed_write_leaves_the_old_file(tmp_path):
    target = tmp_path / "rows.csv"
    target.write_text("old")

    with pytest.raises(RuntimeError), atomic_write(target) as temporary:  # noqa: PT012
        temporary.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
