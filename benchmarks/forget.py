"""Forget one row from anywhere, then predict; an owner with many rows; many rows; an audit."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge as SklearnRidge

from benchmarks.growth import exponent
from benchmarks.report import Goal, Report, Table, error_figure, figure
from benchmarks.settings import Settings
from benchmarks.subject import efface, missing
from benchmarks.timing import Timing, busy_notes, interleave
from benchmarks.workloads import gaussian

ALPHA = 1.0
# (rows, features): at least so many times as fast as a NumPy refit
GOALS = {(10_000, 10): 12.0, (100_000, 10): 60.0, (1_000_000, 10): 300.0, (100_000, 100): 100.0}
SIZES = (10_000, 100_000, 1_000_000, 5_000_000)  # for the exponent
IN_ROWS = 0.25
OWNED, OWNER_LIMIT = 100, 5.0  # rows of one owner among 1e6; milliseconds
SCATTERED, SCATTERED_LIMIT = 10_000, 3.0  # rows at once; times a NumPy refit
MEMORY_LIMIT = 0.35  # of the bytes of the rows
AUDITED, AUDIT_LIMIT = 20, 1.5  # features; seconds for 1e6 rows
REPEATS = 200  # rows forgotten one by one per round
REPEATED_ROWS = 1_000_000  # rows of the refits of a round
Forget = Callable[[int], float]


def run(settings: Settings) -> Report:
    """One row, one owner, many rows, and an audit of many rows."""
    report = Report("forget")
    lacking = missing("Ridge")
    if lacking:
        report.tables.append(Table("Forget", ("contender",), [], lacking))
        return report
    quick = settings.quick
    times = {}
    for size in dict.fromkeys([*GOALS, *((n, 10) for n in SIZES)]):
        if not quick or size[0] <= 100_000:
            times[size] = one_row(report, *size, settings)
    growth(report, {n: took for (n, d), took in times.items() if d == 10})
    many_rows(report, 100_000 if quick else 1_000_000, settings)
    audit_rows(report, 100_000 if quick else 1_000_000, settings)
    return report


# -- one row -------------------------------------------------------------------------------------


def one_row(report: Report, n: int, d: int, settings: Settings) -> float:
    """Forget one random row and predict; µs of efface."""
    X, y = gaussian(n, d)
    order = np.random.default_rng(1).permutation(n).tolist()
    contenders = {name: make(X, y) for name, make in CONTENDERS.items()}
    again = max(1, REPEATED_ROWS // n)  # a single refit of few rows would find cold caches
    repeats = {name: REPEATS if name in FAST else again for name in contenders}
    turns = {name: iter(order) for name in contenders}

    def turn(name: str) -> None:
        forget = contenders[name]
        for row in itertools.islice(turns[name], repeats[name]):
            forget(row)

    for name in contenders:
        turn(name)  # warm-up; efface builds its tree
    rounds = min(settings.rounds, 5) if n > 1_000_000 else settings.rounds
    timings = interleave({name: partial(turn, name) for name in contenders}, rounds)
    micros = {name: 1e6 * timings[name].median / repeats[name] for name in contenders}
    errors = final_errors(X, y, order, repeats, rounds, contenders)
    add_table(report, n, d, micros, errors, timings)
    return micros["efface"]


def efface_forget(X: np.ndarray, y: np.ndarray) -> Forget:
    """The public API: forget by id, then predict."""
    model = efface("Ridge")(alpha=ALPHA, fit_intercept=False).fit(X, y)
    x = X[0].copy()

    def forget(row: int) -> float:
        model.forget(row)
        return float(model.predict_one(x))

    return forget


def numpy_refit(X: np.ndarray, y: np.ndarray) -> Forget:
    """X'X and a solve; the row is overwritten with zeros, which costs no copy."""
    X, y, x = X.copy(), y.copy(), X[0].copy()
    identity = ALPHA * np.eye(X.shape[1])

    def forget(row: int) -> float:
        X[row], y[row] = 0.0, 0.0
        return float(x @ np.linalg.solve(X.T @ X + identity, X.T @ y))

    return forget


def sklearn_refit(X: np.ndarray, y: np.ndarray) -> Forget:
    """scikit-learn's Ridge, fitted anew."""
    X, y, x = X.copy(), y.copy(), X[:1].copy()

    def forget(row: int) -> float:
        X[row], y[row] = 0.0, 0.0
        model = SklearnRidge(alpha=ALPHA, fit_intercept=False, solver="cholesky").fit(X, y)
        return float(model.predict(x)[0])

    return forget


def downdate(X: np.ndarray, y: np.ndarray) -> Forget:
    """Sherman-Morrison: subtract the row from the inverse. Rounding errors stay for ever."""
    inverse = np.linalg.inv(X.T @ X + ALPHA * np.eye(X.shape[1]))
    moment, x = X.T @ y, X[0].copy()

    def forget(row: int) -> float:
        nonlocal inverse, moment
        image = inverse @ X[row]
        inverse = inverse + np.outer(image, image) / (1.0 - X[row] @ image)
        moment = moment - y[row] * X[row]
        return float(x @ (inverse @ moment))

    return forget


CONTENDERS: dict[str, Callable[[np.ndarray, np.ndarray], Forget]] = {
    "efface": efface_forget,
    "NumPy refit": numpy_refit,
    "scikit-learn refit": sklearn_refit,
    "Sherman-Morrison (inexact)": downdate,
}
FAST = ("efface", "Sherman-Morrison (inexact)")


