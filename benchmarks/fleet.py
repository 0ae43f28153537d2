"""One model per key: a million keys in memory, replays of many keys, and files with groups."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.memory import status
from benchmarks.report import Goal, Report, Table, figure
from benchmarks.settings import Settings
from benchmarks.timing import busy_notes, interleave

FEATURES, WINDOW, ALPHA = 5, 20, 1.0
KEYS, HELD_KEYS, LENGTH = 20_000, 1_000_000, 100  # keys replayed; keys held; rows per key replayed
SAMPLE = 400  # keys of the contenders that go key by key
LARGE = 10_000_000  # rows of one model
LARGE_KEYS = (1_000, 10_000, 100_000, 1_000_000)  # rows of one key
ROW_BYTES = 8 * (FEATURES + 4)  # features, response, weight, id, time
MODELS = ("ridge", "adaptive", "auto")
Array = NDArray[Any]
REPLAY_NOTE = (
    f"Ridge, d = {FEATURES}, window {WINDOW}, {LENGTH} rows per key in turn, one thread; µs of "
    f"processor time per row, least of the rounds. The dicts of models go through {SAMPLE} keys."
)
PEER_NOTE = (
    f"Least squares without an intercept, d = {FEATURES}, window {WINDOW}, {LENGTH} rows per key: "
    "the coefficients of every full window, one thread. statsmodels goes through fewer keys. The "
    "last column is the largest difference from efface, over the keys that both did."
)
MEMORY_NOTE = (
    f"Int keys, {WINDOW} rows each with an id and a time, learned in 20 calls. The rows are "
    f"{ROW_BYTES} bytes each: features, response, weight, id, time. Resident: of the process, "
    "above the value before. Predict: one row per key."
)
LARGE_NOTE = (
    "Ridge with an intercept, d = 5; `learn_one` and `predict_one` while the window slides."
)
LARGE_KEY_NOTE = (
    "Ridge with an intercept, d = 5, one key; milliseconds per call with one row, least of 6. The "
    "last columns: `fleet[key]`, a model of its own."
)
FILE_NOTE = (
    f"CSV, d = {FEATURES}, window {WINDOW}, diagnostics and 95 % intervals at every row, Parquet "
    "output, kernels compiled beforehand; each run in a process of its own. Rows per second of "
    "processor time of the whole command."
)


def run(settings: Settings) -> Report:
    """All parts; quick runs have a tenth of the keys."""
    report, part = Report("fleet"), 10 if settings.quick else 1
    _replays(report, KEYS // part, 2 if settings.quick else 5)
    _peers(report, KEYS // part, 2 if settings.quick else 3)
    _memory(report, HELD_KEYS // part)
    _large(report, LARGE // part)
    _large_keys(report, LARGE_KEYS[:-1] if settings.quick else LARGE_KEYS)
    _files(report, KEYS // part)
    return report


def stream(keys: int, length: int = LENGTH) -> tuple[Array, Array, Array]:
    """Keys, features and responses: every key once, then every key again, and so on."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(keys * length, FEATURES))
    y = X @ rng.normal(size=FEATURES) + rng.normal(size=len(X))
    return np.tile(np.arange(keys), length), X, y


