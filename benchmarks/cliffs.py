"""Time per row on data whose windows are constant, collinear, rank-deficient or ill-conditioned.

Each figure is a ratio: the time on hard rows over the time on Gaussian rows of the same size.
Growth with the window is measured on windows of the same kind: a fixed penalty grows with the rows,
as else it would hide dependent features in short windows only. The ratios in long windows, with the
penalty as it is, have the limits of short ones. The first tables are of inputs that are hard by
their order, names, groups, windows or scales (hard_inputs.py).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from benchmarks.hard_data import CASES, WITHOUT_INTERCEPT, hard_stream
from benchmarks.hard_inputs import add_growth
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
    "AutoRidge": ("AutoRidge", {}),
}
SIZES = ((10, 500), (20, 500), (50, 1_000))
D, SHORT, LONG = 10, 500, 50_000  # windows between which the exponent is measured
NORMAL = "normal"
SET_ASIDE = {"constant column", "one-hot", "copied column"}
SWINGS = "rank swings"


class Point(NamedTuple):
    """A model, a way to use it, and a size."""

    model: str
    way: str
    d: int
    s: int
    alpha: float = 1.0


Way = Callable[[Point, bool, Array, Array], Callable[[], object]]


def options(point: Point, intercept: bool) -> dict[str, Any]:
    """The arguments of the model; a fixed penalty is that of ``point.alpha``."""
    given = {**MODELS[point.model][1], "fit_intercept": intercept}
    return {**given, "alpha": point.alpha} if "alpha" in given else given


def by_event(point: Point, intercept: bool, X: Array, y: Array) -> Callable[[], object]:
    """Predict and learn from Python, one row at a time, until the window has changed once.

    Some work is done once per window: fewer events than rows of the window would show all of it, or
    none. Each round has a model of its own, so that all rounds go through the same rows.
    """
    models = []
    for _ in range(ROUNDS + 1):
        model = efface(MODELS[point.model][0])(window=point.s, **options(point, intercept))
        models.append(model.fit(X[: point.s], y[: point.s]))
        model.predict_one(X[point.s])  # the first sums, over the whole window
    fresh = iter(models)

    def run() -> None:
        model = next(fresh)
        for t in range(point.s, 2 * point.s):
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
    if point.model == "AutoRidge":
        given["alpha"] = "auto"
    return partial(efface("rolling"), X, y, point.s, min_rows=point.s, **given)


def by_statistics(point: Point, intercept: bool, X: Array, y: Array) -> Callable[[], object]:
    """The same with standard errors, t- and p-values."""
    return partial(by_rolling(point, intercept, X, y), stats=True)


ROUNDS = 3
# Rows of a replay and of rolling regressions; at least two windows, the period of the rare flag:
# else long windows would lack the flag more often than short ones.
REPLAYED = 12_000
STATISTICS = "rolling, statistics"
WAYS: dict[str, Way] = {
    "event": by_event,
    "replay": by_replay,
    "rolling": by_rolling,
    STATISTICS: by_statistics,
}
Costs = dict[str, tuple[float, float]]  # µs per row of each case, and the ratio


def run(settings: Settings) -> Report:
    """Inputs by sizes; then every model, way and size; then the growth with the window."""
    report = Report("cliffs")
    warnings.simplefilter("ignore")  # of features in very different units, which some cases have
    if missing("rolling", "replay", "OLS", "Ridge", "AdaptiveRidge", "AutoRidge"):
        return report
    add_growth(report, settings)
    known = {}
    for d, s in SIZES[:1] if settings.quick else SIZES:
        for way in WAYS:
            known.update(compare(report, [Point(model, way, d, s) for model in models(way)]))
    for way in WAYS if not settings.quick else {}:
        compare(report, [Point(model, way, D, LONG) for model in models(way)], known)
    return report


def models(way: str) -> list[str]:
    """Rolling regressions have no penalty of Lemma 3; statistics are those of least squares."""
    if way == STATISTICS:
        return ["OLS"]
    return [model for model in MODELS if way != "rolling" or model != "AdaptiveRidge"]


def compare(
    report: Report, points: list[Point], known: dict[Point, Costs] | None = None
) -> dict[Point, Costs]:
    """The ratios of all cases, for models that are used in one way at one size.

    With what is ``known`` of short windows, the growth from these as well.
    """
    found = {point: costs(point) for point in points}
    ratios = {point.model: found[point] for point in points}
    _, way, d, s, _ = points[0]
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
        largest = max(ratios[point.model][case][1] for point in points for case in cases)
        what = f"{way}, d={d}, s={s}: {kind}, largest ratio"
        report.goals.append(Goal(what, largest, "at most", limit(way, kind, d)))
    for point in points if known is not None else []:
        grow(report, point, (known or {})[point._replace(s=SHORT)], found[point])
    return found


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


def costs(point: Point) -> Costs:
    """µs per row for each case, and the ratio to Gaussian rows with the same intercept."""
    way, rows = WAYS[point.way], point.s if point.way == "event" else max(REPLAYED, 2 * point.s)
    runs = {}
    for case in (NORMAL, "normal, no intercept", *CASES):
        X, y = hard_stream(case, point.s + rows, point.d, point.s)
        runs[case] = way(point, "no intercept" not in case and case not in WITHOUT_INTERCEPT, X, y)
        runs[case]()  # warm-up
    found = {name: 1e6 * min(t.cpu) / rows for name, t in interleave(runs, ROUNDS).items()}
    base = {
        case: NORMAL if case not in WITHOUT_INTERCEPT else "normal, no intercept" for case in found
    }
    ratios = {case: (cost, cost / found[base[case]]) for case, cost in found.items()}
    return {**ratios, NORMAL: (found[NORMAL], found[NORMAL])}


def grow(report: Report, point: Point, short: Costs, long: Costs) -> None:
    """The largest exponent of the time per row in the length of the window."""
    if "alpha" in MODELS[point.model][1]:
        long = costs(point._replace(alpha=point.alpha * LONG / SHORT))
    steps = math.log(LONG / SHORT)
    slopes = {case: math.log(long[case][0] / short[case][0]) / steps for case in CASES}
    worst = max(slopes, key=slopes.__getitem__)
    what = f"{point.way}, {point.model}: exponent in s, worst ({worst})"
    report.goals.append(Goal(what, slopes[worst], "at most", 0.1))
    report.measurements.append({**point._asdict(), "exponents": slopes})
