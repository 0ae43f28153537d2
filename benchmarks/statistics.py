"""Standard errors of rolling regressions on a constant and prices, as `add_constant` makes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.report import Goal, Report, Table, error_figure, figure
from benchmarks.settings import Settings
from benchmarks.subject import efface, missing
from benchmarks.timing import busy_notes, interleave
from benchmarks.workloads import Array

POINTS = ((20_000, 2, 250), (20_000, 5, 250), (20_000, 10, 500))  # rows, features, window
PEER_WINDOWS = 500  # statsmodels is timed on fewer rows
FASTER_GOAL, ERROR_GOAL = 5.0, 1e-9
NOTE = "Fastest µs per window, one thread; largest relative error of the standard errors (QR)."


def run(settings: Settings) -> Report:
    """Every point."""
    report = Report("statistics")
    if missing("rolling"):
        return report
    rows = []
    for point in POINTS:
        found = measure(*point, settings)
        report.measurements.append(found)
        rows.append(line(found))
        what = f"[1, prices] with standard errors, {found['point']}"
        ratio = found["statsmodels"] / found["efface"]
        faster = Goal(f"{what}: statsmodels over efface", ratio, "at least", FASTER_GOAL)
        report.goals.append(faster)
        report.goals.append(Goal(f"{what}: error", found["error"], "at most", ERROR_GOAL))
    columns = ("d, s", "normal data", "efface", "error", "statsmodels", "its error")
    report.tables.append(Table("[1, prices] with standard errors", columns, rows, NOTE))
    return report


def prices(n: int, d: int) -> tuple[Array, Array, Array]:
    """A constant and d - 1 random walks; as many independent features; a response."""
    rng = np.random.default_rng(0)
    walks = 4000.0 + np.cumsum(rng.normal(size=(n, d - 1)), axis=0)
    return np.column_stack([np.ones(n), walks]), rng.normal(size=(n, d)), rng.normal(size=n)


def measure(n: int, d: int, s: int, settings: Settings) -> dict[str, Any]:
    """efface on prices and on normal data, and statsmodels on prices."""
    from statsmodels.regression.rolling import RollingOLS

    rolling, (X, normal, y) = efface("rolling"), prices(n // 5 if settings.quick else n, d)
    few = slice(0, s - 1 + PEER_WINDOWS)
    model = RollingOLS(y[few], X[few], window=s)
    runs = {
        "normal": lambda: (
            rolling(normal, y, s, fit_intercept=False, stats=True, threads=1).stats.bse
        ),
        "efface": lambda: rolling(X, y, s, fit_intercept=False, stats=True, threads=1).stats.bse,
        "statsmodels": lambda: model.fit().bse,
    }
    answers = {name: run() for name, run in runs.items()}
    timings = interleave(runs, settings.rounds)
    windows = {"normal": len(y) - s + 1, "efface": len(y) - s + 1, "statsmodels": PEER_WINDOWS}
    ends = range(s - 1, s - 1 + PEER_WINDOWS, 50)
    right = {t: directly(X[t - s + 1 : t + 1], y[t - s + 1 : t + 1]) for t in ends}
    return {
        "point": f"{d}, {s}",
        **{name: 1e6 * timings[name].minimum / windows[name] for name in runs},
        "error": largest_error(answers["efface"], right),
        "peer_error": largest_error(answers["statsmodels"], right),
        "busy": busy_notes(timings.values()),
    }


def directly(X: Array, y: Array) -> Array:
    """Standard errors of one window, by a QR decomposition of the features around their mean."""
    (n, d), mean = X.shape, X[:, 1:].mean(axis=0)
    centred = np.column_stack([X[:, :1], X[:, 1:] - mean])
    q, r = np.linalg.qr(centred)
    back = np.eye(d)
    back[0, 1:] = -mean  # from the level at the mean to that at 0
    inverse = back @ np.linalg.inv(r)
    rest = y - q @ (q.T @ y)
    return np.asarray(np.sqrt((inverse**2).sum(axis=1) * (rest @ rest) / (n - d)))


def largest_error(bse: Array, right: dict[int, Array]) -> float:
    """Relative, over the windows that were checked; NaN if one has no standard errors."""
    return float(np.max([np.abs(bse[t] / value - 1.0).max() for t, value in right.items()]))


def line(found: dict[str, Any]) -> tuple[str, ...]:
    """The row of a point."""
    times = [figure(found[name]) for name in ("normal", "efface", "statsmodels")]
    errors = error_figure(found["error"]), error_figure(found["peer_error"])
    return found["point"], times[0], times[1], errors[0], times[2], errors[1]
