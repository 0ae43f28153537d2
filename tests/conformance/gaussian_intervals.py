"""Gaussian intervals of least squares on every path, against the textbook in fractions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from conformance.designs import draw
from conformance.expected_rows import Row
from conformance.expected_rows import Window as Policy
from conformance.histories import generator, run_seeds
from conformance.inference import DESIGNS, Window
from conformance.oracle import Spec, fraction, nearest, solve
from conformance.subjects import FleetSubject, ModelSubject, Setting
from conformance.tally import Tally
from flint import fmpq_mat
from scipy.stats import t as student

import efface

ROWS = 60
LEVEL = 0.9
LOOKED_AT = 4  # windows per seed
Bounds = tuple[np.ndarray, np.ndarray]  # lower and upper, of rows by the windows before them


def by_event(setting: Setting, rows: list[Row]) -> Bounds:
    subject, found = ModelSubject(setting, rows[0].x.size), []
    for row in rows:
        found.append(subject.model.predict_interval(row.x[np.newaxis], LEVEL, "gaussian")[1:])
        subject.learn(row)
    lower, upper = np.array(found)[:, :, 0].T
    return lower, upper


def by_fleet(setting: Setting, rows: list[Row]) -> Bounds:
    subject, found = FleetSubject(setting, rows[0].x.size), []
    for row in rows:
        if "a" in subject.fleet:
            interval = subject.fleet.predict_interval(["a"], row.x[np.newaxis], LEVEL, "gaussian")
            found.append((float(interval[1][0]), float(interval[2][0])))
        else:
            found.append((-np.inf, np.inf))
        subject.learn(row)
    lower, upper = np.array(found).T
    return lower, upper


def by_replay(setting: Setting, rows: list[Row]) -> Bounds:
    X, y, options = setting.columns(rows)
    found = efface.replay(setting.build(), X, y, interval=LEVEL, method="gaussian", **options)
    return found.lower, found.upper


def by_rolling(setting: Setting, rows: list[Row]) -> Bounds:
    X, y, options = setting.columns(rows)
    spec, weights = setting.spec, options["sample_weight"]
    found = efface.rolling(
        X,
        y,
        int(setting.window.size),
        fit_intercept=spec.intercept,
        standardize=spec.standardize,
        sample_weight=weights,
        interval=LEVEL,
        method="gaussian",
        min_rows=1,
    )
    return found.lower, found.upper


PATHS: dict[str, Callable[[Setting, list[Row]], Bounds]] = {
    "events": by_event,
    "fleet": by_fleet,
    "replay": by_replay,
    "rolling": by_rolling,
}


def half_width(window: Window, x: np.ndarray, intercept: bool) -> float:
    """t s sqrt(1 + h): of a new row of weight 1, by rows of which those with weight count."""
    row = fmpq_mat(window.p, 1, [fraction(v) for v in (*x, *[1.0] * intercept)])
    leverage = (row.transpose() * window.gram.inv() * row)[0, 0]
    freedom = window.n - window.p
    square = window.square(window.residuals()) / freedom
    width = nearest(square * (1 + leverage)) ** 0.5
    return float(student.ppf((1 + LEVEL) / 2, freedom) * width)


def check_gaussian(seeds: Sequence[int]) -> Tally:
    def once(seed: int, tally: Tally) -> None:
        design = DESIGNS[seed % len(DESIGNS)]
        rng = generator("intervals", design, seed)
        X, y, weights = draw(design, rng, ROWS)
        path = str(rng.choice(list(PATHS)))
        size = X.shape[1] + int(rng.integers(4, 20))
        spec = Spec(intercept=bool(rng.integers(2)), standardize=bool(rng.random() < 0.3))
        spec = replace(spec, intercept=spec.intercept or spec.standardize)
        setting = Setting(spec, Policy("rows", size))
        rows = [Row(t, X[t], float(y[t]), float(weights[t])) for t in range(ROWS)]
        lower, upper = PATHS[path](setting, rows)
        for t in rng.integers(size, ROWS, size=LOOKED_AT):
            part = slice(t - size, t)
            window = Window(X[part], y[part], weights[part], spec.intercept)
            answer = solve(X[part], y[part], spec, weights[part])
            if not window.full or answer.condition > 1e6:
                continue
            tally.states += 1
            right = half_width(window, X[t], spec.intercept)
            found = (upper[t] - lower[t]) / 2
            allowed = answer.tolerance * max(answer.condition / 1e2, 1.0) * right
            allowed += 8 * np.finfo(float).eps * max(abs(lower[t]), abs(upper[t]))
            told = f"half-width {found!r}, right is {right!r}; {path}, {design}, {spec}, row {t}"
            tally.close("width", float(abs(found - right) / allowed), told)

    return run_seeds(once, seeds)
