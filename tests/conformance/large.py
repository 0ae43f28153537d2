"""Many features and many rows: other code runs there, so some states are checked there too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from conformance.designs import copies, giant_rows, normal, scaled
from conformance.expected_rows import ExpectedRows, Row, Window
from conformance.histories import run_seeds
from conformance.oracle import Spec, solve
from conformance.subjects import Fit, ModelSubject, Setting
from conformance.tally import Tally

import efface

WIDE = (normal, normal, scaled, giant_rows, copies)
LOOKED_AT = 4  # states per seed, beside the first and the last


def check_wide(seeds: Sequence[int]) -> Tally:
    """33 to 64 features, more and fewer rows than features, on three paths."""

    def once(seed: int, tally: Tally) -> None:
        rng = np.random.default_rng([seed, 33])
        d = int(rng.choice([33, 40, 64]))
        size = int(rng.choice([d // 2, d, d + 1, d + 20]))
        n, features = size + d, WIDE[rng.integers(len(WIDE))]
        X = np.ascontiguousarray(features(rng, n, d))
        y = X @ (rng.normal(size=d) / np.median(np.abs(X), axis=0)) + rng.normal(size=n)
        weights = rng.choice([0.0, 0.5, 1.0, 2.0], size=n) if rng.integers(2) else np.ones(n)
        kind = str(rng.choice(["OLS", "OLS", "Ridge", "AdaptiveRidge", "AutoRidge"]))
        spec = Spec(kind, intercept=bool(rng.integers(2)))
        times = sorted({size, n - 1, *rng.integers(size, n, size=LOOKED_AT).tolist()})
        told = f"{spec}, {features.__name__}, {d} features, window {size}"
        for t, fit in _wide_fits(spec, X, y, weights, size, times, rng):
            part = slice(t + 1 - size, t + 1)
            tally.compare(solve(X[part], y[part], spec, weights[part]), fit, f"{told}, row {t}")

    return run_seeds(once, seeds)


def _wide_fits(
    spec: Spec,
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    size: int,
    times: list[int],
    rng: np.random.Generator,
) -> list[tuple[int, Fit]]:
    """The fits of the windows that end at some rows, by a random path."""
    model = Setting(spec, Window("rows", size)).build()
    alpha = {"OLS": 0.0, "Ridge": spec.alpha, "AutoRidge": "auto"}.get(spec.kind)
    path = rng.integers(3)
    if path == 0 and alpha is not None:
        options = {"fit_intercept": spec.intercept, "sample_weight": weights}
        found = efface.rolling(X, y, size, alpha=alpha, **options)  # type: ignore[arg-type]
        return [(t, Fit([], found.coef[t], float(found.intercept[t]))) for t in times]
    if path == 1:
        trace = efface.replay(model, X, y, coef=True, sample_weight=weights)
        before = [t - 1 for t in times]
        fits = [Fit([], trace.coef[t], trace.intercept[t], trace.penalty[t]) for t in times]
        return list(zip(before, fits, strict=True))
    fits = []
    for t in range(len(y)):
        model.learn_one(X[t].copy(), float(y[t]), weight=float(weights[t]))
        if t in times:
            fits.append(Fit([], model.coef_, model.intercept_, model.penalty_, model.rank_))
    return list(zip(times, fits, strict=True))


def many_setting(n: int, rng: np.random.Generator) -> Setting:
    """A model of thousands of rows: windows of rows, of time, or none."""
    clock = [None, "number"][rng.integers(2)]
    kind = str(rng.choice(["OLS", "Ridge", "AdaptiveRidge", "AutoRidge"]))
    intercept, standardize = bool(rng.integers(2)), bool(rng.random() < 0.2)
    halflife = 300.0 if clock is None and rng.random() < 0.1 else None
    spec = Spec(kind, intercept=intercept, standardize=standardize, halflife=halflife)
    windows = [Window(), Window("rows", n - 50), Window("age", n // 2 - 25)]
    window = windows[rng.integers(2 if clock is None else 3)]
    return Setting(spec, window, clock)


def many_rows(n: int, d: int, setting: Setting, rng: np.random.Generator) -> list[Row]:
    """Rows in order of time; ids are numbers or texts."""
    X = [normal, scaled, giant_rows][rng.integers(3)](rng, n, d)
    y = (X / np.median(np.abs(X), axis=0)).sum(axis=1) + rng.normal(size=n)
    weights, texts = rng.choice([0.5, 1.0, 2.0], size=n), bool(rng.integers(2))
    timed = setting.clock is not None
    return [
        Row(
            f"row {t}" if texts else t,
            X[t],
            float(y[t]),
            float(weights[t]),
            f"owner {t % 700}",
            float(t // 2) if timed else None,
            float(t // 2 + 900) if timed and t % 5 == 0 else None,
        )
        for t in range(n)
    ]


def check_many(seeds: Sequence[int]) -> Tally:
    """Thousands of live rows: rows leave from the middle, late rows come, a window slides."""

    def once(seed: int, tally: Tally) -> None:
        rng = np.random.default_rng([seed, 4096])
        n, d = int(rng.choice([4200, 6000])), int(rng.choice([1, 3]))
        setting = many_setting(n, rng)
        subject = ModelSubject(setting, d)
        expected = ExpectedRows(setting.spec, setting.window, d)
        rows = many_rows(n + 60, d, setting, rng)
        _learn_first(subject, expected, rows[:n])
        told = f"{setting.build()!r}, {n} rows"
        _judge(subject, expected, tally, told)
        for start in range(n, n + 60, 20):
            ids = [row.id for row in rng.choice(np.array(expected.rows, dtype=object), size=3)]
            owners = [f"owner {int(rng.integers(700))}"]
            gone = expected.forget(ids, owners)
            tally.agree("count", subject.forget(ids, owners) == gone, f"{gone} rows leave")
            _judge(subject, expected, tally, f"{told}, forgot {ids}")
            coming = rows[start : start + 20]
            if setting.clock is not None:
                coming[5] = replace(coming[5], at=coming[5].at - 400.0, until=None)
            for row in coming:
                subject.learn(row)
                expected.learn(row)
            _judge(subject, expected, tally, f"{told}, learned up to {start + 20}")
            if rng.random() < 0.3:
                subject.reload()

    return run_seeds(once, seeds)


def _learn_first(subject: ModelSubject, expected: ExpectedRows, rows: list[Row]) -> None:
    """Learn rows in order of time; what has left of them is found at once, at the last of them."""
    subject.learn_many(rows)
    expected.rows, expected.arrived = list(rows), len(rows)
    expected.admit(rows[-1].at)
    expected.shrink()


def _judge(subject: ModelSubject, expected: ExpectedRows, tally: Tally, told: str) -> None:
    fit = subject.fits(["a"])["a"]
    tally.agree("ids", fit.ids == expected.ids, f"other ids; {told}")
    tally.compare(expected.answer(), fit, told)
