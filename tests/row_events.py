"""Random events of live rows: arrivals, deletions and rebuilds, and rows for them."""

import numpy as np
from hypothesis import strategies as st


def rows_of(kind, n, d, rng):
    X = rng.normal(size=(n, d))
    if kind == "scaled":
        X *= np.geomspace(1e-4, 1e4, d)
    if kind == "tiny":
        X *= 1e-8
    if kind == "huge":
        X *= 1e8
    if kind == "duplicated":
        X = X[rng.integers(0, max(1, n // 5), size=n)]
    if kind == "correlated":
        X = X @ (np.linalg.qr(rng.normal(size=(d, d)))[0] * np.geomspace(1, 1e-4, d))
    if kind == "shifted":
        X += 1e6 * rng.normal(size=d)
    return X, X @ rng.normal(size=d) / np.abs(X).max() + rng.normal(size=n)


def event_lists(kinds, most):
    """Events of a solver: learn (l), extend (e), drop (d), remove (r), rebuild (b)."""
    return st.lists(st.tuples(st.sampled_from(kinds), st.integers(0, 10**6)), max_size=most)


def run_events(solver, events, X, y, check):
    """Run events; after some of them ``check`` the solver against the live rows."""
    live, arrived = [], 0
    for name, number in events:
        if name == "l":
            position = len(live) if number % 3 else number % (len(live) + 1)
            solver.insert(position, X[arrived], y[arrived])
            live.insert(position, arrived)
            arrived += 1
        elif name == "e":
            count = number % 4
            solver.extend(X[arrived : arrived + count], y[arrived : arrived + count])
            live += range(arrived, arrived + count)
            arrived += count
        elif name == "d" and live:
            count = number % len(live) + 1
            solver.drop(count)
            del live[:count]
        elif name == "r" and live:
            gone = np.unique(np.array([number, number // 7, number // 31]) % len(live))
            solver.remove(gone)
            live = [row for i, row in enumerate(live) if i not in gone]
        elif name == "b":
            solver.rebuild()
        if number % 2:
            check(solver, X[live].reshape(-1, X.shape[1]), y[live])
