import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_events import event_lists, rows_of, run_events
from twins import regression as naive

from efface.live.memory import ADAPTIVE, FIXED, SWITCHING, Memory, Penalty

RULES = {
    "OLS": (Penalty(), ("OLS", {})),
    "ridge": (Penalty(FIXED, 0.5), ("Ridge", {"alpha": 0.5})),
    "adaptive": (Penalty(ADAPTIVE), ("AdaptiveRidge", {"delta": 0.05, "theta_max": 1.0})),
    "switching": (
        Penalty(SWITCHING),
        ("SwitchingRidge", {"delta": 0.05, "theta_max": 1.0, "switch_at": 2.0}),
    ),
}


def assert_exact(memory, X, y, rule, intercept, tolerance=1e-9):
    """The memory's answer against an exact refit of its rows."""
    coef, level, penalty, _ = naive.refit(X, y, rule, intercept)
    unit = np.abs(X - X.mean(0) * intercept).max(axis=0) if len(X) else np.ones(X.shape[1])
    unit[unit == 0] = 1.0
    scale = max(np.abs(coef * unit).max(), 1e-3 * np.abs(y).max(initial=0.0), 1e-300)
    assert memory.penalty_value == pytest.approx(penalty, rel=1e-11, abs=1e-300)
    assert np.abs((memory.coef - coef) * unit).max() <= tolerance * scale
    assert abs(memory.intercept - level) <= tolerance * max(scale, abs(level))


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
    memory = Memory(d, penalty, intercept=intercept)
    for t in range(len(y)):
        memory.learn(X[t], y[t], int(memory.n_rows == s))
        live = slice(max(0, t + 1 - s), t + 1)
        assert_exact(memory, X[live], y[live], naive_rule, intercept)


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

    def check(memory, X, y):
        assert_exact(memory, X, y, naive_rule, intercept)

    run_events(Memory(3, penalty, intercept=intercept), events, X, y, check)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("intercept", [False, True])
def test_a_giant_row_leaves_no_number_behind(rule, intercept):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 4)), rng.normal(size=90)
    X[20] *= 1e8
    y[20] *= 1e8
    penalty, naive_rule = RULES[rule]
    memory = Memory(4, penalty, intercept=intercept)
    for t in range(90):
        memory.learn(X[t], y[t], int(memory.n_rows == 30))
        live = slice(max(0, t - 29), t + 1)
        if t >= 50:
            assert_exact(memory, X[live], y[live], naive_rule, intercept)
            store = np.concatenate([memory._x.ravel(), memory._y.ravel(), memory._floats])
            assert np.abs(store[np.isfinite(store)]).max() < 1e5


def test_a_model_that_never_shrinks_grows_through_all_its_forms():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(120, 5)), rng.normal(size=120)
    memory = Memory(5, Penalty(), intercept=True, shrinks=False)
    for t in range(120):
        memory.append(X[t], y[t])
        assert_exact(memory, X[: t + 1], y[: t + 1], ("OLS", {}), True)


def test_many_rows_cost_one_solution():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(500, 3)), rng.normal(size=500)
    memory = Memory(3, Penalty(), intercept=False)
    memory.extend(X[:300], y[:300])
    memory.drop(250)
    memory.extend(X[300:], y[300:])
    assert_exact(memory, X[250:], y[250:], ("OLS", {}), False)
    assert memory.n_rows == 250


def test_removed_rows_are_overwritten_and_the_rest_starts_anew():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    seen, never = (Memory(2, Penalty(ADAPTIVE), intercept=True) for _ in range(2))
    X[7] = 12345.678
    for t in range(40):
        seen.append(X[t], y[t])
        seen.predict(X[t])
    seen.remove(np.array([7, 30]))
    keep = np.delete(np.arange(40), [7, 30])
    never.extend(X[keep], y[keep])
    assert 12345.678 not in seen._x
    assert seen.coef.tolist() == never.coef.tolist()
    for t in range(10):
        seen.learn(X[t], y[t], 1)
        never.learn(X[t], y[t], 1)
        assert seen.coef.tolist() == never.coef.tolist()


def test_rebuilding_makes_two_histories_one():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    slid, fresh = Memory(3, Penalty(), intercept=True), Memory(3, Penalty(), intercept=True)
    for t in range(60):
        slid.learn(X[t], y[t], int(slid.n_rows == 20))
        slid.predict(X[t])
    fresh.extend(X[40:], y[40:])
    slid.rebuild()
    assert slid.coef.tolist() == fresh.coef.tolist()


def test_rank_is_that_of_the_live_rows_also_under_a_penalty():
    X = np.eye(4)[[0, 1, 1, 2]]
    for penalty in (Penalty(), Penalty(FIXED, 1.0)):
        memory = Memory(4, penalty, intercept=False)
        memory.extend(X, np.ones(4))
        assert memory.rank == 3
        memory.drop(1)
        assert memory.rank == 2


def test_the_working_store_does_not_grow_with_the_rows_seen():
    rng = np.random.default_rng(6)
    memory = Memory(4, Penalty(), intercept=False)
    sizes = set()
    for t in range(3000):
        memory.learn(rng.normal(size=4), 1.0, int(memory.n_rows == 100))
        if t > 500:
            sizes.add(memory.working_store)
    assert len(sizes) == 1


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ten_million_slides_do_not_wear_it():
    rng = np.random.default_rng(7)
    memory, n = Memory(5, Penalty(), intercept=False), 100_000
    after = np.ones(n, np.int64)
    X, y = rng.normal(size=(250, 5)), rng.normal(size=250)
    memory.extend(X, y)
    errors = []
    for _ in range(100):
        X, y = rng.normal(size=(n, 5)), rng.normal(size=n)
        memory.replay(X, y, 0 * after, after, coef=False, diagnostics=False)
        exact, _ = naive.solve_exactly(X[-250:], y[-250:], 0.0, False)
        errors.append(np.abs(memory.coef - exact).max() / np.abs(exact).max())
    assert max(errors) < 1e-12
    assert np.mean(errors[50:]) < 3 * np.mean(errors[:50])


def test_the_places_of_rows_that_left_hold_zeros():
    rng = np.random.default_rng(0)
    memory = Memory(3, Penalty(), intercept=True)
    for t in range(300):
        memory.learn(rng.normal(size=3), 1.0, int(memory.n_rows >= 20))
        if t % 50 == 49:
            memory.remove(np.array([0, 7]))
            memory.drop(3)
        assert memory.clean
    memory._y[-1] = 1e-300
    assert not memory.clean


def test_other_rows_in_the_place_of_all_leave_no_trace():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    memory, never = (Memory(3, Penalty(ADAPTIVE), intercept=True) for _ in range(2))
    for t in range(50):
        memory.append(X[t], y[t])
        memory.predict(X[t])
    memory.replace(X[100:], y[100:])
    never.extend(X[100:], y[100:])
    assert memory.n_rows == 200
    assert memory.clean
    assert (memory.rows()[0] == X[100:]).all()
    assert memory.coef.tolist() == never.coef.tolist()


def test_the_rule_of_a_penalty_that_switches_depends_on_the_rows():
    memory = Memory(3, Penalty(SWITCHING, switch_at=2.0), intercept=True)
    assert Penalty(*memory.rule(6)) == Penalty(SWITCHING, switch_at=2.0)
    assert Penalty(*memory.rule(7)) == Penalty()
    assert Penalty(*Memory(3, Penalty(FIXED, 2.0), intercept=True).rule(7)) == Penalty(FIXED, 2.0)
