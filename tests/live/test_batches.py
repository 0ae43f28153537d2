"""A replay in batches of windows equals a replay row by row, and so does the solver after it."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_events import rows_of
from twins import regression as naive

from efface import OLS, AdaptiveRidge, KeepFor, Ridge, SwitchingRidge, replay
from efface.live import batches, replays
from efface.live.batches import SlidingReplay
from efface.live.event_solver import EventSolver
from efface.live.penalties import AUTO, RESIDUAL, RESPONSE, Fixed, Lemma3
from efface.live.solvers import solver_for
from efface.live.trace import Asked, joined

N = 330
ALL = Asked(coef=True, diagnostics=True, gauges=True)
PENALTIES = {
    "OLS": Fixed(),
    "ridge": Fixed(0.5),
    "adaptive": Lemma3(),
    "switching": Lemma3(switch_at=5.0),
    "residual noise": Lemma3(theta_max=AUTO, noise=RESIDUAL),
    "auto": Lemma3(theta_max=AUTO, noise=RESPONSE),
    "residual noise, switching": Lemma3(theta_max=2.0, switch_at=5.0, noise=RESIDUAL),
}
STREAMS = ["plain", "scaled", "tiny", "huge", "duplicated", "correlated", "shifted", "constant"]


@pytest.fixture
def batched(monkeypatch):
    """The number of windows in each call of the kernel; every replay is long enough for it."""
    counts = []
    kernel = batches.replay_windows

    def counted(*arguments):
        margin = kernel(*arguments)
        counts.append(margin.size)
        return margin

    monkeypatch.setattr(batches, "replay_windows", counted)
    monkeypatch.setattr(replays, "LONG", 0)
    return counts


def rows_like(kind, n, d, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rows_of(kind, n, d, rng)
    if kind == "constant":  # in some windows
        X[60:200, 0] = 1.5
        X[220:260, -1] = 0.0
    return X, y


def slide(n, s):
    """The schedule of a window of s rows that starts empty."""
    return np.zeros(n, np.int64), (np.arange(n) >= s).astype(np.int64)


def one_by_one(solver, X, y, before, after, asked, *, intercept):
    return solver.replay(X, y, before, after, asked)


def in_batches(solver, X, y, before, after, asked, *, intercept):
    return SlidingReplay(solver, asked).batched(X, y, before, after, np.ones(y.size))


def through(way, solver, X, y, s, intercept, cuts=(), asked=ALL):
    before, after = slide(len(y), s)
    edges, parts = [0, *cuts, len(y)], []
    for a, b in pairwise(edges):
        part = slice(a, b)
        parts.append(
            way(solver, X[part], y[part], before[part], after[part], asked, intercept=intercept)
        )
    return joined(parts)


def assert_same(found, expected, X, *, penalised, rel=1e-9):
    assert (found.n_rows == expected.n_rows).all()
    assert (found.rank == expected.rank).all()
    assert (found.gauges.rank == expected.gauges.rank).all()
    unit = np.abs(X).max(axis=0)
    agree(found.coef * unit, expected.coef * unit, rel)
    for name in ("prediction", "penalty", "intercept", "leverage_new", "leverage_old", "frt"):
        agree(getattr(found, name), getattr(expected, name), rel)
    for name in ("leverage", "unexplained", "scatter", "size"):
        agree(getattr(found.gauges, name), getattr(expected.gauges, name), rel)
    if not penalised:  # else it is not defined
        agree(found.gauges.image_square, expected.gauges.image_square, rel)


def agree(found, expected, rel):
    finite = np.isfinite(expected)
    assert (np.isfinite(found) == finite).all()
    scale = np.abs(expected[finite]).max(initial=0.0)
    assert (np.abs(found[finite] - expected[finite]) <= rel * scale).all()


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize(("d", "s"), [(2, 4), (3, 22), (6, 40)])
def test_a_replay_in_batches_equals_one_row_by_row(batched, name, intercept, kind, d, s):
    if kind == "shifted" and not intercept:
        pytest.skip("means of 1e6 without an intercept: a condition beyond 1e4")
    X, y = rows_like(kind, N, d, seed=d)
    solver, twin = (
        solver_for(d, PENALTIES[name], intercept=intercept, shrinks=True) for _ in range(2)
    )
    found = through(in_batches, solver, X, y, s, intercept)
    expected = through(one_by_one, twin, X, y, s, intercept)
    assert batched == [N - s]
    assert_same(found, expected, X, penalised=name != "OLS")
    agree(found.phi2, expected.phi2, 1e-12)
    agree(found.condition, expected.condition, 1e-12)
    assert (solver.values()[0] == X[-s:]).all()
    assert (solver.values()[1] == y[-s:]).all()


@pytest.mark.parametrize(("d", "intercept"), [(27, True), (28, False)])
def test_the_largest_number_of_features_is_replayed_in_batches(batched, d, intercept):
    X, y = rows_like("plain", 400, d)
    solver, twin = (
        solver_for(d, PENALTIES["residual noise"], intercept=intercept, shrinks=True)
        for _ in range(2)
    )
    found = through(in_batches, solver, X, y, 90, intercept)
    assert batched == [310]
    assert_same(found, through(one_by_one, twin, X, y, 90, intercept), X, penalised=True)


def twin_rule(penalty):
    """The rule of a penalty, as the twins name it."""
    if isinstance(penalty, Fixed):
        return "Ridge", {"alpha": penalty.alpha}
    name = "AdaptiveRidge" if penalty.switch_at == np.inf else "SwitchingRidge"
    parameters = {
        "delta": penalty.delta,
        "theta_max": "auto" if penalty.theta_max == AUTO else penalty.theta_max,
        "noise": "residual" if penalty.noise == RESIDUAL else "response",
        "switch_at": penalty.switch_at,
    }
    return name, parameters


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", ["plain", "constant", "scaled"])
def test_predictions_and_penalties_equal_refits(batched, name, intercept, kind):
    d, s = 3, 15
    X, y = rows_like(kind, 300, d, seed=4)
    penalty = PENALTIES[name]
    rule = twin_rule(penalty)
    solver = solver_for(d, penalty, intercept=intercept, shrinks=True)
    found = through(in_batches, solver, X, y, s, intercept)
    unit = np.abs(X).max(axis=0)
    for t in range(s, 300, 7):
        window, responses = X[t - s : t], y[t - s : t]
        coef, level, lam, rank = naive.refit(window, responses, rule, intercept)
        scale = max(np.abs(coef * unit).max(), np.abs(responses).max())
        assert np.abs((found.coef[t] - coef) * unit).max() <= 1e-9 * scale
        assert abs(found.prediction[t] - (X[t] @ coef + level)) <= 1e-9 * scale
        assert found.penalty[t] == pytest.approx(lam, rel=1e-9)
        assert found.rank[t] == rank


@pytest.mark.parametrize("name", ["OLS", "ridge", "residual noise"])
def test_chunks_change_no_more_than_rounding(batched, name):
    X, y = rows_like("plain", 1500, 4)
    solver, whole = (solver_for(4, PENALTIES[name], intercept=True, shrinks=True) for _ in range(2))
    found = through(in_batches, solver, X, y, 30, True, cuts=(7, 300, 301, 600, 930))
    expected = through(in_batches, whole, X, y, 30, True)
    assert len(batched) > 3
    assert_same(found, expected, X, penalised=name != "OLS", rel=1e-12)


@settings(deadline=None, max_examples=25)
@given(
    name=st.sampled_from(list(PENALTIES)),
    kind=st.sampled_from(STREAMS[:6]),
    intercept=st.booleans(),
    s=st.integers(5, 60),
    cuts=st.lists(st.integers(1, 1399), max_size=3, unique=True),
    gone=st.lists(st.integers(0, 10**6), max_size=4),
    asked=st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_rows_may_be_forgotten_between_chunks(name, kind, intercept, s, cuts, gone, asked):
    """After forgetting, the window grows again before it slides."""
    X, y = rows_like(kind, 1400, 3, seed=s)
    solver, twin = (
        solver_for(3, PENALTIES[name], intercept=intercept, shrinks=True) for _ in range(2)
    )
    edges = [0, *sorted(cuts), 1400]
    for a, b in pairwise(edges):
        left = np.maximum(solver.n_rows + np.arange(1, b - a + 1) - s, 0)
        after, none = np.diff(left, prepend=0), np.zeros(b - a, np.int64)
        rows = X[a:b], y[a:b], none, after, Asked(*asked)
        found = in_batches(solver, *rows, intercept=intercept)
        expected = one_by_one(twin, *rows, intercept=intercept)
        for one, other in zip(found, expected, strict=True):
            assert (one is None) == (other is None)
        agree(found.prediction, expected.prediction, 1e-9)
        agree(found.penalty, expected.penalty, 1e-9)
        positions = np.unique(np.array(gone, dtype=np.intp) % solver.n_rows)
        solver.remove(positions)
        twin.remove(positions)
        assert (solver.values()[0] == twin.values()[0]).all()
        assert solver.coef.tolist() == twin.coef.tolist()  # the state follows from the rows


@pytest.mark.parametrize("name", ["OLS", "residual noise"])
def test_no_number_of_rows_that_have_left_remains(batched, name):
    X, y = rows_like("plain", N, 3)
    X[250], y[250] = 12345.678, -98765.25
    solver = solver_for(3, PENALTIES[name], intercept=True, shrinks=True)
    through(in_batches, solver, X, y, 20, True)
    never = solver_for(3, PENALTIES[name], intercept=True, shrinks=True)
    never.extend(X[-20:], y[-20:])
    assert solver.residues() == []
    assert solver.coef.tolist() == never.coef.tolist()
    store = np.concatenate([*map(np.ravel, solver.rows.arrays[:2]), *solver.stores])
    assert np.abs(store[np.isfinite(store)]).max() < 1e4


@pytest.mark.parametrize(
    ("d", "s", "n"), [(3, 4, 330), (28, 60, 330), (3, 20, 200), (3, 4000, 4300), (40, 100, 400)]
)
def test_short_replays_and_many_features_go_row_by_row(batched, d, s, n):
    X, y = rows_like("plain", n, d)
    solver = EventSolver(d, Fixed(1.0), intercept=True)
    found = through(in_batches, solver, X, y, s, True, asked=Asked(False, False, False))
    twin = EventSolver(d, Fixed(1.0), intercept=True)
    expected = through(one_by_one, twin, X, y, s, True, asked=Asked(False, False, False))
    assert not batched
    assert (found.prediction == expected.prediction).all()


def test_only_the_longest_regular_part_of_a_schedule_is_batched(batched):
    X, y = rows_like("plain", 800, 3)
    before, after = slide(800, 30)
    before[[5, 400, 790]] += 2
    after[100] = 0
    solver, twin = (EventSolver(3, Fixed(), intercept=True) for _ in range(2))
    found = in_batches(solver, X, y, before, after, ALL, intercept=True)
    expected = one_by_one(twin, X, y, before, after, ALL, intercept=True)
    assert batched == [389]
    assert_same(found, expected, X, penalised=False)


# -- models ------------------------------------------------------------------------------------

MODELS = {
    "OLS": lambda window: OLS(window),
    "Ridge": lambda window: Ridge(window, alpha=2.0),
    "AdaptiveRidge": lambda window: AdaptiveRidge(window),
    "SwitchingRidge": lambda window: SwitchingRidge(window),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("method", ["gaussian", "self-normalized", "local"])
def test_a_long_replay_of_a_model_equals_short_ones(monkeypatch, name, method):
    X, y = rows_like("plain", 700, 4, seed=3)
    options = {"diagnostics": True, "coef": True, "interval": 0.9, "method": method}
    short, long = MODELS[name](25), MODELS[name](25)
    expected = replay(short, X, y, **options)
    monkeypatch.setattr(replays, "LONG", 0)
    found = replay(long, X, y, **options)
    for field in ("prediction", "penalty", "lower", "upper", "leverage_new", "frt", "phi2"):
        agree(getattr(found, field), getattr(expected, field), 1e-9)
    assert long.ids_ == short.ids_
    long.forget(long.ids_[3])
    short.forget(short.ids_[3])
    assert long.coef_.tolist() == short.coef_.tolist()


def test_a_duration_over_evenly_spaced_times_is_batched_too(batched):
    X, y = rows_like("plain", 600, 3)
    at = np.arange(600.0)
    found = replay(OLS(KeepFor(26)), X, y, at=at)
    expected = replay(OLS(25), X, y)
    assert batched == [600 - 25 - 1, 600 - 25]
    agree(found.prediction, expected.prediction, 1e-9)


def test_batches_begin_once_enough_rows_have_come(monkeypatch):
    X, y = rows_like("plain", 900, 3)
    monkeypatch.setattr(replays, "LONG", 700)
    calls = []
    kernel = batches.replay_windows
    monkeypatch.setattr(batches, "replay_windows", lambda *given: calls.append(1) or kernel(*given))
    model = Ridge(20)
    for start in (0, 300):
        replay(model, X[start : start + 300], y[start : start + 300])
    assert not calls
    replay(model, X[600:], y[600:])
    assert calls


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("kind", ["copied", "one-hot", "constant", "independent", "correlated"])
def test_many_dependent_features_are_solved_in_blocks(kind, alpha, intercept, monkeypatch):
    n, d, s = 700, 31, 80
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, d))
    if kind == "copied":
        X[:, 1] = X[:, 0]
    elif kind == "one-hot":
        X[:, :4] = np.eye(4)[rng.integers(0, 4, n)]
    elif kind == "constant":
        X[:, 3] = 3.7
    elif kind == "correlated":
        X[:, 1] = X[:, 0] + 1e-4 * X[:, 1]
    y = X @ rng.normal(size=d) + rng.normal(size=n)
    blocks, slide = [], batches.slide_many_features
    monkeypatch.setattr(batches, "slide_many_features", lambda *a: blocks.append(slide(*a)))
    penalty = Fixed(alpha)
    one, other = (EventSolver(d, penalty, intercept=intercept) for _ in "ab")
    none, leaving = np.zeros(n - s, np.int64), np.ones(n - s, np.int64)
    for solver in (one, other):
        solver.extend(X[:s], y[:s])
    asked = Asked(True, False, False)
    found = SlidingReplay(one, asked).batched(X[s:], y[s:], none, leaving, np.ones(n - s))
    right = other.replay(X[s:], y[s:], none, leaving, asked)
    assert found.prediction == pytest.approx(right.prediction, rel=1e-8, abs=1e-8)
    assert found.coef == pytest.approx(right.coef, rel=1e-7, abs=1e-8)
    assert found.intercept == pytest.approx(right.intercept, rel=1e-8, abs=1e-8)
    if alpha == 0.0:
        assert (found.rank == right.rank).all()
        dependent = kind == "copied" or (intercept and kind in ("one-hot", "constant"))
        assert bool(blocks) == dependent
    assert one.predict(X[0]) == pytest.approx(other.predict(X[0]), rel=1e-9)
