import numpy as np
import pytest

from efface.live.event_solver import EventSolver
from efface.live.penalties import Fixed, Lemma3
from efface.live.trace import Asked
from efface.theory.quantities import forgetting_regret_term

PENALTIES = [Fixed(), Fixed(2.0), Lemma3()]


def stream(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + rng.normal(size=n)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("s", [3, 20])
def test_a_replay_equals_its_events_one_by_one(penalty, intercept, s):
    X, y = stream(70, 4)
    batch, single = (EventSolver(4, penalty, intercept=intercept) for _ in range(2))
    n = np.arange(70)
    before, after = (n % 11 == 10).astype(np.int64), (n >= s).astype(np.int64)
    after[n % 11 == 9] = 0
    trace = batch.replay(X, y, before, after, Asked(True, False, False))
    for t in range(70):
        single.drop(int(before[t]))
        assert trace.n_rows[t] == single.rows.n_rows
        assert trace.prediction[t] == pytest.approx(single.predict(X[t]), rel=1e-9, abs=1e-12)
        assert trace.penalty[t] == pytest.approx(single.penalty_value, rel=1e-12)
        np.testing.assert_allclose(trace.coef[t], single.coef, rtol=1e-9, atol=1e-12)
        single.learn(X[t], y[t], int(after[t]))
    assert batch.values()[0].tolist() == single.values()[0].tolist()


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("s", [3, 12, 40])
def test_diagnostics_equal_the_quantities_of_the_paper(penalty, s):
    X, y = stream(s + 40, 5, seed=s)
    solver = EventSolver(5, penalty, intercept=False)
    solver.extend(X[:s], y[:s])
    none, one = np.zeros(40, np.int64), np.ones(40, np.int64)
    trace = solver.replay(X[s:], y[s:], none, one, Asked(False, True, False))
    for t in range(40):
        window = X[t : t + s]
        term = forgetting_regret_term(window, window[0], X[s + t], penalty=float(trace.penalty[t]))
        assert trace.leverage_old[t] == pytest.approx(term.deleted, rel=1e-8, abs=1e-10)
        assert trace.frt[t] == pytest.approx(term.total, rel=1e-8, abs=1e-10)
        assert trace.rank[t] == np.linalg.matrix_rank(window)


def test_leverages_with_an_intercept_include_the_constant_column():
    X, y = stream(60, 3)
    solver = EventSolver(3, Fixed(), intercept=True)
    solver.extend(X[:30], y[:30])
    none, one = np.zeros(30, np.int64), np.ones(30, np.int64)
    trace = solver.replay(X[30:], y[30:], none, one, Asked(False, True, False))
    for t in range(30):
        rows = np.column_stack([X[t : t + 30], np.ones(30)])
        hat = rows @ np.linalg.inv(rows.T @ rows) @ rows.T
        assert trace.leverage_old[t] == pytest.approx(hat[0, 0], rel=1e-9)


def test_results_that_were_not_requested_are_none():
    X, y = stream(10, 2)
    none = np.zeros(10, np.int64)
    trace = EventSolver(2, Fixed(1.0), intercept=True).replay(
        X, y, none, none, Asked(False, False, False)
    )
    assert trace.coef is None
    assert trace.rank is None
    assert trace.leverage_new is None
    assert trace.frt is None
