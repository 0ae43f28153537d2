"""Time per row on data whose windows are constant, collinear, rank-deficient or ill-conditioned.

Each figure is a ratio: the time on hard rows over the time on Gaussian rows of the same size.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from benchmarks.hard_data import CASES, WITHOUT_INTERCEPT, hard_stream
from benchmarks.report import Goal, Report, Table, figure
from benchmarks.settings import Settings
from benchmarks.subject import efface, missing
from benchmarks.timing import interleave
from benchmarks.workloads import Array

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "OLS": ("OLS", {}),
    "Ridge(1)": ("Ridge", {"alpha": 1.0}),
    "AdaptiveRidge": ("AdaptiveRidge", {}),
    "standardised OLS": ("OLS", {"standardize": True}),
}
SIZES = ((10, 500), (20, 500), (50, 1_000))
SHORT, LONG = 500, 50_000  # windows between which the exponent is measured, at d = 10
NORMAL = "normal"
SET_ASIDE = {"constant column", "one-hot", "copied column"}
SWINGS = "rank swings"


class Point(NamedTuple):
    """A model, a way to use it, and a size."""

    model: str
    way: str
    d: int
    s: int


Way = Callable[[Point, bool, Array, Array], Callable[[], object]]


def options(point: Point, intercept: bool) -> dict[str, Any]:
    """The arguments of the model."""
    return {**MODELS[point.model][1], "fit_intercept": intercept}


def by_event(point: Point, intercept: bool, X: Array, y: Array) -> Callable[[], object]:
    """Predict and learn from Python, one row at a time, through a full window."""
    model = efface(MODELS[point.model][0])(window=point.s, **options(point, intercept))
    model.fit(X[: point.s], y[: point.s])
    rows = iter(range(point.s, len(y)))

    def run() -> None:
        for t in (next(rows) for _ in range(EVENTS)):
            model.predict_one(X[t])
            model.learn_one(X[t], y[t])

    return run


def by_replay(point: Point, intercept: bool, X: Array, y: Array) -> Callable[[], object]:
    """A replay that begins with a full window."""

    def run() -> object:
        model = efface(MODELS[point.model][0])(window=point.s, **options(point, intercept))
        model.fit(X[: point.s], y[: point.s])
        return efface("replay")(model, X[point.s :], y[point.s :])

    return run


def by_rolling(point: Point, intercept: bool, X: Array, y: Array) -> Callable[[], object]:
    """The regression on every full window."""
    given = options(point, intercept)
    return partial(efface("rolling"), X, y, point.s, min_rows=point.s, **given)


EVENTS = 400  # per round
REPLAYED = 12_000  # rows of a replay and of rolling regressions; at least two windows
WAYS: dict[str, Way] = {"event": by_event, "replay": by_replay, "rolling": by_rolling}


def run(settings: Settings) -> Report:
    """Every model, way and size; then the growth with the window."""
    report = Report("cliffs")
    warnings.simplefilter("ignore")  # of features in very different units, which some cases have
    if missing("rolling", "replay", "OLS", "Ridge", "AdaptiveRidge"):
        return report
    for d, s in SIZES[:1] if settings.quick else SIZES:
        for way in WAYS:
            points = [Point(model, way, d, s) for model in MODELS if has(model, way)]
            compare(report, points, settings)
    for way in WAYS:
        for model in MODELS:
            if has(model, way) and not settings.quick:
                grow(report, Point(model, way, 10, SHORT), settings)
    return report


def has(model: str, way: str) -> bool:
    """Rolling regressions have a fixed penalty."""
    return way != "rolling" or model != "AdaptiveRidge"


def compare(report: Report, points: list[Point], settings: Settings) -> None:
    """The ratios of all cases, for models that are used in one way at one size."""
    ratios = {point.model: costs(point, settings) for point in points}
    _, way, d, s = points[0]
    rows = []
    for case in (NORMAL, *CASES):
        cells = [figure(ratios[point.model][case][1]) for point in points]
        rows.append((case, *cells))
        for point in points if case != NORMAL else []:
            cost, ratio = ratios[point.model][case]
            report.measurements.append({"case": case, **point._asdict(), "us": cost, "x": ratio})
    what = "µs for Gaussian rows; then the ratio to that"
    columns = ("rows", *(point.model for point in points))
    report.tables.append(Table(f"By {way}, d={d}, s={s}", columns, rows, what))
    for kind, cases in kinds(way).items():
        found = [ratios[point.model][case][1] for point in points for case in cases]
        what = f"{way}, d={d}: {kind}, largest ratio"
        report.goals.append(Goal(what, max(found), "at most", limit(way, kind, d)))


def kinds(way: str) -> dict[str, list[str]]:
    """Which cases have a limit of their own."""
    if way == "event":
        return {"all": list(CASES)}
    others = [case for case in CASES if case not in SET_ASIDE and case != SWINGS]
    return {"set aside": sorted(SET_ASIDE), "changing rank": [SWINGS], "others": others}


def limit(way: str, kind: str, d: int) -> float:
    """The largest ratio that is allowed."""
    if way == "event":
        return 5.0 if d <= 20 else 8.0
    return {"set aside": 3.0, "changing rank": 20.0, "others": 12.0}[kind]


def costs(point: Point, settings: Settings) -> dict[str, tuple[float, float]]:
    """µs per row for each case, and the ratio to Gaussian rows with the same intercept."""
    way, rows = WAYS[point.way], EVENTS if point.way == "event" else max(REPLAYED, 2 * point.s)
    n = point.s + rows * (settings.rounds + 1 if point.way == "event" else 1)
    runs = {}
    for case in (NORMAL, "normal, no intercept", *CASES):
        X, y = hard_stream(case, n, point.d, point.s)
        runs[case] = way(point, "no intercept" not in case and case not in WITHOUT_INTERCEPT, X, y)
        runs[case]()  # warm-up
    found = {name: 1e6 * min(t.cpu) / rows for name, t in interleave(runs, settings.rounds).items()}
    base = {
        case: NORMAL if case not in WITHOUT_INTERCEPT else "normal, no intercept" for case in found
    }
    ratios = {case: (cost, cost / found[base[case]]) for case, cost in found.items()}
    return {**ratios, NORMAL: (found[NORMAL], found[NORMAL])}


def grow(report: Report, point: Point, settings: Settings) -> None:
    """The largest exponent of the time per row in the length of the window."""
    short, long = (costs(point._replace(s=s), settings) for s in (SHORT, LONG))
    steps = math.log(LONG / SHORT)
    slopes = {case: math.log(long[case][0] / short[case][0]) / steps for case in CASES}
    worst = max(slopes, key=slopes.__getitem__)
    what = f"{point.way}, {point.model}: exponent in s, worst ({worst})"
    report.goals.append(Goal(what, slopes[worst], "at most", 0.1))
    report.measurements.append({**point._asdict(), "exponents": slopes})
