import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_events import event_lists, rows_of, run_events
from twins import regression as naive

from efface.live.event_solver import EventSolver
from efface.live.penalties import Fixed, Lemma3
from efface.live.trace import Asked

RULES = {
    "OLS": (Fixed(), ("OLS", {})),
    "ridge": (Fixed(0.5), ("Ridge", {"alpha": 0.5})),
    "adaptive": (Lemma3(), ("AdaptiveRidge", {"delta": 0.05, "theta_max": 1.0})),
    "switching": (
        Lemma3(switch_at=2.0),
        ("SwitchingRidge", {"delta": 0.05, "theta_max": 1.0, "switch_at": 2.0}),
    ),
}


def assert_exact(solver, X, y, rule, intercept, tolerance=1e-9):
    """Compare the solution with an exact refit of the live rows."""
    coef, level, penalty, _ = naive.refit(X, y, rule, intercept)
    unit = np.abs(X - X.mean(0) * intercept).max(axis=0) if len(X) else np.ones(X.shape[1])
    unit[unit == 0] = 1.0
    scale = max(np.abs(coef * unit).max(), 1e-3 * np.abs(y).max(initial=0.0), 1e-300)
    assert solver.penalty_value == pytest.approx(penalty, rel=1e-11, abs=1e-300)
    assert np.abs((solver.coef - coef) * unit).max() <= tolerance * scale
    assert abs(solver.intercept - level) <= tolerance * max(scale, abs(level))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", ["plain", "scaled", "tiny", "huge", "correlated", "shifted"])
@pytest.mark.parametrize(("d", "s"), [(3, 8), (6, 25)])
def test_every_slide_equals_a_refit(rule, intercept, kind, d, s):
    if kind == "shifted" and not intercept:
        pytest.skip("means of 1e6 without an intercept: a condition beyond 1e4")
    rng = np.random.default_rng(len(kind) + d)
    X, y = rows_of(kind, 3 * s + 10, d, rng)
    penalty, naive_rule = RULES[rule]
    solver = EventSolver(d, penalty, intercept=intercept)
    for t in range(len(y)):
        solver.learn(X[t], y[t], int(solver.rows.n_rows == s))
        live = slice(max(0, t + 1 - s), t + 1)
        assert_exact(solver, X[live], y[live], naive_rule, intercept)


@settings(deadline=None, max_examples=25)
@given(
    events=event_lists("lllldr", 60),
    rule=st.sampled_from(list(RULES)),
    intercept=st.booleans(),
    seed=st.integers(0, 99),
)
def test_any_interleaving_of_events_equals_a_refit(events, rule, intercept, seed):
    rng = np.random.default_rng(seed)
    kind = ["plain", "scaled", "duplicated", "tiny"][seed % 4]
    X, y = rows_of(kind, 100, 3, rng)
    penalty, naive_rule = RULES[rule]

    def check(solver, X, y):
        assert_exact(solver, X, y, naive_rule, intercept)

    run_events(EventSolver(3, penalty, intercept=intercept), events, X, y, check)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("intercept", [False, True])
def test_no_number_of_a_huge_row_remains(rule, intercept):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 4)), rng.normal(size=90)
    X[20] *= 1e8
    y[20] *= 1e8
    penalty, naive_rule = RULES[rule]
    solver = EventSolver(4, penalty, intercept=intercept)
    for t in range(90):
        solver.learn(X[t], y[t], int(solver.rows.n_rows == 30))
        live = slice(max(0, t - 29), t + 1)
        if t >= 50:
            assert_exact(solver, X[live], y[live], naive_rule, intercept)
            store = np.concatenate([*map(np.ravel, solver.rows.arrays[:2]), *solver.stores])
            assert np.abs(store[np.isfinite(store)]).max() < 1e5


def test_a_growing_solver_passes_from_the_dual_to_the_primal_form():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(120, 5)), rng.normal(size=120)
    solver = EventSolver(5, Fixed(), intercept=True, shrinks=False)
    for t in range(120):
        solver.learn(X[t], y[t], 0)
        assert_exact(solver, X[: t + 1], y[: t + 1], ("OLS", {}), True)