def probe(*arguments: object) -> dict[str, Any]:
    """Run `child` in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.fleet", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


# -- replays -------------------------------------------------------------------------------------


def _replays(report: Report, count: int, rounds: int) -> None:
    from efface import Fleet, Ridge, replay

    keys, X, y = stream(count)
    few = np.flatnonzero(keys < SAMPLE)
    by_key = [np.flatnonzero(keys == key) for key in range(SAMPLE)]

    def make() -> Ridge:
        return Ridge(WINDOW, alpha=ALPHA)

    def fleet() -> Array:
        prediction: Array = Fleet(make(), threads=1).replay(keys, X, y).prediction
        return prediction

    def row_by_row() -> Array:
        models: dict[int, Ridge] = {}
        found = np.zeros(few.size)
        for place, row in enumerate(few.tolist()):
            model = models.get(key := int(keys[row]))
            if model is None:
                model = models[key] = make()
            else:
                found[place] = model.predict_one(X[row])
            model.learn_one(X[row], float(y[row]))
        return found

    def key_by_key() -> list[Array]:
        return [replay(make(), X[rows], y[rows]).prediction for rows in by_key]

    apart = float(np.abs(fleet()[few] - row_by_row()).max())
    key_by_key()
    runs: dict[str, Callable[[], object]] = {
        "Fleet.replay": fleet,
        "dict of models, row by row": row_by_row,
        "dict of models, replay of each key": key_by_key,
    }
    timings = interleave(runs, rounds)
    rows = dict(zip(runs, (len(y), few.size, few.size), strict=True))
    costs = {name: 1e6 * min(timing.cpu) / rows[name] for name, timing in timings.items()}
    ours, dicts, replays = costs.values()
    report.measurements.append({"part": "replay", "keys": count, "apart": apart, **costs})
    lines = [(name, figure(cost), f"{1e6 / cost:,.0f}") for name, cost in costs.items()]
    notes = [REPLAY_NOTE, *busy_notes(timings.values())]
    columns = ("contender", "µs per row", "rows/s")
    title = f"Replay of {count:,} keys"
    report.tables.append(Table(title, columns, lines, " ".join(notes)))
    report.goals += [
        Goal("rows per second of Fleet.replay on one core", 1e6 / ours, "at least", 500_000),
        Goal("the dict of models, row by row, over the fleet", dicts / ours, "at least", 20),
        Goal("the replay of each key over the fleet", replays / ours, "at least", 1),
        Goal("largest difference of predictions", apart, "at most", 1e-9),
    ]


def _peers(report: Report, count: int, rounds: int) -> None:
    from efface import rolling

    keys, X, y = stream(count)
    few = np.flatnonzero(keys < SAMPLE)

    def ours() -> Array:
        options: Any = {"alpha": 0.0, "fit_intercept": False, "threads": 1, "outputs": "coef"}
        coef: Array = rolling(X, y, WINDOW, groups=keys, **options).coef
        return coef

    runs = {"efface rolling(groups=)": ours, **_contenders(keys, X, y, few)}
    answers = {name: np.asarray(call()) for name, call in runs.items()}
    timings = interleave(runs, rounds)
    rows = {name: len(answers[name]) for name in runs}
    costs = {name: 1e6 * min(timing.cpu) / rows[name] for name, timing in timings.items()}
    right = answers.pop("efface rolling(groups=)")
    apart = {name: _apart(found, right, few) for name, found in answers.items()}
    report.measurements.append({"part": "peers", "keys": count, **costs, "apart": apart})
    first, *others = costs.values()
    lines = [
        (name, figure(cost), figure(cost / first), figure(apart.get(name, 0.0)))
        for name, cost in costs.items()
    ]
    columns = ("contender", "µs per row", "over efface", "apart")
    notes = " ".join([PEER_NOTE, *busy_notes(timings.values())])
    report.tables.append(Table(f"Rolling regressions of {count:,} keys", columns, lines, notes))
    report.goals.append(Goal("the fastest peer over efface", min(others) / first, "at least", 1))


def _contenders(keys: Array, X: Array, y: Array, few: Array) -> dict[str, Callable[[], Array]]:
    import polars as pl
    import polars_ols as po
    from statsmodels.regression.rolling import RollingOLS

    names = [f"x{j}" for j in range(FEATURES)]
    frame = pl.DataFrame({"key": keys, "y": y, **{n: X[:, j] for j, n in enumerate(names)}})
    options = po.RollingKwargs(window_size=WINDOW, min_periods=WINDOW, null_policy="ignore")
    fit = po.compute_rolling_least_squares(
        pl.col("y"), *map(pl.col, names), mode="coefficients", rolling_kwargs=options
    )

    def polars_ols() -> Array:
        found = frame.select(fit.over("key").alias("fit"))
        return np.asarray(found["fit"].struct.unnest())

    def statsmodels() -> Array:
        found = np.full((few.size, FEATURES), np.nan)
        for key in range(SAMPLE):
            mine = np.flatnonzero(keys[few] == key)
            model = RollingOLS(y[few[mine]], X[few[mine]], window=WINDOW)
            found[mine] = model.fit(params_only=True).params
        return found

    return {"polars-ols .over(key)": polars_ols, "statsmodels per key": statsmodels}


def _apart(found: Array, right: Array, few: Array) -> float:
    """The largest difference of coefficients where both have them."""
    expected = right if len(found) == len(right) else right[few]
    return float(np.nanmax(np.abs(found - expected)))


# -- memory --------------------------------------------------------------------------------------


def _memory(report: Report, keys: int) -> None:
    entry = probe("hold", keys)
    report.measurements.append({"part": "memory", "keys": keys, **entry})
    limit = 2 * ROW_BYTES * WINDOW + 150
    line = (
        f"{keys:,}",
        f"{ROW_BYTES * WINDOW:,}",
        *(f"{entry[name] / keys:,.0f}" for name in ("arrays", "resident")),
        *(figure(entry[name]) for name in ("learn", "predict", "forget")),
        figure(1e3 * entry["owner"]),
    )
    columns = (
        *("keys", "row bytes per key", "arrays per key", "resident per key"),
        *("learn, s", "predict, s", "forget 1,000 ids, s", "forget an owner, ms"),
    )
    report.tables.append(Table("Models in one process", columns, [line], MEMORY_NOTE))
    report.goals.append(Goal("resident bytes per key", entry["resident"] / keys, "at most", limit))


def hold(keys: int) -> dict[str, Any]:
    """Learn the rows of many keys, then ask."""
    from efface import Fleet, Ridge

    rng = np.random.default_rng(3)
    names, found = np.arange(keys), {}
    fleet = Fleet(Ridge(WINDOW, alpha=ALPHA), threads=1)
    fleet.replay([0, 0], np.ones((2, FEATURES)), [1.0, 2.0], at=[0.0, 0.0], ids=[0, 1])
    fleet.forget([0, 1])
    before = status("VmRSS")
    start = time.process_time()
    for turn in range(WINDOW):
        X = rng.normal(size=(keys, FEATURES))
        fleet.learn(names, X, X[:, 0], at=np.full(keys, float(turn)), ids=turn * keys + names)
    found["learn"] = time.process_time() - start
    del X
    found |= {"resident": status("VmRSS") - before, "arrays": fleet.nbytes}
    X = rng.normal(size=(keys, FEATURES))
    found["predict"] = _seconds(lambda: fleet.predict(names, X))
    found["forget"] = _seconds(lambda: fleet.forget(range(0, keys, keys // 1_000)))
    fleet.learn([0, 1, 2], X[:3], X[:3, 0], at=99.0, owners=["ann"] * 3)
    found["owner"] = _seconds(lambda: fleet.forget(owner="ann"))
    return found


def _seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def _large(report: Report, rows: int) -> None:
    entry = probe("large", rows)
    report.measurements.append({"part": "large", "rows": rows, **entry})
    line = (
        f"{rows:,}",
        f"{ROW_BYTES:,}",
        f"{entry['resident'] / rows:,.0f}",
        *(figure(entry[name]) for name in ("fit", "predict")),
        *(figure(1e6 * entry[name]) for name in ("event", "forget")),
    )
    columns = (
        *("rows", "row bytes", "resident per row", "fit, s", "first predict, s"),
        *("event, µs", "forget + predict, µs"),
    )
    report.tables.append(Table("One model with a large window", columns, [line], LARGE_NOTE))


def large(rows: int) -> dict[str, Any]:
    """One model with a window of many rows."""
    from efface import Ridge

    rng = np.random.default_rng(5)
    warm = Ridge(5_000, alpha=ALPHA).fit(rng.normal(size=(6_000, FEATURES)), np.arange(6_000.0))
    warm.predict_one(np.ones(FEATURES))
    warm.learn_one(np.ones(FEATURES), 1.0)
    warm.forget(warm.ids_[7])
    warm.predict_one(np.ones(FEATURES))
    X = rng.normal(size=(rows + 2_000, FEATURES))
    y = X @ np.ones(FEATURES)
    before, model = status("VmRSS"), Ridge(rows, alpha=ALPHA)
    found = {"fit": _seconds(lambda: model.fit(X[:rows], y[:rows]))}
    found["predict"] = _seconds(lambda: model.predict_one(X[0]))

    def events() -> None:
        for row in range(rows, rows + 1_000):
            model.predict_one(X[row])
            model.learn_one(X[row], float(y[row]))

    events()
    found["event"] = _seconds(events) / 1_000

    def forget() -> None:
        for place in range(100):
            model.forget(rows // 2 + place * 37)
            model.predict_one(X[0])

    model.forget(rows // 2 - 1)
    model.predict_one(X[0])
    found["forget"] = _seconds(forget) / 100
    found["resident"] = status("VmRSS") - before  # with the sums that forgetting needs
    return found


def _large_keys(report: Report, sizes: Sequence[int]) -> None:
    """Where a fleet ends: a key with many rows is solved anew in each call."""
    lines = []
    for rows in sizes:
        entry = probe("large_key", rows)
        report.measurements.append({"part": "large key", "rows": rows, **entry})
        lines.append((f"{rows:,}", *(figure(1e3 * seconds) for seconds in entry.values())))
    columns = ("rows", "learn", "forget", "predict", "model: event", "model: forget + predict")
    report.tables.append(Table("A key with many rows", columns, lines, LARGE_KEY_NOTE))


def large_key(rows: int) -> dict[str, Any]:
    """One key with many rows in a fleet, and the same as a model."""
    from efface import Fleet, Ridge

    rng = np.random.default_rng(6)
    X = rng.normal(size=(rows + 10, FEATURES))
    y, fleet = X @ np.ones(FEATURES), Fleet(Ridge(alpha=ALPHA), threads=1)
    fleet.learn(np.zeros(rows, int), X[:rows], y[:rows])
    model = fleet[0]

    def event(turn: int) -> None:
        model.predict_one(X[rows + turn])
        model.learn_one(X[rows + turn], float(y[rows + turn]))

    def forget(turn: int) -> None:
        model.forget(rows // 2 + 7 * turn)
        model.predict_one(X[0])

    calls: dict[str, Callable[[int], object]] = {
        "learn": lambda turn: fleet.learn(
            [0], X[rows + turn, np.newaxis], y[rows + turn, np.newaxis]
        ),
        "forget": lambda turn: fleet.forget(rows // 2 + 7 * turn),
        "predict": lambda turn: fleet.predict([0], X[:1]),
        "event": event,
        "model_forget": forget,
    }
    return {
        name: min(_seconds(lambda turn=turn, call=call: call(turn)) for turn in range(6))
        for name, call in calls.items()
    }


# -- files ---------------------------------------------------------------------------------------


def _files(report: Report, keys: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "rows.csv"
        write(path, keys)
        entries = {
            (model, grouped): probe("file", path, model, int(grouped))
            for model in MODELS
            for grouped in (False, True)
        }
    lines, rows = [], keys * LENGTH
    for (model, grouped), entry in entries.items():
        report.measurements.append({"part": "file", "model": model, "grouped": grouped, **entry})
        speed, peak = f"{rows / entry['cpu']:,.0f}", figure(entry["peak"] / 1e6)
        lines.append((model, f"{keys:,}" if grouped else "none", f"{rows:,}", speed, peak))
    columns = ("--model", "groups", "rows", "rows/s", "peak MB")
    report.tables.append(Table("efface replay --group", columns, lines, FILE_NOTE))
    for model in MODELS:
        one, many = entries[model, False], entries[model, True]
        speed, memory = rows / many["cpu"], many["peak"] / one["peak"]
        report.goals += [
            Goal(f"rows/s of --model {model} with groups", speed, "at least", 40_000),
            Goal(f"peak memory of {model}, with groups over without", memory, "at most", 2),
        ]


def write(path: Path, keys: int) -> None:
    """A stream of rows with a column of groups, as CSV."""
    import pyarrow as pa
    import pyarrow.csv

    numbers, X, y = stream(keys)
    columns = {f"x{j}": X[:, j].round(6) for j in range(FEATURES)}
    groups = pa.array([f"k{number}" for number in numbers.tolist()])
    pyarrow.csv.write_csv(pa.table({**columns, "g": groups, "y": y.round(6)}), str(path))


def file(path: str, model: str, grouped: str) -> dict[str, Any]:
    """Run the job once on a few rows, which compiles, then on the file."""
    from efface.files.job import Job
    from efface.files.job import run as run_job
    from efface.files.schema import RequestedColumns

    features = [f"x{j}" for j in range(FEATURES)]
    roles = RequestedColumns("y", features=features, group="g" if int(grouped) else None)
    with tempfile.TemporaryDirectory() as place:
        short = Path(place) / "short.csv"
        with open(path, encoding="utf-8") as lines:
            short.write_text("".join(line for line, _ in zip(lines, range(3_000), strict=False)))
        run_job(Job(str(short), roles, model=model, window=WINDOW), Path(place) / "short")
        start = time.process_time()
        run_job(Job(path, roles, model=model, window=WINDOW), Path(place) / "out")
        cpu = time.process_time() - start
    return {"cpu": cpu, "peak": status("VmHWM")}


def child(part: str, arguments: Sequence[str]) -> dict[str, Any]:
    """One part, in this process."""
    if part == "file":
        path, model, grouped = arguments
        return file(path, model, grouped)
    return {"hold": hold, "large": large, "large_key": large_key}[part](int(arguments[0]))


if __name__ == "__main__":
    print(json.dumps(child(sys.argv[1], sys.argv[2:])))
