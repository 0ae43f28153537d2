"""Runs of many settings in parallel, on local processes or a Dask cluster, stored as they finish.

A run is a function of its setting, the seed and its number, on one BLAS thread. The numbers are
therefore bit for bit the same on any number of workers. A finished setting is stored under a digest
of everything that its numbers depend on. An interrupted sweep continues with the settings that are
not stored yet, and never uses the numbers of another setting.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

import efface
from efface.errors import EffaceError, InvalidValue, unusable
from efface.paper.experiments import Experiment, Numbers

Backend = Literal["loky", "dask"]
Advance = Callable[[Experiment, int], None]

_CHUNK = 4  # runs per task: a few seconds, so that a lost worker costs little


class LostWorker(EffaceError):
    """A worker process died."""


@dataclass(frozen=True)
class Workers:
    """Where tasks run: ``jobs`` local processes, or the workers of a Dask scheduler."""

    jobs: int = 1
    backend: Backend = "loky"
    scheduler: str | None = None

    @contextmanager
    def parallel(self) -> Iterator[joblib.Parallel]:
        """A pool that yields the result of each task as soon as it is done."""
        if self.backend == "dask":
            with self._client() as client, joblib.parallel_config("dask", client=client):
                yield joblib.Parallel(return_as="generator_unordered", batch_size=1)
        else:
            with joblib.parallel_config("loky", inner_max_num_threads=1):
                yield joblib.Parallel(
                    n_jobs=self.jobs, return_as="generator_unordered", batch_size=1
                )

    def _client(self) -> Any:
        try:
            from distributed import Client
        except ImportError as error:
            advice = "pip install 'efface[dask]'"
            raise InvalidValue(
                unusable("backend", "dask", "an installed 'distributed'", advice)
            ) from error
        if self.scheduler is None:
            return Client(n_workers=self.jobs, threads_per_worker=1, dashboard_address=None)
        try:
            return Client(self.scheduler, timeout="10s")
        except (OSError, ValueError) as error:
            expected = "the address of a running Dask scheduler, such as tcp://host:8786"
            raise InvalidValue(
                unusable("scheduler", self.scheduler, expected, "start it or omit this option")
            ) from error


class RunStore:
    """Finished settings in a folder, one file per setting."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, experiment: Experiment, runs: int, seed: int) -> Path:
        """The file of a setting: its id, and a digest of everything that its numbers depend on."""
        inputs = {**experiment.setting(), "runs": runs, "seed": seed}
        text = json.dumps({**inputs, "efface": efface.__version__}, sort_keys=True)
        name = f"{experiment.id}-{experiment.reading}".replace("/", "-")
        return self.folder / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.npz"

    def load(self, path: Path) -> Numbers | None:
        """The numbers of a finished setting, or None if its file is missing or damaged."""
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                return {name: stored[name] for name in stored.files}
        except (OSError, ValueError, zipfile.BadZipFile):
            return None

    def save(self, path: Path, numbers: Numbers) -> None:
        """Store the numbers of a finished setting."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **numbers)  # type: ignore[arg-type]


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A temporary file that replaces ``path`` on success and is deleted on failure."""
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def sweep(
    experiments: Sequence[Experiment],
    *,
    runs: int,
    seed: int,
    store: RunStore | None = None,
    workers: Workers | None = None,
    advance: Advance | None = None,
) -> dict[Experiment, Numbers]:
    """The numbers of every run of every setting, with the runs along the first axis.

    ``advance(experiment, count)`` is called whenever ``count`` runs are done.

    >>> from efface.paper.experiments import Ranks
    >>> setting = Ranks("unit-norm", horizon=8, s=3, d=4)
    >>> sweep([setting], runs=2, seed=0)[setting]["rank"].shape
    (2, 6)
    """
    advance = advance or (lambda experiment, count: None)
    found = _stored(experiments, runs, seed, store)
    for experiment in found:
        advance(experiment, experiment.runs(runs))
    missing = [each for each in dict.fromkeys(experiments) if each not in found]
    for experiment, numbers in _computed(missing, runs, seed, workers or Workers(), advance):
        found[experiment] = numbers
        if store is not None:
            store.save(store.path(experiment, experiment.runs(runs), seed), numbers)
    return {each: found[each] for each in experiments}


def _stored(
    experiments: Sequence[Experiment], runs: int, seed: int, store: RunStore | None
) -> dict[Experiment, Numbers]:
    if store is None:
        return {}
    loaded = {each: store.load(store.path(each, each.runs(runs), seed)) for each in experiments}
    return {each: numbers for each, numbers in loaded.items() if numbers is not None}


def _computed(
    experiments: Sequence[Experiment], runs: int, seed: int, workers: Workers, advance: Advance
) -> Iterator[tuple[Experiment, Numbers]]:
    """Each setting with its numbers, as soon as its last run is done."""
    done: dict[Experiment, dict[int, Numbers]] = {each: {} for each in experiments}
    tasks = [task for each in experiments for task in _tasks(each, each.runs(runs), seed)]
    if not tasks:
        return
    for experiment, part in _performed(tasks, workers):
        done[experiment].update(part)
        advance(experiment, len(part))
        if len(done[experiment]) == experiment.runs(runs):
            yield experiment, _stack(done.pop(experiment))


def _tasks(experiment: Experiment, runs: int, seed: int) -> list[tuple[Experiment, int, range]]:
    return [
        (experiment, seed, range(first, min(first + _CHUNK, runs)))
        for first in range(0, runs, _CHUNK)
    ]


def _performed(
    tasks: Sequence[tuple[Experiment, int, range]], workers: Workers
) -> Iterator[tuple[Experiment, dict[int, Numbers]]]:
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    # This process gets its BLAS threads back afterwards; other workers keep the limit.
    with threadpool_limits(limits=1, user_api="blas"), workers.parallel() as parallel:
        try:
            yield from parallel(joblib.delayed(perform)(*task) for task in tasks)
        except TerminatedWorkerError as error:
            advice = "finished settings are stored: run the command again with fewer jobs"
            raise LostWorker(f"a worker process died; {advice}.") from error


def perform(
    experiment: Experiment, seed: int, numbers: range
) -> tuple[Experiment, dict[int, Numbers]]:
    """Some runs of a setting, in the current process."""
    threadpool_limits(limits=1, user_api="blas")
    return experiment, {number: experiment.run(seed, number) for number in numbers}


def _stack(runs: dict[int, Numbers]) -> Numbers:
    """The runs, stacked in the order of their numbers."""
    ordered = [runs[number] for number in sorted(runs)]
    return {name: np.stack([each[name] for each in ordered]) for name in ordered[0]}