def test_many_rows_are_solved_once():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(500, 3)), rng.normal(size=500)
    solver = EventSolver(3, Fixed(), intercept=False)
    solver.extend(X[:300], y[:300])
    solver.drop(250)
    solver.extend(X[300:], y[300:])
    assert_exact(solver, X[250:], y[250:], ("OLS", {}), False)
    assert solver.rows.n_rows == 250


def test_removed_rows_are_overwritten_and_the_state_is_reset():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    seen, never = (EventSolver(2, Lemma3(), intercept=True) for _ in range(2))
    X[7] = 12345.678
    for t in range(40):
        seen.learn(X[t], y[t], 0)
        seen.predict(X[t])
    seen.remove(np.array([7, 30]))
    keep = np.delete(np.arange(40), [7, 30])
    never.extend(X[keep], y[keep])
    assert 12345.678 not in seen.rows.arrays[0]
    assert seen.coef.tolist() == never.coef.tolist()
    for t in range(10):
        seen.learn(X[t], y[t], 1)
        never.learn(X[t], y[t], 1)
        assert seen.coef.tolist() == never.coef.tolist()


def test_after_a_rebuild_the_state_depends_on_the_live_rows_alone():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    slid, fresh = EventSolver(3, Fixed(), intercept=True), EventSolver(3, Fixed(), intercept=True)
    for t in range(60):
        slid.learn(X[t], y[t], int(slid.rows.n_rows == 20))
        slid.predict(X[t])
    fresh.extend(X[40:], y[40:])
    slid.rebuild()
    assert slid.coef.tolist() == fresh.coef.tolist()


def test_the_rank_is_that_of_the_live_rows_with_a_penalty_too():
    X = np.eye(4)[[0, 1, 1, 2]]
    for penalty in (Fixed(), Fixed(1.0)):
        solver = EventSolver(4, penalty, intercept=False)
        solver.extend(X, np.ones(4))
        assert solver.rank == 3
        solver.drop(1)
        assert solver.rank == 2


def test_the_working_store_does_not_grow_with_the_rows_seen():
    rng = np.random.default_rng(6)
    solver = EventSolver(4, Fixed(), intercept=False)
    sizes = set()
    for t in range(3000):
        solver.learn(rng.normal(size=4), 1.0, int(solver.rows.n_rows == 100))
        if t > 500:
            sizes.add(solver.working_store)
    assert len(sizes) == 1


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_accuracy_stays_the_same_over_ten_million_slides():
    rng = np.random.default_rng(7)
    solver, n = EventSolver(5, Fixed(), intercept=False), 100_000
    after = np.ones(n, np.int64)
    X, y = rng.normal(size=(250, 5)), rng.normal(size=250)
    solver.extend(X, y)
    errors = []
    for _ in range(100):
        X, y = rng.normal(size=(n, 5)), rng.normal(size=n)
        solver.replay(X, y, 0 * after, after, Asked(False, False, False))
        exact, _ = naive.solve_exactly(X[-250:], y[-250:], 0.0, False)
        errors.append(np.abs(solver.coef - exact).max() / np.abs(exact).max())
    assert max(errors) < 1e-12
    assert np.mean(errors[50:]) < 3 * np.mean(errors[:50])


def test_the_places_of_rows_that_have_left_hold_zeros():
    rng = np.random.default_rng(0)
    solver = EventSolver(3, Fixed(), intercept=True)
    for t in range(300):
        solver.learn(rng.normal(size=3), 1.0, int(solver.rows.n_rows >= 20))
        if t % 50 == 49:
            solver.remove(np.array([0, 7]))
            solver.drop(3)
        assert solver.rows.clean
    solver.rows.arrays[1][-1] = 1e-300
    assert not solver.rows.clean


def test_replaced_rows_leave_no_trace():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    solver, never = (EventSolver(3, Lemma3(), intercept=True) for _ in range(2))
    for t in range(50):
        solver.learn(X[t], y[t], 0)
        solver.predict(X[t])
    solver.replace(X[100:], y[100:])
    never.extend(X[100:], y[100:])
    assert solver.rows.n_rows == 200
    assert solver.rows.clean
    assert (solver.values()[0] == X[100:]).all()
    assert solver.coef.tolist() == never.coef.tolist()
