"""Sweeps: the same bits on any workers, and nothing finished is lost or mistaken."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import numpy as np
import pytest
from distributed import LocalCluster

from efface.errors import InvalidValue
from efface.paper import sweep as subject
from efface.paper.experiments import Comparison, Ranks, Slides
from efface.paper.sweep import LostWorker, Store, Workers, sweep, written_beside

SETTINGS = (
    Comparison("standardized", 60, "fig3", s=8, d=12),
    Ranks("unit-norm", 40, s=6, d=5),
    Slides("unit-norm", 40, d=3, s=9),
)


def equal(one, other):
    return all(
        one[setting][name].tobytes() == other[setting][name].tobytes()
        for setting in one
        for name in one[setting]
    )


def test_runs_are_those_of_the_setting_one_by_one():
    found = sweep(SETTINGS, runs=6, seed=5)
    for setting in SETTINGS:
        for run in range(6):
            for name, expected in setting.run(5, run).items():
                assert found[setting][name][run].tobytes() == np.asarray(expected).tobytes()


def test_two_processes_give_the_same_bits_as_one():
    assert equal(
        sweep(SETTINGS, runs=9, seed=1), sweep(SETTINGS, runs=9, seed=1, workers=Workers(2))
    )


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as running:
        yield running


def test_a_dask_cluster_gives_the_same_bits(cluster):
    workers = Workers(backend="dask", scheduler=cluster.scheduler_address)
    assert equal(sweep(SETTINGS, runs=9, seed=1), sweep(SETTINGS, runs=9, seed=1, workers=workers))


def test_a_dask_worker_killed_in_the_middle_costs_no_result(cluster):
    settings = [Comparison("standardized", 2500, "fig3", s=40, d=60)]
    told = []

    def kill_one(setting, count):
        if not told:
            os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        told.append(count)

    workers = Workers(backend="dask", scheduler=cluster.scheduler_address)
    found = sweep(settings, runs=24, seed=2, workers=workers, advance=kill_one)
    assert sum(told) == 24
    assert equal(found, sweep(settings, runs=24, seed=2))


class Fatal(Ranks):
    """A run that takes its process with it."""

    def run(self, seed, number):
        os._exit(1)


def test_a_lost_process_is_told_and_what_was_finished_is_kept(tmp_path):
    store = Store(tmp_path)
    fine, fatal = SETTINGS[1], Fatal("unit-norm", 40, s=7, d=5)
    sweep([fine], runs=4, seed=0, store=store)
    with pytest.raises(LostWorker, match="a worker process died; finished settings are kept"):
        sweep([fine, fatal], runs=4, seed=0, store=store, workers=Workers(2))
    assert [path.suffix for path in tmp_path.iterdir()] == [".npz"]


def test_what_is_stored_is_not_run_again(tmp_path, monkeypatch):
    store = Store(tmp_path)
    first = sweep(SETTINGS, runs=5, seed=3, store=store)
    monkeypatch.setattr(subject, "perform", None)
    told = []
    again = sweep(SETTINGS, runs=5, seed=3, store=store, advance=lambda e, n: told.append((e, n)))
    assert equal(first, again)
    assert told == [(setting, 5) for setting in SETTINGS]


def test_a_changed_setting_uses_no_stale_numbers(tmp_path):
    store, setting = Store(tmp_path), SETTINGS[0]
    changed = [
        (setting, 4, 1),
        (setting, 5, 0),
        (replace(setting, horizon=61), 4, 0),
        (replace(setting, reading="unit-norm"), 4, 0),
        (replace(setting, sigma=1.5), 4, 0),
        (replace(setting, delta=0.1), 4, 0),
        (replace(setting, d=11), 4, 0),
    ]
    names = {store.path(each, runs, seed) for each, runs, seed in [(setting, 4, 0), *changed]}
    assert len(names) == 1 + len(changed)


def test_a_new_format_or_version_uses_no_stale_numbers(tmp_path, monkeypatch):
    store, setting = Store(tmp_path), SETTINGS[0]
    before = store.path(setting, 4, 0)
    monkeypatch.setattr("efface.paper.experiments.FORMAT", 99)
    after = store.path(setting, 4, 0)
    monkeypatch.setattr("efface.__version__", "99.0")
    assert len({before, after, store.path(setting, 4, 0)}) == 3


def test_a_damaged_file_is_computed_again(tmp_path):
    store = Store(tmp_path)
    first = sweep(SETTINGS[1:2], runs=4, seed=0, store=store)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:100])
    assert equal(first, sweep(SETTINGS[1:2], runs=4, seed=0, store=store))
    assert store.load(path) is not None


def test_an_interrupt_keeps_the_finished_settings(tmp_path):
    store, told = Store(tmp_path), []

    def interrupt(setting, count):
        told.append(setting)
        if setting is SETTINGS[2]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(SETTINGS, runs=4, seed=0, store=store, advance=interrupt)
    assert len(list(tmp_path.glob("*.npz"))) == 2
    told.clear()
    found = sweep(SETTINGS, runs=4, seed=0, store=store, advance=lambda e, n: told.append((e, n)))
    assert len(told) == 3
    assert equal(found, sweep(SETTINGS, runs=4, seed=0))


def test_nothing_is_left_of_a_file_that_could_not_be_finished(tmp_path):
    target = tmp_path / "rows.csv"
    target.write_text("old")

    with pytest.raises(RuntimeError), written_beside(target) as beside:  # noqa: PT012
        beside.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_scheduler_that_is_not_there_is_refused(monkeypatch):
    with pytest.raises(InvalidValue, match="'scheduler' is 'nowhere'"):
        sweep(SETTINGS, runs=1, seed=0, workers=Workers(backend="dask", scheduler="nowhere"))
