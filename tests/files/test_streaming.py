"""A stream run equals the library on the same rows, whatever the batch sizes."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.streaming import row_by_row

from efface import OLS, AdaptiveRidge, KeepFor, Ridge, audit, replay
from efface.errors import BadRow, BadTable
from efface.files.baselines import LAST, baselines
from efface.files.readers import open_table
from efface.files.requests import Request, Requests
from efface.files.row_batches import RowBatch
from efface.files.run_log import STEP_COLUMNS
from efface.files.schema import RequestedColumns, resolve_schema
from efface.files.streaming import Outputs, StreamRun, stream_table

RNG = np.random.default_rng(7)
N, D = 400, 3
X = RNG.normal(size=(N, D))
Y = X @ [2.0, -1.0, 0.5] + 1.0 + 0.3 * RNG.normal(size=N)
TIMES = np.datetime64("2011-01-01", "ns") + np.cumsum(RNG.integers(0, 5, N)) * np.timedelta64(
    1, "h"
)


def stream(*, at=None, ids=None, groups=None, owners=None, until=None):
    return RowBatch(np.arange(N), X, Y, ids, at, groups, None, owners, until)


def fed(run, rows, cuts):
    """The columns of a run that is fed in batches, cut at these rows."""
    edges = [0, *cuts, len(rows)]
    found = [run.advance(rows.part(a, b)) for a, b in pairwise(edges) if a < b]
    run.finish()
    return {name: np.concatenate([predicted[name] for predicted in found]) for name in STEP_COLUMNS}


def same(found, expected, rtol=1e-9):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-9)


@pytest.mark.parametrize(
    ("make", "at"),
    [
        (lambda: AdaptiveRidge(50), None),
        (lambda: Ridge(50, alpha=0.5), None),
        (lambda: OLS(KeepFor("4d")), TIMES),
    ],
)
@pytest.mark.parametrize("cuts", [(), (1, 2, 3, 199, 350)])
def test_every_row_equals_the_library(make, at, cuts):
    found = fed(StreamRun(make, "model"), stream(at=at), cuts)
    expected = replay(make(), X, Y, at=at, diagnostics=True, interval=0.95, method="local")
    for name, source in STEP_COLUMNS.items():
        if name != "condition":  # sampled, counted from each call
            same(found[name], getattr(expected, source))


def test_one_batch_equals_the_library():
    found = fed(StreamRun(lambda: Ridge(50), "model", Outputs()), stream(), ())
    expected = replay(Ridge(50), X, Y, diagnostics=True, interval=0.95)
    for name, source in STEP_COLUMNS.items():
        theirs = getattr(expected, source)
        rows = ~np.isnan(theirs) if name == "condition" else slice(None)  # that one is sampled
        same(found[name][rows], theirs[rows])


def dicts(*, at=None, ids=None, groups=None, owners=None, until=None):
    """The same rows for the slow twin."""
    return [
        {
            "x": X[t],
            "y": Y[t],
            "id": t if ids is None else ids[t],
            "at": None if at is None else at[t],
            "group": None if groups is None else groups[t],
            "owner": None if owners is None else owners[t],
            "until": None if until is None or np.isnat(until[t]) else until[t],
        }
        for t in range(N)
    ]


OWNERS = [None if k == 7 else f"p{k}" for k in RNG.integers(0, 12, N)]
ENDS = TIMES + RNG.integers(0, 90, N) * np.timedelta64(1, "h")  # some are due as they come
ENDS[RNG.random(N) < 0.5] = np.datetime64("NaT")
PEOPLE = st.integers(0, 13).map("p{}".format)
ASKED = st.one_of(
    st.tuples(st.integers(0, N + 5), st.integers(0, N + 5)),
    st.tuples(st.integers(0, N + 5), st.none(), PEOPLE),
)


@settings(deadline=None, max_examples=15)
@given(
    st.lists(ASKED, max_size=8),
    st.lists(st.integers(1, N - 1), max_size=4).map(sorted),
    st.booleans(),
    st.sampled_from(["rows", "times", "ends"]),
)
def test_requests_and_groups_equal_the_slow_twin(asked, cuts, grouped, kind):
    groups = ["abc"[k % 3] if k % 7 else "d" for k in range(N)] if grouped else None
    at, until = None if kind == "rows" else TIMES, ENDS if kind == "ends" else None
    asked = sorted(asked, key=lambda each: each[0])
    each = [Request(id, place, *owner) for place, id, *owner in asked]
    requests = Requests("row", tuple(each))

    def make():
        return Ridge(KeepFor("4d") if kind == "times" else 40, alpha=0.1)

    run = StreamRun(make, "Ridge", requests=requests, grouped=grouped)
    keys = {"at": at, "groups": groups, "owners": OWNERS, "until": until}
    found = fed(run, stream(**keys), cuts)
    predictions, alive, outcomes, models = row_by_row(
        make, dicts(**keys), asked, timed=at is not None
    )
    same(found["prediction"], predictions)
    np.testing.assert_array_equal(found["n_rows"], alive)
    assert [(outcome.status, outcome.rows) for outcome in run.log.outcomes] == outcomes
    assert {name: model.owners_ for name, model in run.groups.models.items()} == {
        name: model.owners_ for name, model in models.items()
    }
    if requests.ids:  # otherwise no ids are passed, and models number their rows
        alive = {name: model.ids_ for name, model in run.groups.models.items()}
        assert alive == {name: model.ids_ for name, model in models.items()}


def test_requests_by_time_are_answered_before_the_first_row_of_that_time():
    at = np.arange(10.0)
    rows = RowBatch(np.arange(10), X[:10], Y[:10], None, at, None)
    requests = Requests("time", (Request(2, 2.5), Request(3, 3.0), Request(9, 99.0)))
    run = StreamRun(lambda: OLS(KeepFor(100)), "OLS", requests=requests)
    run.advance(rows)
    run.finish()
    seen = [(o.id, o.row, o.arrived, o.status) for o in run.log.outcomes]
    assert seen == [(2, 3, 2, "forgotten"), (3, 3, None, "unknown"), (9, 10, 9, "forgotten")]


def test_every_request_is_audited():
    requests = Requests("row", (Request(390, 395), Request(3, 395), Request(777, 395)))
    run = StreamRun(lambda: AdaptiveRidge(30), "m", requests=requests)
    run.advance(stream())
    forgotten, gone, unknown = run.log.outcomes
    assert forgotten.holds
    assert forgotten.error <= 1e-9
    assert (gone.status, gone.holds) == ("already gone", True)
    assert (unknown.status, unknown.holds) == ("unknown", False)
    (model,) = run.groups.models.values()
    assert audit(model, forgotten=[390, 3]).holds


def test_a_failed_audit_is_reported(monkeypatch):
    requests = Requests("end", (Request(399),))
    run = StreamRun(lambda: AdaptiveRidge(30), "m", requests=requests)
    run.advance(stream())
    (model,) = run.groups.models.values()
    monkeypatch.setattr(model, "forget", lambda *_, **__: 1)  # a model that does not forget
    run.finish()
    (outcome,) = run.log.outcomes
    assert not outcome.holds
    assert "399" in outcome.verdict


def test_ids_may_be_reused_after_their_row_has_left():
    ids = [k % 60 for k in range(N)]
    found = fed(StreamRun(lambda: OLS(50), "m"), stream(ids=ids), (100,))
    predictions, _, _, _ = row_by_row(lambda: OLS(50), dicts(ids=ids))
    same(found["prediction"], predictions)


def test_the_id_of_a_live_row_is_refused_with_the_row():
    ids = list(range(N))
    ids[123] = 100
    with pytest.raises(BadRow) as refused:
        StreamRun(lambda: OLS(50), "m").advance(stream(ids=ids))
    assert refused.value.row == 123


def test_a_repeated_id_in_a_table_is_refused_with_the_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y,id\n1,2,a\n2,1,b\n\n3,3,a\n")
    table = open_table(str(path))
    schema = resolve_schema(table, RequestedColumns("y", ["x"], id="id"))
    with pytest.raises(BadTable, match=r"at line 5, column 'id' is 'a': expected an id that no li"):
        list(stream_table(table, schema, StreamRun(lambda: OLS(50), "m")))


def test_the_log_has_all_errors_after_the_warm_up():
    run = StreamRun(
        lambda: OLS(50), "OLS", compare=lambda: baselines(lambda: OLS(50), 50), warm_up=D + 1
    )
    found = fed(run, stream(), (37, 200))
    scores = run.log.scores
    assert list(scores)[:2] == ["OLS", LAST]
    assert {score.count for score in scores.values()} == {N - D - 1}
    errors = np.abs(found["prediction"] - Y)[D + 1 :]
    assert scores["OLS"].mae == pytest.approx(errors.mean(), rel=1e-9)
    assert scores[LAST].mae == pytest.approx(np.abs(np.diff(Y))[D:].mean(), rel=1e-9)
    known = np.isfinite(found["lower"]) & np.isfinite(found["upper"])
    covered = (found["lower"] <= Y) & (found["upper"] >= Y) & known
    assert run.log.coverage.covered == covered.sum()
    assert run.log.coverage.count == known.sum() > 300
    assert run.log.history.fine.rows == N


def test_the_log_does_not_grow_with_the_stream():
    run = StreamRun(lambda: OLS(20), "OLS")
    rows = stream()
    for _ in range(60):
        run.advance(rows)
    history = run.log.history
    for series in (history.fine, history.medium, history.coarse):
        assert len(series.mean("x")) <= series.bins
    assert run.log.rows == 60 * N


def test_groups_that_are_no_longer_than_the_warm_up_have_no_scores():
    run = StreamRun(lambda: OLS(50), "OLS", grouped=True, warm_up=2)
    rows = RowBatch(np.arange(4), np.ones((4, D)), np.arange(4.0), groups=["a", "b", "c", "a"])
    run.advance(rows)
    assert run.group_scores() == {}
    run.advance(replace(rows, number=rows.number + 4))
    assert {name: scores["OLS"].count for name, scores in run.group_scores().items()} == {"a": 2}
