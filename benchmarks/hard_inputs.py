"""Inputs whose order, names, groups, windows or scales could make rows slow, at several sizes.

The usual input of a way comes first. A ratio is the time per row over the least time of the usual
input at any size, so that a size which is slow for every input shows as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from benchmarks.growth import exponent
from benchmarks.report import Goal, Report, Table, figure
from benchmarks.settings import Settings
from benchmarks.subject import efface
from benchmarks.timing import Run, interleave
from benchmarks.workloads import gaussian

D, WINDOW, FORGOTTEN = 4, 200, 40
SIZES, QUICK_SIZES = (1_000, 4_000, 20_000), (500, 2_000)
ROUNDS = 2
TIMES_USUAL, EXPONENT = 20.0, 0.25  # the limits
Make = Callable[[int], tuple[Run, int]]  # of a number of rows: the timed call, and rows per call


def replayed(n: int, *, order: str = "ascending", model: str = "Ridge", **names: str) -> Any:
    """A replay of rows with times, which leave by age."""
    X, y = gaussian(n, D)
    rng, times = np.random.default_rng(n), np.arange(float(n))
    if order == "reversed":
        times = times[::-1].copy()
    elif order == "random":
        times = rng.permutation(times)
    elif order == "late":
        times = times - np.where(rng.random(n) < 0.05, rng.integers(1, WINDOW, n), 0)
    elif order == "equal":
        times = np.zeros(n)
    given: dict[str, Any] = {"at": times}
    if "until" in names:
        given["until"] = times + rng.integers(1, WINDOW, n)
    if "ids" in names:
        given["ids"] = [f"row {i}" for i in rng.permutation(n)]
    if "owners" in names:
        given["owners"] = ["one"] * n if names["owners"] == "one" else [f"o {i}" for i in range(n)]

    def run() -> object:
        return efface("replay")(efface(model)(window=efface("KeepFor")(WINDOW)), X, y, **given)

    return run, n


def rolled(n: int, *, design: str = "normal", window: int = WINDOW, group: int = 0) -> Any:
    """Least squares in every window."""
    X, y = gaussian(n, D)
    rng = np.random.default_rng(n)
    if design == "polynomial":
        X = np.arange(1.0, n + 1)[:, np.newaxis] ** np.arange(1, D + 1)
    elif design == "giant rows":
        X[rng.random(n) < 0.03] *= 1e8
    elif design == "scales 1e-8..1e8":
        X = X * 10.0 ** np.linspace(-8, 8, D)
    groups = np.arange(n) // group if group else None
    return partial(efface("rolling"), X, y, window, min_rows=1, groups=groups), n


def forgotten(n: int, *, design: str = "normal", by: str = "id", **options: Any) -> Any:
    """Forget a row from the middle and predict, with n live rows."""
    X, y = gaussian(n, D)
    if design == "one-hot":
        X = np.eye(D)[np.arange(n) % D]
    elif design == "constant column":
        X[:, -1] = 1.0
    owners = [f"o {i}" for i in range(n)]
    models = [efface("OLS")(**options).fit(X, y, owners=owners) for _ in range(ROUNDS + 1)]
    for model in models:
        model.predict_one(X[0])
    fresh, leaving = iter(models), np.linspace(n // 4, 3 * n // 4, FORGOTTEN, dtype=int)

    def run() -> None:
        model = next(fresh)
        for i in leaving.tolist():
            model.forget([i]) if by == "id" else model.forget(owner=owners[i])
            model.predict_one(X[0])

    return run, FORGOTTEN


WAYS: dict[str, dict[str, Make]] = {
    "replay": {
        "times in order": replayed,
        "times reversed": partial(replayed, order="reversed"),
        "times in random order": partial(replayed, order="random"),
        "times equal": partial(replayed, order="equal"),
        "5 % late rows": partial(replayed, order="late"),
        "until on each row": partial(replayed, until="each"),
        "ids as text": partial(replayed, ids="text"),
        "one owner": partial(replayed, owners="one"),
        "an owner per row": partial(replayed, owners="each"),
    },
    "rolling": {
        "normal": rolled,
        "polynomial": partial(rolled, design="polynomial"),
        "3 % giant rows": partial(rolled, design="giant rows"),
        "scales 1e-8..1e8": partial(rolled, design="scales 1e-8..1e8"),
        "window 1": partial(rolled, window=1),
        "groups of one row": partial(rolled, group=1),
        "groups of 50 rows": partial(rolled, group=50),
    },
    "forget and predict": {
        "normal": forgotten,
        "by owner": partial(forgotten, by="owner"),
        "standardize": partial(forgotten, standardize=True),
        "half-life": partial(forgotten, halflife=1e4),
        "one-hot": partial(forgotten, design="one-hot"),
        "constant column": partial(forgotten, design="constant column"),
    },
}


def add_growth(report: Report, settings: Settings) -> None:
    """One table per way: inputs by sizes, with the largest ratio and the exponent in n."""
    sizes = QUICK_SIZES if settings.quick else SIZES
    for way, inputs in WAYS.items():
        micros = measure(inputs, sizes)
        usual = min(next(iter(micros.values())))
        ratios = {name: max(times) / usual for name, times in micros.items()}
        slopes = {name: exponent(sizes, times) for name, times in micros.items()}
        rows = [
            (name, *map(figure, times), figure(ratios[name]), f"{slopes[name]:.2f}")
            for name, times in micros.items()
        ]
        columns = ("input", *(f"n={n}" for n in sizes), "over usual", "exponent")
        report.tables.append(Table(f"Inputs of {way}, µs per row", columns, rows))
        for what, found, limit in (
            ("largest ratio", ratios, TIMES_USUAL),
            ("exponent in n", slopes, EXPONENT),
        ):
            worst = max(found, key=found.__getitem__)
            text = f"{way}: {what}, worst ({worst})"
            report.goals.append(Goal(text, found[worst], "at most", limit))
        report.measurements += [
            {"way": way, "input": name, "sizes": list(sizes), "us": times}
            for name, times in micros.items()
        ]


def measure(inputs: Mapping[str, Make], sizes: tuple[int, ...]) -> dict[str, list[float]]:
    """µs per row of each input at each size."""
    micros: dict[str, list[float]] = {name: [] for name in inputs}
    for n in sizes:
        made = {name: make(n) for name, make in inputs.items()}
        for run, _ in made.values() if n == sizes[0] else ():
            run()  # warm-up
        timings = interleave({name: run for name, (run, _) in made.items()}, ROUNDS)
        for name, timing in timings.items():
            micros[name].append(1e6 * min(timing.cpu) / made[name][1])
    return micros
