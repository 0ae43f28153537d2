"""Runs of many settings in parallel, on local processes, stored as they finish.

A run is a function of its setting, the seed and its number, on one BLAS thread. The numbers are
therefore bit for bit the same on any number of workers. The runs of a finished setting are stored
under a digest of everything that their numbers depend on. An interrupted sweep continues with the
settings that are not stored yet, one with more runs adds the runs that are missing, and none uses
the numbers of another setting.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

import efface
from efface.errors import EffaceError
from efface.paper.experiments import Experiment, Numbers

Advance = Callable[[Experiment, int], None]

_CHUNK = 4  # runs per task: a few seconds, so that a lost worker costs little


class LostWorker(EffaceError):
    """A worker process died."""


@dataclass(frozen=True)
class Workers:
    """Where tasks run: ``jobs`` local processes."""

    jobs: int = 1

    @contextmanager
    def parallel(self) -> Iterator[joblib.Parallel]:
        """A pool that yields the result of each task as soon as it is done."""
        with joblib.parallel_config("loky", inner_max_num_threads=1):
            yield joblib.Parallel(n_jobs=self.jobs, return_as="generator_unordered", batch_size=1)


class RunStore:
    """Finished settings in a folder, one file per setting, with its runs along the first axis."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, experiment: Experiment, seed: int) -> Path:
        """The file of a setting: its id, and a digest of everything that its numbers depend on."""
        name = f"{experiment.id}-{experiment.kind}-{experiment.reading}".replace("/", "-")
        return self.folder / f"{name}-{_digest({**experiment.setting(), 'seed': seed})}.npz"

    def load(self, experiment: Experiment, seed: int) -> Numbers:
        """The stored runs of a setting; nothing if its file is missing or damaged."""
        try:
            file = self.path(experiment, seed).open("rb")
            with file, np.load(file, allow_pickle=False) as stored:
                return {name: stored[name] for name in stored.files}
        except (OSError, ValueError, zipfile.BadZipFile):
            return {}

    def save(self, experiment: Experiment, seed: int, numbers: Numbers) -> None:
        """Store the runs of a setting."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (
            atomic_write(self.path(experiment, seed)) as temporary,
            temporary.open("wb") as file,
        ):
            np.savez_compressed(file, **numbers)  # type: ignore[arg-type]

    def table(
        self, name: str, inputs: Mapping[str, Any], compute: Callable[[], list[dict[str, Any]]]
    ) -> list[dict[str, Any]]:
        """The rows of a table that depends on ``inputs`` alone; computed if they are not stored."""
        path = self.folder / f"{name}-{_digest(inputs)}.json"
        try:
            stored: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError):  # missing or damaged
            stored = compute()
            self.folder.mkdir(parents=True, exist_ok=True)
            with atomic_write(path) as temporary:
                temporary.write_text(json.dumps(stored), encoding="utf-8")
        return stored


def _digest(inputs: Mapping[str, Any]) -> str:
    text = json.dumps({**inputs, "efface": efface.__version__}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


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
    kept = {each: store.load(each, seed) if store else {} for each in experiments}
    found = {each: _first(kept[each], each.runs(runs)) for each in kept}
    for each, numbers in found.items():
        if _count(numbers):
            advance(each, _count(numbers))
    missing = {each: range(_count(found[each]), each.runs(runs)) for each in found}
    for each, numbers in _computed(missing, seed, workers or Workers(), advance):
        found[each] = _joined(found[each], numbers)
        if store is not None:
            store.save(each, seed, found[each])
    return found


def _count(numbers: Numbers) -> int:
    """The number of runs."""
    return min((len(values) for values in numbers.values()), default=0)


def _first(numbers: Numbers, runs: int) -> Numbers:
    return {name: values[:runs] for name, values in numbers.items()}


def _joined(first: Numbers, then: Numbers) -> Numbers:
    if not first:
        return then
    return {name: np.concatenate([first[name], then[name]]) for name in then}


def _computed(
    missing: Mapping[Experiment, range], seed: int, workers: Workers, advance: Advance
) -> Iterator[tuple[Experiment, Numbers]]:
    """Each setting with the numbers of its missing runs, as soon as the last of them is done."""
    done: dict[Experiment, dict[int, Numbers]] = {each: {} for each in missing}
    tasks = [
        (each, seed, numbers[first : first + _CHUNK])
        for each, numbers in missing.items()
        for first in range(0, len(numbers), _CHUNK)
    ]
    if not tasks:
        return
    for experiment, part in _performed(tasks, workers):
        done[experiment].update(part)
        advance(experiment, len(part))
        if len(done[experiment]) == len(missing[experiment]):
            yield experiment, _stack(done.pop(experiment))


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
