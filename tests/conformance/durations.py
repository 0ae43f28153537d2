"""Durations in every form that people write them: each means one length, or is refused."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from conformance.histories import run_seeds
from conformance.oracle import Spec, solve
from conformance.subjects import START, Fit
from conformance.tally import Disagreement, Tally

from efface import EffaceError, KeepFor, Ridge, rolling

ROWS = 30
UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
UNITS |= {"D": 86400 * 10**9, "W": 7 * 86400 * 10**9}


class Form(NamedTuple):
    """A duration as an argument, and its length: nanoseconds, or None if it must be refused."""

    argument: Any
    length: int | None
    window: Any = None
    timed: bool = True
    calendar: bool = True  # are times dates?


def random_form(rng: np.random.Generator) -> Form:
    count, unit = int(rng.integers(1, 40)), str(rng.choice(list(UNITS)))
    length = count * UNITS[unit]
    hours = count * UNITS["h"]
    forms = [
        Form(f"{count}{unit.lower() if unit in 'DW' else unit}", length),
        Form(np.timedelta64(count, unit), length),
        Form(np.timedelta64(count, unit), length),
        Form(timedelta(hours=count), hours),
        Form(pd.Timedelta(hours=count), hours),
        Form(f"{2000 + 50 * count}d", (2000 + 50 * count) * UNITS["D"]),
        Form(timedelta(days=20_000), 20_000 * UNITS["D"]),
        Form(float(count), count * 10**9, timed=False),  # rows
        Form(float(10.0 ** rng.integers(15, 309)), 10**60, timed=False),
        Form(count, None, f"{count}d"),  # rows, or nanoseconds?
        Form(count, None),
        Form(f"{count}d", None, KeepFor(float(count))),  # another kind of time
        Form(f"{count}d", None, KeepFor(float(count)), calendar=False),
    ]
    return forms[rng.integers(len(forms))]


def check_durations(seeds: Sequence[int]) -> Tally:
    def once(seed: int, tally: Tally) -> None:
        rng = np.random.default_rng([seed, 5])
        form = random_form(rng)
        X, y = rng.normal(size=(ROWS, 2)), rng.normal(size=ROWS)
        step = min(max(1, (form.length or UNITS["h"]) // 5), UNITS["D"])
        times = np.cumsum(rng.integers(1, 4, size=ROWS)) * step
        check = _check_half_life if rng.integers(3) else _check_window
        try:
            check(form, X, y, times, tally)
        except EffaceError as error:
            if form.length is not None:
                raise Disagreement("duration", f"{form} was refused: {error}") from error
        except Disagreement as found:
            raise Disagreement("duration", f"{form}: {found}") from found
        except (TypeError, OverflowError, ValueError) as error:
            raise Disagreement("duration", f"{form}: {type(error).__name__}: {error}") from error
        else:
            if form.length is None:
                raise Disagreement("duration", f"{form} was not refused")

    return run_seeds(once, seeds)


def _check_half_life(
    form: Form, X: np.ndarray, y: np.ndarray, times: np.ndarray, tally: Tally
) -> None:
    at = START + times.astype("m8[ns]") if form.calendar else times.astype(float)
    at = at if form.timed else None
    model = Ridge(window=form.window, halflife=form.argument).fit(X, y, at=at)
    found = rolling(X, y, form.window, alpha=1.0, halflife=form.argument, at=at, min_rows=1)
    if form.length is None:
        return
    alive = _within(times, 53 * form.length) if form.timed else np.arange(ROWS)
    tally.agree("ids", model.ids_ == alive.tolist(), f"{len(model.ids_)} rows, not {len(alive)}")
    length = float(form.length) if form.timed else form.argument
    ages = times[alive].astype(float).tolist() if form.timed else None
    answer = solve(X[alive], y[alive], Spec("Ridge", halflife=length), None, ages)
    tally.compare(answer, Fit([], model.coef_, model.intercept_), "fit")
    tally.compare(answer, Fit([], found.coef[-1], float(found.intercept[-1])), "rolling")


def _check_window(
    form: Form, X: np.ndarray, y: np.ndarray, times: np.ndarray, tally: Tally
) -> None:
    if form.length is None or not form.timed:
        return _check_half_life(form, X, y, times, tally)
    at = START + times.astype("m8[ns]")
    model = Ridge(window=form.argument).fit(X, y, at=at)
    found = rolling(X, y, form.argument, alpha=1.0, at=at, min_rows=1)
    alive = _within(times, form.length)
    tally.agree("ids", model.ids_ == alive.tolist(), f"{len(model.ids_)} rows, not {len(alive)}")
    answer = solve(X[alive], y[alive], Spec("Ridge"))
    tally.compare(answer, Fit([], model.coef_, model.intercept_), "fit")
    tally.compare(answer, Fit([], found.coef[-1], float(found.intercept[-1])), "rolling")
    return None


def _within(times: np.ndarray, length: int) -> np.ndarray:
    return np.array([i for i, t in enumerate(times) if int(times[-1]) - int(t) < length])