def final_errors(
    X: np.ndarray,
    y: np.ndarray,
    order: list[int],
    repeats: dict[str, int],
    rounds: int,
    contenders: dict[str, Forget],
) -> dict[str, float]:
    """The relative error of one more prediction, against a QR factorisation of what is left."""
    errors = {}
    for name, forget in contenders.items():
        count = repeats[name] * (rounds + 1) + 1
        found = forget(order[count - 1])
        kept = np.setdiff1d(np.arange(len(y)), order[:count])
        rows = np.vstack([X[kept], np.sqrt(ALPHA) * np.eye(X.shape[1])])
        q, r = np.linalg.qr(rows)
        exact = X[0] @ np.linalg.solve(r, q.T @ np.append(y[kept], np.zeros(X.shape[1])))
        errors[name] = abs(found - exact) / abs(exact)
    return errors


def add_table(
    report: Report,
    n: int,
    d: int,
    micros: dict[str, float],
    errors: dict[str, float],
    timings: dict[str, Timing],
) -> None:
    """The table, the goal and the measurements of one size."""
    refit = micros["NumPy refit"]
    rows = [
        (name, figure(took), figure(refit / took), error_figure(errors[name]))
        for name, took in micros.items()
    ]
    title = f"Forget one random row of {n:,} with {d} features, then predict"
    columns = ("contender", "median µs", "times as fast as a NumPy refit", "rel err")
    notes = "; ".join(busy_notes(timings.values()))
    report.tables.append(Table(title, columns, rows, notes))
    report.measurements.append({"n": n, "d": d, "us": micros, "errors": errors})
    if (n, d) in GOALS:
        name = f"n={n:,}, d={d}: NumPy refit / efface"
        report.goals.append(Goal(name, refit / micros["efface"], "at least", GOALS[n, d], "x"))


def growth(report: Report, micros: dict[int, float]) -> None:
    """The exponent of the time in the number of rows."""
    sizes = sorted(micros)
    slope = exponent(sizes, [micros[n] for n in sizes])
    name = f"exponent in n from {sizes[0]:,} to {sizes[-1]:,}"
    report.goals.append(Goal(name, slope, "at most", IN_ROWS))


# -- many rows -----------------------------------------------------------------------------------


def many_rows(report: Report, n: int, settings: Settings) -> None:
    """An owner with some rows, and many rows at once, each followed by a prediction."""
    X, y = gaussian(n, 10)
    people = np.random.default_rng(2).integers(0, n // OWNED, size=n)
    ridge = efface("Ridge")(alpha=ALPHA, fit_intercept=False)
    model = ridge.fit(X, y, owners=people)
    x, refit = X[0].copy(), numpy_refit(X, y)
    owners, batches = iter(range(1, n // OWNED)), scattered(n, people, settings.rounds + 1)

    def forget_owner() -> None:
        model.forget(owner=next(owners))
        model.predict_one(x)

    def forget_batch() -> None:
        model.forget(next(batches), missing="ok")
        model.predict_one(x)

    runs = {"one owner": forget_owner, "many rows": forget_batch, "refit": partial(refit, 0)}
    for each in runs.values():
        each()  # warm-up
    timings = interleave(runs, settings.rounds)
    took = {name: 1e3 * timing.median for name, timing in timings.items()}
    share = memory_share(model, n)
    rows = [
        (f"forget an owner with about {OWNED} rows, predict", figure(took["one owner"])),
        (f"forget {SCATTERED:,} scattered rows, predict", figure(took["many rows"])),
        ("NumPy refit", figure(took["refit"])),
    ]
    title = f"Forget many of {n:,} rows with 10 features"
    note = f"sums beside the rows: {share:.1%} of their bytes"
    report.tables.append(Table(title, ("what", "median ms"), rows, note))
    report.measurements.append({"n": n, "ms": took, "memory": share})
    limit = OWNER_LIMIT
    report.goals += [
        Goal(f"an owner with {OWNED} rows of {n:,}", took["one owner"], "at most", limit, " ms"),
        Goal(
            f"{SCATTERED:,} rows of {n:,} / NumPy refit",
            took["many rows"] / took["refit"],
            "at most",
            SCATTERED_LIMIT,
            "x",
        ),
        Goal("bytes of the sums / bytes of the rows", share, "at most", MEMORY_LIMIT),
    ]


def audit_rows(report: Report, n: int, settings: Settings) -> None:
    """An audit of all rows after some were forgotten."""
    X, y = gaussian(n, AUDITED)
    model = efface("Ridge")(alpha=ALPHA).fit(X, y)
    gone = list(range(5, n, n // 10))
    model.forget(gone)
    verdicts = []

    def audit() -> None:
        verdicts.append(efface("audit")(model, forgotten=gone).holds)

    audit()  # warm-up
    took = interleave({"audit": audit}, min(settings.rounds, 5))["audit"].median
    title = f"Audit {n:,} rows with {AUDITED} features"
    columns = ("what", "median s", "holds")
    report.tables.append(Table(title, columns, [("audit", figure(took), str(all(verdicts)))]))
    report.measurements.append({"n": n, "audit s": took})
    report.goals.append(Goal(f"audit of {n:,} rows", took, "at most", AUDIT_LIMIT, " s"))


def scattered(n: int, people: np.ndarray, batches: int) -> Iterator[list[int]]:
    """Ids of rows of random people, batch by batch; no person of the other run."""
    order = np.random.default_rng(3).permutation(n)
    order = order[people[order] > n // OWNED // 2]
    for k in range(batches):
        yield order[k * SCATTERED : (k + 1) * SCATTERED].tolist()


def memory_share(model: Any, n: int) -> float:
    """The bytes of the tree of sums, relative to those of the rows."""
    tree = model._live.solver._tree
    return float(tree.store.nbytes) / (n * (model.n_features_in_ + 3) * 8)
