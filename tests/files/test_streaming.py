"""A journey equals the library called on the same rows, however they are cut into chunks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.streaming import walk

from efface import OLS, AdaptiveRidge, KeepFor, Ridge, audit, replay
from efface.errors import BadRow, BadTable
from efface.files.baselines import LAST, baselines
from efface.files.readers import open_table
from efface.files.requests import Request, Requests
from efface.files.schema import Rows, Wish, assign
from efface.files.streaming import VALUES, Journey, travel

RNG = np.random.default_rng(7)
N, D = 400, 3
X = RNG.normal(size=(N, D))
Y = X @ [2.0, -1.0, 0.5] + 1.0 + 0.3 * RNG.normal(size=N)
TIMES = np.datetime64("2011-01-01", "ns") + np.cumsum(RNG.integers(0, 5, N)) * np.timedelta64(
    1, "h"
)


def stream(*, at=None, ids=None, groups=None):
    return Rows(np.arange(N), X, Y, ids, at, groups)


def fed(journey, rows, cuts):
    """The journey's steps, chunk by chunk."""
    edges = [0, *cuts, len(rows)]
    found = [journey.advance(rows.part(a, b)) for a, b in pairwise(edges) if a < b]
    journey.arrive()
    return {name: np.concatenate([steps[name] for steps in found]) for name in VALUES}


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
def test_row_for_row_like_the_library(make, at, cuts):
    found = fed(Journey(make, "model"), stream(at=at), cuts)
    expected = replay(make(), X, Y, at=at, diagnostics=True, interval=0.95)
    for name, source in VALUES.items():
        if name not in ("phi2", "condition"):  # taken only now and then, counted from each call
            same(found[name], getattr(expected, source))


def test_without_cuts_to_the_last_bit():
    found = fed(Journey(lambda: Ridge(50), "model"), stream(), ())
    expected = replay(Ridge(50), X, Y, diagnostics=True, interval=0.95)
    for name, source in VALUES.items():
        np.testing.assert_array_equal(found[name], getattr(expected, source))


def obvious(*, at=None, ids=None, groups=None):
    """The same rows for the naive twin."""
    return [
        {
            "x": X[t],
            "y": Y[t],
            "id": t if ids is None else ids[t],
            "at": None if at is None else at[t],
            "group": None if groups is None else groups[t],
        }
        for t in range(N)
    ]


@settings(deadline=None, max_examples=15)
@given(
    st.lists(st.tuples(st.integers(0, N + 5), st.integers(0, N + 5)), max_size=8),
    st.lists(st.integers(1, N - 1), max_size=4).map(sorted),
    st.booleans(),
    st.booleans(),
)
def test_requests_and_groups_like_the_naive_twin(asked, cuts, grouped, timed):
    groups = ["abc"[k % 3] if k % 7 else "d" for k in range(N)] if grouped else None
    at = TIMES if timed else None
    asked = sorted(asked, key=lambda pair: pair[0])
    requests = Requests("row", tuple(Request(id, place) for place, id in asked))

    def make():
        return Ridge(KeepFor("4d") if timed else 40, alpha=0.1)

    journey = Journey(make, "Ridge", requests=requests)
    found = fed(journey, stream(at=at, groups=groups), cuts)
    predictions, alive, outcomes, models = walk(
        make, obvious(at=at, groups=groups), asked, timed=timed
    )
    same(found["prediction"], predictions)
    np.testing.assert_array_equal(found["n_rows"], alive)
    assert [outcome.status for outcome in journey.log.outcomes] == outcomes
    if asked:  # else nobody needs ids, and the models number their rows themselves
        alive = {name: model.ids_ for name, model in journey.models.items()}
        assert alive == {name: model.ids_ for name, model in models.items()}


