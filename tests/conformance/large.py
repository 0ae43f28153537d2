"""Many features and many rows: other code runs there, so some states are checked there too."""

from __future__ import annotations

from collections.abc import Sequence

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


def check_many(seeds: Sequence[int]) -> Tally:
    """Thousands of live rows: rows leave from the middle, late rows come, a window slides."""

    def once(seed: int, tally: Tally) -> None:
        rng = np.random.default_rng([seed, 4096])
        n, d = int(rng.choice([4200, 6000])), int(rng.choice([1, 3]))
        clock = [None, "number"][rng.integers(2)]
        kind = str(rng.choice(["OLS", "Ridge", "AdaptiveRidge", "AutoRidge"]))
        window = Window("rows", n - 50) if rng.integers(2) else Window()
        setting = Setting(Spec(kind, intercept=bool(rng.integers(2))), window, clock)
        subject, expected = ModelSubject(setting, d), ExpectedRows(setting.spec, window, d)
        X = [normal, scaled, giant_rows][rng.integers(3)](rng, n + 60, d)
        y = (X / np.median(np.abs(X), axis=0)).sum(axis=1) + rng.normal(size=n + 60)
        weights = rng.choice([0.5, 1.0, 2.0], size=n + 60)
        at = [None if clock is None else float(t // 2) for t in range(n + 60)]
        rows = [
            Row(t, X[t], float(y[t]), float(weights[t]), f"owner {t % 700}", at[t])
            for t in range(n + 60)
        ]
        _learn(subject, expected, rows[:n])
        _judge(subject, expected, tally, f"{setting.build()!r}, {n} rows")
        for start in range(n, n + 60, 20):
            ids = [row.id for row in rng.choice(np.array(expected.rows, dtype=object), size=3)]
            owners = [f"owner {int(rng.integers(700))}"]
            gone = expected.forget(ids, owners)
            tally.agree("count", subject.forget(ids, owners) == gone, f"{gone} rows leave")
            _judge(subject, expected, tally, f"{setting.build()!r}, forgot {ids}")
            coming = rows[start : start + 20]
            if clock is not None:
                coming[5] = Row(coming[5].id, coming[5].x, coming[5].y, at=float(n // 5))
            for row in coming:
                _learn(subject, expected, [row])
            _judge(subject, expected, tally, f"{setting.build()!r}, learned up to {start + 20}")

    return run_seeds(once, seeds)


def _learn(subject: ModelSubject, expected: ExpectedRows, rows: list[Row]) -> None:
    if len(rows) == 1:
        subject.learn(rows[0])
    else:
        subject.learn_many(rows)
    if len(rows) > 100 and expected.window.kind == "all":  # in order of time: nothing leaves
        expected.rows += rows
        expected.arrived += len(rows)
        return
    if len(rows) > 100:
        expected.rows = rows[-int(expected.window.size) :]
        return
    for row in rows:
        expected.learn(row)


def _judge(subject: ModelSubject, expected: ExpectedRows, tally: Tally, told: str) -> None:
    fit = subject.fits(["a"])["a"]
    tally.agree("ids", fit.ids == expected.ids, f"other ids; {told}")
    tally.compare(expected.answer(), fit, told)
