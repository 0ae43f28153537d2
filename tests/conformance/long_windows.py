"""Windows of hundreds of rows on every path: sums of this length are made in other ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from conformance.designs import draw
from conformance.expected_rows import ExpectedRows, Row, Window
from conformance.histories import random_spec, run_seeds
from conformance.oracle import Answer
from conformance.subjects import Fit, FleetSubject, ModelSubject, Setting
from conformance.tally import Tally

import efface

ROWS = {"long replay": 10_400}  # of a stream; a replay of so many is done in another way
USUAL_ROWS = 640
SIZES = (65, 100, 129, 200)
LOOKED_AT = 5  # states per seed
STREAMS = ("normal", "normal", "scaled 1e-4..1e4", "giant rows", "rare flags", "prices", "copies")
ROLLING = {"OLS": 0.0, "Ridge": None, "AutoRidge": "auto"}  # the models of ``rolling``: its alpha
Fits = dict[int, Fit]


def random_setting(path: str, rng: np.random.Generator) -> Setting:
    """Often standardised; the rows of a window leave by number, by age or never."""
    spec = replace(random_spec(rng), standardize=bool(rng.random() < 0.4))
    if spec.halflife is not None:
        spec = replace(spec, halflife=None if path == "fleet" else float(rng.choice([4.0, 60.0])))
    if path == "rolling" and spec.kind not in ROLLING:
        spec = replace(spec, kind="OLS")
    kind, size = str(rng.choice(["rows", "rows", "age", "all"])), int(rng.choice(SIZES))
    if path in ROWS:
        kind, spec = "rows", replace(spec, halflife=None)
    return Setting(spec, Window(kind, size), "number" if kind == "age" else None)


def by_event(setting: Setting, rows: list[Row], times: list[int]) -> Fits:
    subject, found = ModelSubject(setting, rows[0].x.size), {}
    for t, row in enumerate(rows):
        subject.learn(row)
        if t in times:
            found[t] = subject.fits(["a"])["a"]
    return found


def by_fleet(setting: Setting, rows: list[Row], times: list[int]) -> Fits:
    subject, found, start = FleetSubject(setting, rows[0].x.size), {}, 0
    for t in times:
        subject.learn_many(rows[start : t + 1])
        found[t], start = subject.fits(["a"])["a"], t + 1
    return found


def by_replay(setting: Setting, rows: list[Row], times: list[int]) -> Fits:
    """A replay tells the state before each row, so the row after that of a state is asked."""
    X, y, options = setting.columns(rows)
    trace = efface.replay(setting.build(), X, y, coef=True, **options)
    return {
        t: Fit([], trace.coef[t + 1], trace.intercept[t + 1], trace.penalty[t + 1]) for t in times
    }


def by_rolling(setting: Setting, rows: list[Row], times: list[int]) -> Fits:
    X, y, given = setting.columns(rows)
    spec, alpha = setting.spec, ROLLING[setting.spec.kind]
    options: dict[str, Any] = {
        "alpha": spec.alpha if alpha is None else alpha,
        "fit_intercept": spec.intercept,
        "standardize": spec.standardize,
        "halflife": spec.halflife,
        "sample_weight": given["sample_weight"],
        "at": given.get("at"),
    }
    result = efface.rolling(X, y, setting.window_argument(), min_rows=1, **options)
    return {t: Fit([], result.coef[t], float(result.intercept[t])) for t in times}


PATHS: dict[str, Callable[[Setting, list[Row], list[int]], Fits]] = {
    "events": by_event,
    "fleet": by_fleet,
    "replay": by_replay,
    "long replay": by_replay,
    "rolling": by_rolling,
}


def answers(setting: Setting, rows: list[Row], times: list[int], *, before: bool) -> list[Answer]:
    """What is right after some rows, or ``before`` the next one, which makes others leave."""
    width, by_time, found = rows[0].x.size, setting.fades_by_time, []
    expected = ExpectedRows(setting.spec, setting.window, width, fades_by_time=by_time)
    for t, row in enumerate(rows):
        expected.learn(row)
        if t in times:
            expected.admit(rows[t + 1].at if before else None)
            found.append(expected.answer())
    return found


def check_long_windows(path: str, seeds: Sequence[int]) -> Tally:
    def once(seed: int, tally: Tally) -> None:
        rng = np.random.default_rng([seed, 640, len(path)])
        setting, design = random_setting(path, rng), str(rng.choice(STREAMS))
        n = ROWS.get(path, USUAL_ROWS)
        X, y, weights = draw(design, rng, n)
        weights = np.ones(n) if path in ROWS or rng.random() < 0.6 else weights
        timed = setting.clock is not None
        rows = [
            Row(t, X[t], float(y[t]), float(weights[t]), at=float(t) if timed else None)
            for t in range(n)
        ]
        times = sorted({*rng.integers(60, n - 1, size=LOOKED_AT).tolist()})
        found = PATHS[path](setting, rows, times)
        right = answers(setting, rows, times, before=path.endswith("replay"))
        for t, answer in zip(times, right, strict=True):
            told = f"{setting.build()!r}, {design}, weights {weights.min():g}.., row {t}"
            tally.compare(answer, found[t]._replace(ids=[]), told)

    return run_seeds(once, seeds)