def test_requests_by_time_are_answered_before_the_first_row_of_that_time():
    at = np.arange(10.0)
    rows = Rows(np.arange(10), X[:10], Y[:10], None, at, None)
    requests = Requests("time", (Request(2, 2.5), Request(3, 3.0), Request(9, 99.0)))
    journey = Journey(lambda: OLS(KeepFor(100)), "OLS", requests=requests)
    journey.advance(rows)
    journey.arrive()
    seen = [(o.id, o.row, o.arrived, o.status) for o in journey.log.outcomes]
    assert seen == [(2, 3, 2, "forgotten"), (3, 3, None, "unknown"), (9, 10, 9, "forgotten")]


def test_every_forgetting_is_proven():
    requests = Requests("row", (Request(390, 395), Request(3, 395), Request(777, 395)))
    journey = Journey(lambda: AdaptiveRidge(30), "m", requests=requests)
    journey.advance(stream())
    forgotten, gone, unknown = journey.log.outcomes
    assert forgotten.holds
    assert forgotten.error <= 1e-9
    assert (gone.status, gone.holds) == ("already gone", True)
    assert (unknown.status, unknown.holds) == ("unknown", False)
    (model,) = journey.models.values()
    assert audit(model, forgotten=[390, 3]).holds


def test_an_audit_that_fails_is_told(monkeypatch):
    requests = Requests("end", (Request(399),))
    journey = Journey(lambda: AdaptiveRidge(30), "m", requests=requests)
    journey.advance(stream())
    (model,) = journey.models.values()
    monkeypatch.setattr(model, "forget", lambda id: None)  # a model that does not forget
    journey.arrive()
    (outcome,) = journey.log.outcomes
    assert not outcome.holds
    assert "399" in outcome.verdict


def test_ids_may_come_again_once_their_row_has_left():
    ids = [k % 60 for k in range(N)]
    found = fed(Journey(lambda: OLS(50), "m"), stream(ids=ids), (100,))
    predictions, _, _, _ = walk(lambda: OLS(50), obvious(ids=ids))
    same(found["prediction"], predictions)


def test_an_id_that_is_alive_is_refused_with_its_row():
    ids = list(range(N))
    ids[123] = 100
    with pytest.raises(BadRow) as refused:
        Journey(lambda: OLS(50), "m").advance(stream(ids=ids))
    assert refused.value.row == 123


def test_a_table_with_a_repeated_id_is_refused_with_its_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y,id\n1,2,a\n2,1,b\n\n3,3,a\n")
    table = open_table(str(path))
    roles = assign(table, Wish("y", ["x"], id="id"))
    with pytest.raises(BadTable, match=r"at line 5, column 'id' is 'a': expected an id that no li"):
        list(travel(table, roles, Journey(lambda: OLS(50), "m")))


def test_the_log_has_the_errors_of_everyone_after_the_warm_up():
    journey = Journey(
        lambda: OLS(50), "OLS", compare=lambda: baselines(lambda: OLS(50), 50), warm_up=D + 1
    )
    found = fed(journey, stream(), (37, 200))
    scores = journey.log.scores
    assert list(scores)[:2] == ["OLS", LAST]
    assert {score.count for score in scores.values()} == {N - D - 1}
    errors = np.abs(found["prediction"] - Y)[D + 1 :]
    assert scores["OLS"].mae == pytest.approx(errors.mean(), rel=1e-9)
    assert scores[LAST].mae == pytest.approx(np.abs(np.diff(Y))[D:].mean(), rel=1e-9)
    known = np.isfinite(found["lower"]) & np.isfinite(found["upper"])
    held = (found["lower"] <= Y) & (found["upper"] >= Y) & known
    assert journey.log.coverage.held == held.sum()
    assert journey.log.coverage.count == known.sum() > 300
    assert journey.log.fine.rows == N


def test_the_log_does_not_grow_with_the_stream():
    journey = Journey(lambda: OLS(20), "OLS")
    rows = stream()
    for _ in range(60):
        journey.advance(rows)
    for digest in (journey.log.fine, journey.log.medium, journey.log.coarse):
        assert len(digest.mean("x")) <= digest.bins
    assert journey.log.rows == 60 * N
