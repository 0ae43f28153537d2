"""Random histories of rows with owners and ends: learn, replay, forget, expire, save and load."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

WIDTH = 2
OWNERS = [None, "ann", "bob", 7, "eve"]
ROWS = st.tuples(
    st.sampled_from([0, 0, 1, 1, 2, 5, -1, -4]),  # time since the latest row
    st.sampled_from(OWNERS),
    st.sampled_from([None, None, -1, 0, 1, 2, 6, 20]),  # end, from the time of the row on
    st.sampled_from([1.0, 1.0, 0.0, 0.5, 3.0]),  # weight
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("learn"), ROWS),
        st.tuples(st.just("learn many"), st.lists(ROWS, min_size=1, max_size=6)),
        st.tuples(st.just("replay"), st.lists(ROWS, min_size=1, max_size=6)),
        st.tuples(st.just("forget"), st.lists(st.integers(0, 20), max_size=3)),
        st.tuples(st.just("forget owners"), st.lists(st.sampled_from(OWNERS[1:]), max_size=2)),
        st.tuples(st.just("expire"), st.integers(0, 8)),
        st.tuples(st.just("save"), st.none()),
    ),
    min_size=3,
    max_size=14,
)


class RowSource:
    """Rows of distinct values; their times and ends are those of a history."""

    def __init__(self, *, timed, named):
        self.timed, self.named = timed, named
        self.arrived, self.latest = 0, 0.0
        self.rng = np.random.default_rng(1)

    def row(self, drawn):
        after, owner, end, weight = drawn
        at = max(self.latest + after, 0.0)
        self.latest = max(self.latest, at)
        x = self.rng.normal(size=WIDTH)
        row = {"x": x, "y": float(self.rng.normal()), "weight": weight, "owner": owner}
        row["id"] = f"r{self.arrived}" if self.named else None
        row["at"] = at if self.timed else None
        row["until"] = None if end is None else at + end
        self.arrived += 1
        return row


def columns(rows):
    """Rows as the arguments of ``partial_fit`` and ``replay``."""
    X, y = np.array([row["x"] for row in rows]).reshape(-1, WIDTH), [row["y"] for row in rows]
    keys = {
        "ids": [row["id"] for row in rows],
        "at": [row["at"] for row in rows],
        "owners": [row["owner"] for row in rows],
        "until": [row["until"] for row in rows],
        "sample_weight": [row["weight"] for row in rows],
    }
    without = [name for name in ("ids", "at") if not rows or keys[name][0] is None]
    return X, np.array(y), {**keys, **dict.fromkeys(without)}


def take_step(model, twin, source, step, amount, replay):
    """One step of a history, by a model and its twin; return how many rows were asked to leave."""
    gone = 0
    if step == "learn":
        row = source.row(amount)
        keys = {name: row[name] for name in ("id", "at", "weight", "owner", "until")}
        model.learn_one(row["x"], row["y"], **keys)
        twin.learn(row)
    elif step in ("learn many", "replay"):
        rows = [source.row(drawn) for drawn in amount]
        X, y, keys = columns(rows)
        if step == "replay":
            replay(model, twin, X, y, keys, rows)
        else:
            model.partial_fit(X, y, **keys)
            for row in rows:
                twin.learn(row)
    elif step == "forget":
        ids = [twin.rows[k % len(twin.rows)]["id"] for k in amount] if twin.rows else []
        gone = twin.forget(ids=ids)
        assert model.forget(ids) == gone
    elif step == "forget owners":
        gone = twin.forget(owners=amount)
        assert model.forget(owners=amount, missing="ok") == gone
    elif step == "expire":
        gone = twin.release(source.latest + amount)
        assert model.expire(source.latest + amount) == gone
    return gone
