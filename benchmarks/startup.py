"""The time until the first answer, each in a new process.

Each call is made twice in a process: the first may take hardly longer than the second.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from benchmarks.report import Goal, Report, Table, figure
from benchmarks.settings import Settings
from benchmarks.subject import missing

STACK = "import numpy, scipy, sklearn.base"
IMPORT = "import efface"
HELP = "import sys; sys.argv[1:] = ['--help']; from efface.cli.main import run; run()"
MODEL = "from efface import OLS"
TWICE = (
    "from time import perf_counter; import numpy as np; from efface import *; "
    "from efface import tune\n"
    "rng = np.random.default_rng(0); X = rng.standard_normal((500, 5))\n"
    "y = X.sum(axis=1) + rng.standard_normal(500)\n"
    "def events(model):\n"
    "    for x in X[:100]: model.learn_one(x, float(x.sum())); model.predict_one(x)\n"
    "for _ in range(2):\n"
    "    start = perf_counter(); {call}; print(perf_counter() - start)"
)
CALLS = {
    "rolling": "rolling(X, y, 50)",
    "AutoRidge, replay": "replay(AutoRidge(window=50), X, y)",
    "AutoRidge, fit and predict_one": "AutoRidge(window=50).fit(X, y).predict_one(X[0])",
    "Ridge, fit and predict_one": "Ridge(window=50).fit(X, y).predict_one(X[0])",
    "AdaptiveRidge, 100 events": "events(AdaptiveRidge(window=50))",
    "tune": "tune(X, y, windows=[50, 100])",
}
LATER = 0.1  # seconds by which the first call may exceed the second
PEERS = (
    "import polars_ds",
    "import polars_ols",
    "from statsmodels.regression.rolling import RollingOLS",
    "from river.linear_model import LinearRegression",
)


class ChildError(RuntimeError):
    """The child process failed."""


def run(settings: Settings) -> Report:
    """Imports, then first and second calls."""
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
    """Import times."""
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
    """The first call in a process, and the second."""
    for name, call in CALLS.items():
        pairs = [twice(call) for _ in range(repeats)]
        first = note(report, f"{name}: first call", [a for a, _ in pairs])
        second = note(report, f"{name}: second call", [b for _, b in pairs])
        above = None if first is None or second is None else first - second
        report.goals.append(Goal(f"{name}: first call over second", above, "at most", LATER, " s"))


def twice(call: str) -> tuple[float, float]:
    """Seconds of a call in a new process, and of the same call again."""
    first, second = timed(TWICE.format(call=call))[1].split()
    return float(first), float(second)


def several(code: str, repeats: int) -> list[float]:
    """Seconds of each repeat; empty if the code fails."""
    try:
        elapsed(code)
        return [elapsed(code) for _ in range(repeats)]
    except ChildError:
        return []


def elapsed(code: str) -> float:
    """Wall seconds of a process that runs `code`."""
    return timed(code)[0]


def timed(code: str) -> tuple[float, str]:
    """Wall seconds of a process that runs `code`, and its output."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
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
