"""Replays: predict, then learn, row by row, with the live rows as they are at each row.

Rows that come in order of time are replayed by compiled code; a late row by a copy of the solver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from efface.live.arrivals import Arrivals
from efface.live.batches import LONG, SlidingReplay
from efface.live.live_rows import LiveRows, Vector, Window, Windows
from efface.live.policies import Schedule
from efface.live.trace import Asked, Gauges, Trace, joined

Widths = Callable[[Gauges, LiveRows, Windows], Vector]


def replay_rows(
    live: LiveRows, new: Arrivals, *, coef: bool, diagnostics: bool, widths: Widths | None = None
) -> Trace:
    """Predict, then learn, row by row; rows that are too old or due by then leave first.

    ``widths`` says how far to each side of a prediction an interval reaches.
    """
    asked = Asked(coef, diagnostics, widths is not None)
    return joined([_replay_run(live, *run, asked, widths) for run in live.runs(new)])


def _replay_run(
    live: LiveRows, new: Arrivals, plan: Schedule | None, asked: Asked, widths: Widths | None
) -> Trace:
    """Replay one of the runs, with intervals if there are widths."""
    past = live.values() if widths else None
    trace = (
        _replay_late(live, new, asked) if plan is None else _replay_in_order(live, new, plan, asked)
    )
    if widths is not None and past is not None and trace.gauges is not None:
        half = widths(trace.gauges, live, _windows(trace, past, new))
        lower, upper = trace.prediction - half, trace.prediction + half
        trace = trace._replace(lower=lower, upper=upper, gauges=None)
    return trace


def _replay_in_order(live: LiveRows, new: Arrivals, plan: Schedule, asked: Asked) -> Trace:
    """Replay rows that come in order of time; a long stream in batches of windows."""
    live.replayed += len(new)
    live.solver.use_walls(None)  # the index follows at the end: until then rows have no ids
    rows = new.X, new.y, plan.before, plan.after, new.weights
    replay = SlidingReplay(live.solver, asked)
    trace = replay.batched(*rows) if live.replayed >= LONG else replay.one_by_one(*rows)
    live.settle(new, plan)
    live.solver.use_walls(live.index.walls)
    return trace


def _replay_late(live: LiveRows, new: Arrivals, asked: Asked) -> Trace:
    """Replay a single row at its place in time, by a copy of the solver."""
    solver, none = live.twin(), np.zeros(1, dtype=np.int64)
    trace = solver.replay(new.X, new.y, none, none, asked, new.weights)
    solver.drop(solver.rows.n_rows)
    live.learn_single(new)
    return trace


def _windows(trace: Trace, past: Window, new: Arrivals) -> Iterator[Window]:
    """The rows that were alive at each row of a run; ``past`` are those before it."""
    pairs = zip(past, (new.X, new.y, new.weights), strict=True)
    X, y, weights = (np.concatenate(pair) for pair in pairs)
    for t, n in enumerate(trace.n_rows.tolist(), len(past[1])):
        yield X[t - n : t], y[t - n : t], weights[t - n : t]
