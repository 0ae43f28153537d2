"""The time until the first answer, each in a new process.

Processes that take about a second run several times, those that compile for many seconds once.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

from benchmarks.report import Goal, Report, Table, figure
from benchmarks.settings import Settings
from benchmarks.subject import missing

STACK = "import numpy, scipy, numba, sklearn.base"
IMPORT = "import efface"
HELP = "import sys; sys.argv[1:] = ['--help']; from efface.cli.main import run; run()"
MODEL = "from efface import OLS"
CLOCK = "from time import perf_counter; start = perf_counter(); "
STOP = "; print(perf_counter() - start)"
ROLLING = (
    "import numpy as np; from efface import rolling; "
    "X = np.random.default_rng(0).standard_normal((300, 5)); "
    f"{CLOCK}rolling(X, X.sum(axis=1), 50, fit_intercept=False){STOP}"
)
EVENTS = (
    "import numpy as np; from efface import {model}; "
    "m = {model}(window=50); X = np.random.default_rng(0).standard_normal(({rows}, 5)); "
    f"{CLOCK}[(m.learn_one(x, float(x.sum())), m.predict_one(x)) for x in X]{STOP}"
)
FITTED = (
    "import numpy as np; from efface import {model}; "
    "X = np.random.default_rng(0).standard_normal((50, 5)); "
    f"{CLOCK}{{model}}(window=50).fit(X, X.sum(axis=1)).predict_one(X[0]){STOP}"
)
REPLAY = (
    "import numpy as np; from efface import AdaptiveRidge, replay; "
    "rng = np.random.default_rng(0); X = rng.standard_normal(({rows}, 5)); "
    f"{CLOCK}replay(AdaptiveRidge(window=50), X, X.sum(axis=1) + rng.standard_normal(len(X))){STOP}"
)
FIRST = {
    "rolling": ROLLING,
    "AutoRidge, learn_one and predict_one": EVENTS.format(model="AutoRidge", rows=1),
    "AutoRidge, fit and predict_one": FITTED.format(model="AutoRidge"),
    "Ridge, learn_one and predict_one": EVENTS.format(model="Ridge", rows=1),
    "Ridge, fit and predict_one": FITTED.format(model="Ridge"),
    "AdaptiveRidge, learn_one and predict_one": EVENTS.format(model="AdaptiveRidge", rows=1),
    "AdaptiveRidge, fit and predict_one": FITTED.format(model="AdaptiveRidge"),
}
# A window with more rows than features uses further kernels, compiled when it is first reached.
ALL = {
    "AutoRidge, 100 events": EVENTS.format(model="AutoRidge", rows=100),
    "Ridge, 100 events": EVENTS.format(model="Ridge", rows=100),
    "AdaptiveRidge, 100 events": EVENTS.format(model="AdaptiveRidge", rows=100),
    "AdaptiveRidge, replay of 500 rows": REPLAY.format(rows=500),
    "AdaptiveRidge, replay of 20,000 rows": REPLAY.format(rows=20_000),
}
PEERS = (
    "import polars_ds",
    "import polars_ols",
    "from statsmodels.regression.rolling import RollingOLS",
    "from river.linear_model import LinearRegression",
)


class ChildError(RuntimeError):
    """The child process failed."""


def run(settings: Settings) -> Report:
    """Imports, then first calls with an empty and a filled cache."""
    report = Report("startup")
    repeats = 1 if settings.quick else 3
    imports(report, repeats)
    first_calls(report, repeats)
    columns = ("what", "median s", "min s", "max s")
    rows = [
        (str(entry["what"]), *(figure(entry[key]) for key in ("median", "min", "max")))
        for entry in report.measurements
    ]
    lacking = missing("OLS", "rolling")
    note = lacking or "Seconds of a whole process with its interpreter, or of the call if named so."
    report.tables.append(Table("Startup, s", columns, rows, note))
    return report


def imports(report: Report, repeats: int) -> None:
    """Import times, with compiled code in the cache."""
    note(report, "python -c pass", [elapsed("pass") for _ in range(repeats)])
    for peer in PEERS:
        note(report, peer, several(peer, repeats))
    stack = note(report, STACK, several(STACK, repeats))
    plain = note(report, IMPORT, several(IMPORT, repeats))
    usage = note(report, "efface --help", several(HELP, repeats))
    model = note(report, MODEL, several(MODEL, repeats))
    above = None if model is None or stack is None else model - stack
    report.goals.append(Goal(IMPORT, plain, "at most", 0.4, " s"))
    report.goals.append(Goal("efface --help", usage, "at most", 0.4, " s"))
    report.goals.append(Goal(f"{MODEL}, above its imports", above, "at most", 0.5, " s"))


def first_calls(report: Report, repeats: int) -> None:
    """A call that compiles into an empty cache, and the same call in the next process."""
    for name, code in (FIRST | ALL).items():
        with tempfile.TemporaryDirectory() as cache:
            cold, call = first_call(code, cache)
            warm = several(code, repeats, warm_up=False, cache=cache)
        note(report, f"{name}: empty cache", cold)
        value = note(report, f"{name}: empty cache, the call", call)
        note(report, f"{name}: next process", warm)
        if name in FIRST:
            report.goals.append(Goal(f"{name}: first call", value, "at most", 10.0, " s"))


def first_call(code: str, cache: str) -> tuple[list[float], list[float]]:
    """Seconds of a process that compiles and of the call in it; empty if it fails."""
    try:
        took, said = timed(code, cache)
    except ChildError:
        return [], []
    return [took], [float(said)]


def several(code: str, repeats: int, warm_up: bool = True, cache: str = "") -> list[float]:
    """Seconds of each repeat; empty if the code fails."""
    try:
        if warm_up:
            elapsed(code, cache)
        return [elapsed(code, cache) for _ in range(repeats)]
    except ChildError:
        return []


def elapsed(code: str, cache: str = "") -> float:
    """Wall seconds of a process that runs `code`."""
    return timed(code, cache)[0]


def timed(code: str, cache: str = "") -> tuple[float, str]:
    """Wall seconds of a process that runs `code`, and its output."""
    environment = {**os.environ, **({"NUMBA_CACHE_DIR": cache} if cache else {})}
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    took = time.perf_counter() - start
    if done.returncode:
        raise ChildError(done.stderr)
    return took, done.stdout


def note(report: Report, what: str, times: list[float]) -> float | None:
    """Record the repeats and return their median."""
    median = statistics.median(times) if times else None
    extremes = (min(times), max(times)) if times else (None, None)
    entry = {"what": what, "median": median, "min": extremes[0], "max": extremes[1]}
    report.measurements.append(entry)
    return median
