"""Whole arrays at once: every state of ``fit``, ``replay`` and ``rolling`` is checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from conformance.designs import Stream, draw
from conformance.expected_rows import ExpectedRows, Row, Window
from conformance.histories import generator, random_setting, random_spec, run_seeds, window_sizes
from conformance.oracle import Answer, Spec
from conformance.subjects import Fit, Setting
from conformance.tally import Tally

import efface

FITS = 10  # per seed
ROWS = 70


def rows_of(stream: Stream) -> list[Row]:
    X, y, weights = stream
    return [Row(t, X[t], float(y[t]), float(weights[t])) for t in range(len(y))]


def check_fit(rng: np.random.Generator, stream: Stream, tally: Tally) -> None:
    """``fit`` of slices, most of them short."""
    rows, width = rows_of(stream), stream.X.shape[1]
    for _ in range(FITS):
        count = int(rng.choice([*window_sizes(width), len(rows)]))
        first = int(rng.integers(0, max(1, len(rows) - count)))
        part = rows[first : first + count]
        if not any(row.weight for row in part):
            continue
        setting = Setting(random_spec(rng), Window())
        X, y, options = setting.columns(part)
        m = setting.build().fit(X, y, **options)
        expected = ExpectedRows(setting.spec, setting.window, width)
        for row in part:
            expected.learn(row)
        fit = Fit(m.ids_, m.coef_, m.intercept_, m.penalty_, m.rank_)
        tally.compare(
            expected.answer(), fit, f"{setting.build()!r}, rows {first} to {first + count}"
        )


def check_replay(rng: np.random.Generator, stream: Stream, tally: Tally) -> None:
    """``replay`` of a stream: the state before each row, and its prediction."""
    setting = random_setting(rng, stream.X.shape[1])
    rows = [_timed(row, setting, rng, 0.1) for row in rows_of(stream)]
    X, y, options = setting.columns(rows)
    full = bool(rng.integers(2))
    result = efface.replay(setting.build(), X, y, coef=True, diagnostics=full, **options)
    expected = ExpectedRows(
        setting.spec, setting.window, X.shape[1], fades_by_time=setting.fades_by_time
    )
    for t, row in enumerate(rows):
        expected.admit(row.at)
        answer, told = expected.answer(), f"{setting.build()!r}, row {t}"
        tally.agree(
            "ids", result.n_rows[t] == len(expected.rows), f"{result.n_rows[t]} rows; {told}"
        )
        rank = None if result.rank is None else int(result.rank[t])
        fit = Fit([], result.coef[t], result.intercept[t], result.penalty[t], rank)
        tally.compare(answer, fit, told)
        tally.predicted(answer, row.x, result.prediction[t], told)
        expected.learn(row)


def check_rolling(rng: np.random.Generator, stream: Stream, tally: Tally) -> None:
    """``rolling``: every window of a stream, of rows or of time, by groups, with a half-life."""
    spec = random_spec(rng)
    kind = str(rng.choice(["OLS", "OLS", "Ridge", "AutoRidge"]))
    spec = Spec(
        kind,
        spec.alpha,
        intercept=spec.intercept,
        standardize=spec.standardize,
        halflife=spec.halflife,
    )
    X, y, weights = stream
    setting = rolling_setting(spec, X.shape[1], rng)
    groups = rng.integers(0, 3, size=len(y)) if rng.random() < 0.3 else np.zeros(len(y), dtype=int)
    at = np.arange(len(y)) / 2.0 if setting.clock is not None else None
    result = efface.rolling(
        X,
        y,
        setting.window_argument(),
        alpha={"OLS": 0.0, "Ridge": spec.alpha, "AutoRidge": "auto"}[kind],
        fit_intercept=spec.intercept,
        standardize=spec.standardize,
        halflife=spec.halflife,
        sample_weight=weights,
        min_rows=1,
        at=at,
        groups=groups if groups.any() else None,
        outputs=["coef", "intercept", "rank", "fitted", "prediction"],
    )
    expected_by_key = {
        g: ExpectedRows(spec, setting.window, X.shape[1], fades_by_time=setting.fades_by_time)
        for g in range(3)
    }
    before: dict[int, Answer] = {}  # of each group: the answer at its last row
    for t, row in enumerate(rows_of(stream)):
        group, told = int(groups[t]), f"{setting.build()!r}, groups {groups.any()}, row {t}"
        expected = expected_by_key[group]
        if group in before:
            tally.predicted(before[group], row.x, result.prediction[t], told)
        expected.learn(row if at is None else replace(row, at=float(at[t])))
        fit = Fit([], result.coef[t], float(result.intercept[t]), None, int(result.rank[t]))
        before[group] = expected.answer()
        tally.compare(before[group], fit, told)
        tally.predicted(before[group], row.x, result.fitted[t], told)


def rolling_setting(spec: Spec, width: int, rng: np.random.Generator) -> Setting:
    """Windows of a number of rows, of a duration, or of all rows so far."""
    window = Window("rows", int(rng.choice(window_sizes(width))))
    window = (window, window, Window("age", int(rng.choice([2, 5, 20]))), Window())[rng.integers(4)]
    return Setting(spec, window, "number" if window.kind == "age" else None)


def _timed(row: Row, setting: Setting, rng: np.random.Generator, late: float) -> Row:
    if setting.clock is None:
        return row
    at = float(row.id) / 2 - (float(rng.integers(1, 9)) if rng.random() < late else 0.0)
    until = at + float(rng.integers(1, 30)) if rng.random() < 0.1 else None
    return Row(row.id, row.x, row.y, row.weight, None, max(at, 0.0), until)


SWEEPS: dict[str, Callable[[np.random.Generator, Stream, Tally], None]] = {
    "fit": check_fit,
    "replay": check_replay,
    "rolling": check_rolling,
}


def check_sweep(path: str, design: str, seeds: Sequence[int]) -> Tally:
    def once(seed: int, tally: Tally) -> None:
        rng = generator(path, design, seed)
        SWEEPS[path](rng, draw(design, rng, ROWS), tally)

    return run_seeds(once, seeds)
