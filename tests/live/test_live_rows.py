"""Live rows under a policy: order, expiry, and batches that equal their rows one by one."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import regression as naive

from efface.errors import BadTime, RepeatedId, UnknownId
from efface.live.live_rows import LiveRows
from efface.live.penalties import Fixed
from efface.live.policies import FIFD, AddDrop, KeepAll, KeepFor
from efface.live.replays import replay_rows

POLICIES = {
    "rows": (FIFD(4), ("rows", 4)),
    "age": (KeepFor(6), ("age", 6)),
    "add": (AddDrop(3, 1), ("add", 3, 1, 0)),
    "add after a start": (AddDrop(2, 2, start=5), ("add", 2, 2, 5)),
    "all": (KeepAll(), ("all",)),
    "calendar age": (KeepFor("6s"), ("age", 6)),
}
START = datetime(2024, 5, 1)
OLS = ("OLS", {})


def live_rows(policy, width=2):
    return LiveRows(width, Fixed(), intercept=True, policy=policy)


def twins(name):
    policy, plain = POLICIES[name]
    return live_rows(policy), naive.NaiveModel(OLS, plain, True, 2)


def moment(name, second):
    """A time as the policy wants it."""
    return START + timedelta(seconds=second) if name == "calendar age" else float(second)


def same(live, twin):
    X, y, _ = live.solver.values()
    assert live.index.ids == twin.ids
    assert (X == twin.X).all()
    assert (y == twin.y).all()
    assert live.solver.n_rows == len(live.index)


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.normal(size=n)


@pytest.mark.parametrize("name", ["rows", "add", "add after a start", "all"])
def test_rows_leave_as_the_policy_says(name):
    live, twin = twins(name)
    for x, y in zip(*data(15), strict=True):
        live.learn_one(x, y, None, None)
        twin.learn(x, y)
        same(live, twin)


def test_rows_leave_at_the_age_of_the_policy():
    live, twin = twins("age")
    X, y = data(12)
    for t, at in enumerate([0, 0, 1, 5, 6, 6, 7, 12, 30, 30, 31, 36]):
        live.learn_one(X[t], y[t], None, at)
        twin.learn(X[t], y[t], at=float(at))
        same(live, twin)


@pytest.mark.parametrize("name", list(POLICIES))
def test_late_rows_are_placed_by_their_time(name):
    live, twin = twins(name)
    X, y = data(40)
    seconds = np.random.default_rng(1).integers(0, 15, size=40).tolist()
    for t, second in enumerate(seconds):
        live.learn_one(X[t], y[t], None, moment(name, second))
        twin.learn(X[t], y[t], at=second)
        same(live, twin)


def test_a_row_that_is_too_old_on_arrival_is_not_learned():
    live = live_rows(KeepFor("1d"))
    today = datetime(2024, 5, 1)
    live.learn_one(np.ones(2), 1.0, "new", today)
    live.learn_one(np.ones(2), 1.0, "old", today - timedelta(days=1))
    assert live.index.ids == ["new"]


def test_a_late_row_of_a_full_window_leaves_at_once():
    live = live_rows(FIFD(2))
    for id, at in (("b", 2), ("c", 3), ("a", 1)):
        live.learn_one(np.ones(2), 1.0, id, at)
    assert live.index.ids == ["b", "c"]


rows_of_arrivals = st.lists(
    st.tuples(st.integers(0, 12), st.one_of(st.none(), st.integers(0, 9), st.sampled_from("abc"))),
    min_size=1,
    max_size=14,
)


def one_by_one(name, batches, timed):
    """The live rows after each single row, or the type of the first error."""
    live = live_rows(POLICIES[name][0])
    for batch in batches:
        X, y = data(len(batch), seed=len(batch))
        for x, value, (at, id) in zip(X, y, batch, strict=True):
            live.learn_one(x, value, id, moment(name, at) if timed else None)
    return live


def at_once(live, name, batch, timed, way):
    X, y = data(len(batch), seed=len(batch))
    ids = [id for _, id in batch]
    at = [moment(name, at) for at, _ in batch] if timed else None
    return way(live, live.arrivals(X, y, None if None in ids else ids, at))


def ways():
    def replay(live, new):
        return replay_rows(live, new, coef=True, diagnostics=False)

    return [LiveRows.learn, replay]


@pytest.mark.parametrize("way", ways(), ids=["learn", "replay"])
@pytest.mark.parametrize("name", list(POLICIES))
@given(st.lists(rows_of_arrivals, min_size=1, max_size=3), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=60)
def test_a_batch_equals_its_rows_one_by_one(name, way, batches, in_order, named):
    timed = POLICIES[name][0].needs_time or not named
    batches = [
        [
            (at, id if named else None)
            for at, id in (sorted(b, key=lambda r: r[0]) if in_order else b)
        ]
        for b in batches
    ]
    if named:
        batches = [
            [(at, id) for at, id in batch if id is not None] or [(0, 0)] for batch in batches
        ]
    live = live_rows(POLICIES[name][0])
    try:
        expected = one_by_one(name, batches, timed)
    except RepeatedId:
        refused = False
        for batch in batches:
            before = (live.index.ids, live.solver.values()[0].tolist(), live.phase)
            try:
                at_once(live, name, batch, timed, way)
            except RepeatedId:
                refused = True
                break
        assert refused
        assert before == (live.index.ids, live.solver.values()[0].tolist(), live.phase)
        return
    for batch in batches:
        at_once(live, name, batch, timed, way)
    assert live.index.ids == expected.index.ids
    assert live.phase == expected.phase
    assert list(live.index.since) == list(expected.index.since)
    for got, want in zip(live.solver.values(), expected.solver.values(), strict=True):
        assert (got == want).all()


def test_numbering_restarts_when_no_row_is_left_within_a_batch():
    live, twin = twins("add")
    X, y = data(7)
    for t in range(2):
        live.learn_one(X[t], y[t], None, None)
        twin.learn(X[t], y[t])
    live.forget([0, 1])
    twin.forget([0, 1])
    live.learn(live.arrivals(X[2:], y[2:], None, None))  # the first leaves as it comes
    for t in range(2, 7):
        twin.learn(X[t], y[t])
    same(live, twin)


def test_rows_at_any_position_can_be_forgotten():
    live, twin = twins("all")
    for x, y in zip(*data(9), strict=True):
        live.learn_one(x, y, None, None)
        twin.learn(x, y)
    for ids in (4, [0, 8], [], [3, 3, 2]):
        live.forget(ids)
        twin.forget(ids if isinstance(ids, list) else [ids])
        same(live, twin)


def test_an_unknown_id_forgets_nothing():
    live = live_rows(KeepAll())
    live.learn_one(np.ones(2), 1.0, None, None)
    with pytest.raises(UnknownId, match="'id' is 5: no live row has it"):
        live.forget([0, 5])
    assert live.index.ids == [0]


def test_rows_expire_by_a_given_time():
    live = live_rows(KeepFor("10s"))
    start = datetime(2024, 5, 1)
    for second in range(5):
        live.learn_one(np.ones(2), 1.0, None, start + timedelta(seconds=second))
    assert live.expire(start + timedelta(seconds=9)) == 0
    assert live.expire(start + timedelta(seconds=12)) == 3
    assert live.index.ids == [3, 4]
    assert live.expire(start + timedelta(days=1)) == 2
    assert live.solver.n_rows == 0


def test_an_earlier_time_expires_nothing():
    live = live_rows(KeepFor(10))
    live.learn_one(np.ones(2), 1.0, None, 100)
    assert live.expire(5) == 0


@pytest.mark.parametrize("policy", [FIFD(5), AddDrop(2), KeepAll()])
def test_without_a_duration_or_an_end_no_row_expires(policy):
    live = live_rows(policy)
    live.learn_one(np.ones(2), 1.0, None, None)
    assert live.expire(1e9) == 0
    assert live.index.ids == [0]


@pytest.mark.parametrize(
    ("policy", "first", "second"),
    [(KeepAll(), 1.0, None), (KeepAll(), None, 1.0), (FIFD(3), 1.0, datetime(2024, 5, 1))],
)
def test_times_of_another_kind_are_refused_without_a_change(policy, first, second):
    live = live_rows(policy)
    live.learn_one(np.ones(2), 1.0, None, first)
    with pytest.raises(BadTime, match="as for the live rows"):
        live.learn_one(np.ones(2), 1.0, None, second)
    with pytest.raises(BadTime, match="as for the live rows"):
        live.arrivals(np.ones((1, 2)), np.ones(1), None, second)
    assert live.index.ids == [0]


def test_an_id_can_be_used_again_once_its_row_has_left():
    live = live_rows(KeepFor(10))
    live.learn_one(np.ones(2), 1.0, "ann", 0)
    live.learn_one(np.zeros(2), 2.0, "ann", 10)  # the first leaves as this one comes
    assert live.solver.values()[1].tolist() == [2.0]
    with pytest.raises(RepeatedId, match="'id' is 'ann': a live row has it; forget that row first"):
        live.learn_one(np.ones(2), 1.0, "ann", 11)


def test_a_wiped_model_has_no_row():
    live = live_rows(KeepAll())
    live.learn(live.arrivals(*data(5), None, None))
    live.wipe()
    assert live.solver.n_rows == len(live.index) == 0


def test_rows_in_order_are_one_run_with_their_schedule():
    live = LiveRows(1, Fixed(), intercept=True, policy=FIFD(2))
    new = live.arrivals(np.arange(4.0)[:, np.newaxis], np.zeros(4), None, None)
    ((run, plan),) = live.runs(new)
    assert run is new
    assert plan.after.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("ids", [["x", "x"], [1, 0]])
def test_a_repeated_id_is_refused_before_the_first_run(ids):
    live = LiveRows(1, Fixed(), intercept=True, policy=FIFD(2))
    live.learn(live.arrivals(np.zeros((1, 1)), np.zeros(1), [0], None))
    new = live.arrivals(np.zeros((2, 1)), np.zeros(2), ids, None)
    with pytest.raises(RepeatedId):
        next(live.runs(new))
    assert live.index.ids == [0]


def test_a_late_row_begins_and_ends_a_run():
    live = LiveRows(1, Fixed(), intercept=True, policy=KeepAll())
    at = [1.0, 2.0, 1.5, 3.0, 3.0, 0.0]
    lengths = []
    for run, plan in live.runs(live.arrivals(np.zeros((6, 1)), np.zeros(6), None, at)):
        lengths.append((len(run), plan is not None))
        live.learn(run)
    assert lengths == [(2, True), (1, False), (2, True), (1, False)]
    assert live.index.ids == [5, 0, 2, 1, 3, 4]


def test_rows_that_are_due_leave_before_the_next_run():
    live = LiveRows(1, Fixed(), intercept=True, policy=KeepAll())
    at, until = [1.0, 2.0, 3.0, 4.0, 4.0], [9.0, 3.0, 9.0, 4.0, 9.0]
    seen = []
    new = live.arrivals(np.zeros((5, 1)), np.zeros(5), list("abcde"), at, until=until)
    for run, plan in live.runs(new):
        seen.append((list(live.index.ids), list(run.ids), plan is not None))
        live.learn(run)
    assert seen == [
        ([], ["a", "b"], True),
        (["a"], ["c"], True),
        (["a", "c"], ["d"], False),  # due as it comes
        (["a", "c"], ["e"], True),
    ]
    assert live.index.ids == ["a", "c", "e"]


def taken(live, ids, at):
    """The ids of each run, and whether it has a schedule; the rows are learned."""
    new, found = live.arrivals(np.zeros((len(at), 2)), np.zeros(len(at)), ids, at), []
    for run, plan in live.runs(new):
        found.append((list(run.ids), plan is not None))
        live.learn(run)
    return found


def test_rows_in_order_are_one_run():
    live = live_rows(KeepFor(3))
    assert taken(live, None, [0.0, 1.0, 1.0, 5.0]) == [([0, 1, 2, 3], True)]
    assert live.index.ids == [3]


def test_a_late_row_is_a_run_without_a_schedule():
    live = live_rows(KeepAll())
    runs = [([0, 1], True), ([2], False), ([3, 4], True), ([5], False), ([6], False)]
    assert taken(live, None, [1.0, 2.0, 1.0, 2.0, 3.0, 0.0, 1.0]) == runs
    assert live.index.ids == [5, 0, 2, 6, 1, 3, 4]


def test_a_run_ends_before_an_id_returns():
    live = live_rows(KeepFor(3))
    runs = [(["a", "b", "c"], True), (["a", "d"], True), (["b"], True)]
    assert taken(live, list("abcadb"), [0.0, 1.0, 3.0, 3.0, 4.0, 7.0]) == runs
    assert live.index.ids == ["b"]


def test_runs_refuse_a_repeated_id_before_the_first():
    live = live_rows(KeepFor(3))
    taken(live, ["a"], [0.0])
    with pytest.raises(RepeatedId, match="'id' is 'c': a live row has it"):
        taken(live, list("bcac"), [9.0, 9.0, 9.0, 9.0])
    assert live.index.ids == ["a"]


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["rows", "age", "add", "add after a start", "all"]),
    st.lists(st.tuples(st.integers(0, 20), st.none() | st.integers(0, 30)), max_size=9),
    st.integers(0, 9),
    st.integers(0, 30),
)
def test_outcomes_and_overdue_rows_are_what_then_happens(name, rows, split, now):
    """What is planned is what ``learn`` and ``expire`` do; planning changes nothing."""
    live, timed = live_rows(POLICIES[name][0]), name == "age"
    order = [float(time) for time, _ in rows]
    ends = [None if end is None else float(end) for _, end in rows]
    X, y = data(len(rows))
    for part in (slice(0, split), slice(split, None)):
        ids = [f"row {k}" for k in range(len(rows))][part]
        if not ids:
            continue
        at = order[part] if timed else None
        new = live.arrivals(X[part], y[part], ids, at, until=ends[part] if timed else None)
        before = live.index.ids
        found = live.outcome(new)
        assert live.index.ids == before
        live.learn(new)
        assert set(before) - set(live.index.ids) == set(found.left)
        assert set(live.index.ids) - set(before) == {ids[k] for k in found.entered}
        assert live.phase == found.phase
    if timed and len(live.index):
        before = live.index.ids
        due = live.overdue(float(now))
        assert live.index.ids == before
        assert live.expire(float(now)) == len(due)
        assert live.index.ids == [id for id in before if id not in due]


def test_named_rows_are_those_that_forget_removes():
    live = live_rows(KeepAll())
    X, y = data(4)
    live.learn(live.arrivals(X, y, list("abcd"), None, owners=["x", "y", "x", None]))
    assert live.named(["d", "a"], ["x"]) == ["d", "a", "c"]
    assert live.named(["z", "a"], ["w"], lenient=True) == ["a"]
    with pytest.raises(UnknownId):
        live.forget(["z"])
    assert live.forget(["d", "a"], ["x"]) == 3
    assert live.index.ids == ["b"]
