"""Local intervals after random events: a function of the live rows alone, on every path."""

from __future__ import annotations

import inspect
from importlib.resources import files

import numpy as np
import polars as pl
import pytest
from command_line import run
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import intervals as naive

from efface import OLS, AutoRidge, Fleet, KeepFor, Ridge, load, replay, rolling
from efface.errors import InvalidValue
from efface.files.streaming import Outputs
from efface.live.trace import RowWindows
from efface.models.intervals import DEFAULT_METHOD, Local
from efface.service.bodies import Questions
from efface.service.client import Client
from efface.store import Store

LEVEL = 0.9  # 15 degrees of freedom are enough
MODELS = {"OLS": {}, "Ridge": {"alpha": 0.7}}


def build(name, **options):
    return {"OLS": OLS, "Ridge": Ridge}[name](**MODELS[name], **options)


def uneven(n, d, seed):
    """Rows whose noise grows with the first feature, some of weight 0."""
    rng = np.random.default_rng([seed, d])
    X = rng.normal(size=(n, d))
    y = X @ np.ones(d) + 3.0 + np.exp(0.7 * X[:, 0]) * rng.normal(size=n)
    return X, y, rng.choice([0.0, 0.5, 1.0, 1.0, 4.0], size=n) if seed % 2 else np.ones(n)


def twin_half(X, y, weights, name, intercept, x):
    window = naive.Window(X, y, (name, MODELS[name]), intercept, weights)
    return naive.local(window, x, LEVEL)


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 4),
    name=st.sampled_from(list(MODELS)),
    intercept=st.booleans(),
    keep=st.sampled_from([None, 45.0]),
)
def test_random_events_leave_the_interval_of_the_live_rows(seed, d, name, intercept, keep):
    """Learn, forget and expire in any order, beside a list of rows and dense algebra."""
    rng = np.random.default_rng(seed)
    X, y, weights = uneven(90, d, seed)
    window = None if keep is None else KeepFor(keep)
    model, live = build(name, window=window, fit_intercept=intercept), []
    for t in range(90):
        model.learn_one(X[t], y[t], id=t, at=float(t), weight=float(weights[t]))
        live = [k for k in live if keep is None or t - k < keep] + [t]
        if rng.random() < 0.15 and len(live) > 5:
            gone = rng.choice(live, size=2, replace=False).tolist()
            model.forget(gone)
            live = [k for k in live if k not in gone]
        if keep is not None and rng.random() < 0.05:
            model.expire(t + 3.0)
            live = [k for k in live if t + 3.0 - k < keep]
    x = rng.normal(size=(1, d))
    found = model.predict_interval(x, LEVEL, "local")
    half = twin_half(X[live], y[live], weights[live], name, intercept, x[0])
    assert (found.upper - found.lower)[0] / 2 == pytest.approx(half, rel=1e-9)


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10**6), standardize=st.booleans(), auto=st.booleans())
def test_forgotten_rows_change_no_bit(seed, standardize, auto):
    rng = np.random.default_rng(seed)
    X, y, weights = uneven(80, 3, seed)
    X[7], y[7] = 1e8, 1e9
    kind = AutoRidge if auto else Ridge
    options = {"window": None, "standardize": standardize}
    model = kind(**options).fit(X, y, sample_weight=weights)
    model.predict_interval(X[:2], LEVEL, "local")
    gone = [7, *rng.choice(np.arange(8, 80), size=5, replace=False).tolist()]
    model.forget(gone)
    kept = np.setdiff1d(np.arange(80), gone)
    other = kind(**options).fit(X[kept], y[kept], ids=kept, sample_weight=weights[kept])
    one, two = (m.predict_interval(X[10:14], LEVEL, "local") for m in (model, other))
    assert all((a == b).all() for a, b in zip(one, two, strict=True))


@pytest.mark.parametrize("model", [OLS, AutoRidge, lambda **o: Ridge(standardize=True, **o)])
def test_all_paths_have_the_same_intervals(model, tmp_path):
    X, y, _ = uneven(150, 3, 2)
    whole = replay(model(window=60), X, y, interval=LEVEL, method="local")
    single = model(window=60)
    for t in range(150):
        if t >= 60:
            found = single.predict_interval(X[t : t + 1], LEVEL, "local")
            assert whole.lower[t] == pytest.approx(found.lower[0], rel=1e-9)
            assert whole.upper[t] == pytest.approx(found.upper[0], rel=1e-9)
        single.learn_one(X[t], y[t])
    single.save(tmp_path / "model.efface")
    one, two = (
        m.predict_interval(X, LEVEL, "local") for m in (single, load(tmp_path / "model.efface"))
    )
    assert all((a == b).all() for a, b in zip(one, two, strict=True))
    fleet = Fleet(model(window=60))
    keys = np.arange(300) % 2
    both = fleet.replay(
        keys, np.repeat(X, 2, axis=0), np.repeat(y, 2), interval=LEVEL, method="local"
    )
    for key in (0, 1):
        assert both.upper[key::2][60:] == pytest.approx(whole.upper[60:], rel=1e-9)
    last = fleet.predict_interval([1, 0], X[:2], LEVEL, "local")
    assert last.upper == pytest.approx(one.upper[:2], rel=1e-9)


def test_rolling_intervals_are_those_of_a_replay():
    X, y, _ = uneven(150, 3, 4)
    one = replay(OLS(window=60), X, y, interval=LEVEL, method="local", lower=1.0, upper=5.0)
    two = rolling(X, y, 60, interval=LEVEL, method="local", lower=1.0, upper=5.0)
    assert two.lower[60:] == pytest.approx(one.lower[60:], rel=1e-9)
    assert two.upper[60:] == pytest.approx(one.upper[60:], rel=1e-9)


def test_long_replays_are_cut_into_parts_without_a_seam():
    X, y, _ = uneven(17_000, 1, 6)
    whole = replay(OLS(window=40), X, y, interval=LEVEL, method="local")
    later = replay(OLS(window=40), X[16_300:], y[16_300:], interval=LEVEL, method="local")
    assert whole.coef is None
    assert whole.upper[16_350:] == pytest.approx(later.upper[50:], rel=1e-9)
    with_coef = replay(OLS(window=40), X, y, interval=LEVEL, method="local", coef=True)
    assert with_coef.upper == pytest.approx(whole.upper, rel=1e-9)


def test_repeated_rows_and_a_constant_response():
    """Windows of low rank, without noise, and with rows that no other row predicts."""
    rng = np.random.default_rng(0)
    X = np.eye(4)[rng.integers(0, 4, size=80)]
    X[40] = [0.0, 0.0, 0.0, 9.0]
    y = X @ [1.0, 2.0, 3.0, 4.0] + rng.normal(size=80)
    for intercept in (False, True):
        found = OLS(fit_intercept=intercept).fit(X, y).predict_interval(X[:4], LEVEL, "local")
        assert (found.upper > found.lower).all()
        assert np.isfinite(found.upper).all()
    flat = OLS().fit(X, np.full(80, 2.5)).predict_interval(X[:4], LEVEL, "local")
    assert flat.upper - flat.lower == pytest.approx(np.zeros(4), abs=1e-9)


def test_few_rows_have_gaussian_intervals():
    X, y, _ = uneven(19, 3, 8)
    model = OLS().fit(X[:18], y[:18])  # 14 degrees of freedom
    few, plain = (model.predict_interval(X, LEVEL, method) for method in ("local", "gaussian"))
    assert all((a == b).all() for a, b in zip(few, plain, strict=True))
    model.learn_one(X[18], y[18])
    few, plain = (model.predict_interval(X, LEVEL, method) for method in ("local", "gaussian"))
    assert (few.upper != plain.upper).all()


# -- limits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["gaussian", "conformal", "self-normalized", "local"])
def test_predictions_and_intervals_stay_within_the_limits(method):
    X, y, _ = uneven(100, 2, 3)
    model = OLS().fit(X, y)
    free = model.predict_interval(X, LEVEL, method)
    kept = model.predict_interval(X, LEVEL, method, lower=2.0, upper=4.0)
    assert (kept.prediction == np.clip(free.prediction, 2.0, 4.0)).all()
    assert (kept.lower == np.clip(free.lower, 2.0, 4.0)).all()
    assert (kept.upper == np.clip(free.upper, 2.0, 4.0)).all()
    one = model.predict_interval(X, LEVEL, method, lower=2.0)
    assert (one.upper == np.maximum(free.upper, 2.0)).all()


def test_an_infinite_interval_ends_at_the_limits_too():
    found = OLS().fit([[0.0]], [1.0]).predict_interval([[4.0]], lower=0.0)
    assert (found.lower[0], found.upper[0]) == (0.0, np.inf)
    assert "too few" in found.reason


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ({"lower": np.nan}, "'lower' is nan: expected a finite number"),
        ({"upper": "9"}, "'upper' is '9': expected a finite number"),
        ({"lower": 3, "upper": 3}, "'lower' is 3: expected less than 'upper', 3"),
    ],
)
def test_invalid_limits_are_refused_before_anything_is_learned(limits, text):
    X, y, _ = uneven(30, 2, 0)
    model = OLS(window=10).fit(X, y)
    with pytest.raises(InvalidValue, match=text):
        model.predict_interval(X, **limits)
    with pytest.raises(InvalidValue, match=text):
        replay(model, X, y, interval=0.9, **limits)
    assert model.ids_ == list(range(20, 30))


# -- coverage --------------------------------------------------------------------------------------


def test_coverage_in_each_third_of_the_noise_where_gaussian_intervals_fail():
    X, y, _ = uneven(4_500, 3, 10)
    noise = np.exp(0.7 * X[:, 0])
    third = np.searchsorted(np.quantile(noise, [1 / 3, 2 / 3]), noise)[500:]
    found = {}
    for method in ("gaussian", "local"):
        result = replay(OLS(window=500), X, y, interval=LEVEL, method=method)
        inside = ((result.lower <= y) & (y <= result.upper))[500:]
        found[method] = [100 * inside[third == k].mean() for k in range(3)]
        assert 100 * inside.mean() == pytest.approx(90.0, abs=2.5)
    assert found["local"] == pytest.approx([90.0] * 3, abs=4.0)
    assert found["gaussian"][2] < 82.0
    assert found["gaussian"][0] > 97.0


def test_coverage_of_the_demo_in_each_hour_of_the_day():
    rows = files("efface.files").joinpath("sample", "bikeshare.csv").read_bytes()
    frame = pl.read_csv(rows, try_parse_dates=True)
    features = ["temp", "hum", "windspeed", "slot"]
    result = replay(
        AutoRidge(window="30d"),
        frame,
        y="bikers",
        x=features,
        one_hot=["slot"],
        at="time",
        interval=0.95,
        method="local",
        lower=0.0,
    )
    lower, upper, y = (np.asarray(each) for each in (result.lower, result.upper, frame["bikers"]))
    known, inside = np.isfinite(upper), (lower <= y) & (y <= upper)
    hours = [100 * inside[known & (frame["hr"].to_numpy() == hour)].mean() for hour in range(24)]
    assert 94.0 < 100 * inside[known].mean() < 96.0
    assert min(hours) > 90.0
    assert max(hours) < 98.0
    assert (upper - lower)[known].mean() < 150.0


def test_coverage_where_coefficients_drift():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(5_200, 10))
    theta = np.cumsum(0.03 * rng.normal(size=(5_200, 10)), axis=0)
    y = np.einsum("ij,ij->i", X, theta) + rng.normal(size=5_200)
    covered = {}
    for method in ("gaussian", "local"):
        result = replay(OLS(window=200), X, y, interval=LEVEL, method=method)
        covered[method] = 100 * ((result.lower <= y) & (y <= result.upper))[200:].mean()
    assert covered["local"] == pytest.approx(90.0, abs=1.5)
    assert covered["gaussian"] < 87.5


# -- what the method promises ----------------------------------------------------------------------


def test_weights_count_rows_in_units_of_their_mean():
    """Any unit of the weights gives the same widths; rows of weight 0 are not there."""
    X, y, weights = uneven(90, 2, 5)
    models = [OLS().fit(X, y, sample_weight=unit * weights) for unit in (1.0, 64.0)]
    kept = weights > 0.0
    models.append(OLS().fit(X[kept], y[kept], sample_weight=weights[kept]))
    halves = []
    for model in models:
        windows = RowWindows.alike(*model._live.values(), X[:5])
        coef, level = np.tile(model.coef_, (5, 1)), np.full(5, model.intercept_)
        windows = windows._replace(coef=coef, intercept=level)
        halves.append(Local(LEVEL)._spreads(windows, np.ones(5))[0])
    assert halves[1] == pytest.approx(halves[0], rel=1e-12)
    assert halves[2] == pytest.approx(halves[0], rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_half_lives_are_weights(seed):
    X, y, weights = uneven(120, 2, 2 * seed + 1)
    model = OLS(halflife=40).fit(X, y, sample_weight=weights)
    halvings = (np.arange(120) - 119) / 40
    windows = RowWindows.alike(X, y, weights, X[:3])._replace(halvings=halvings)
    coef, level = np.tile(model.coef_, (3, 1)), np.full(3, model.intercept_)
    found = Local(LEVEL)._spreads(windows._replace(coef=coef, intercept=level), np.full(3, 1.1))
    kept = weights > 0.0
    rows = X[kept], y[kept], weights[kept], 2.0 ** halvings[kept]
    for t in range(3):
        want = naive.local_half(*rows, coef[0], level[0], 1.1, X[t], 1.0 - LEVEL)
        assert (found[0][t], found[1][t]) == pytest.approx(want, rel=1e-9)
    assert np.isfinite(model.predict_interval(X[:3], LEVEL).upper).all()


def test_of_a_large_window_the_newest_rows_are_used():
    X, y, _ = uneven(1_500, 2, 9)
    model = OLS().fit(X, y)
    before = model.predict_interval(X[:4], LEVEL)
    windows = RowWindows.alike(X, y, np.ones(1_500), X[:4])
    coef, level = np.tile(model.coef_, (4, 1)), np.full(4, model.intercept_)
    newest = RowWindows.alike(X[500:], y[500:], np.ones(1_000), X[:4])
    halves = [
        Local(LEVEL)._spreads(each._replace(coef=coef, intercept=level), np.ones(4))[0]
        for each in (windows, newest)
    ]
    assert (halves[0] == halves[1]).all()
    assert np.isfinite(before.upper).all()


def test_a_row_far_from_the_live_rows_has_a_reason():
    X, y, _ = uneven(100, 2, 11)
    found = OLS().fit(X, y).predict_interval([[0.0, 0.0], [1e4, 0.0]], LEVEL)
    assert "of row 1 of X" in found.reason
    assert "leverage" in found.reason
    assert OLS().fit(X, y).predict_interval(X[:5], LEVEL).reason is None


@pytest.mark.parametrize("features", ["binary", "slow", "one level"])
def test_widths_of_equal_noise_stay_near_those_of_gaussian_intervals(features):
    rng = np.random.default_rng(12)
    X = {
        "binary": rng.integers(0, 2, size=(2_000, 1)).astype(float),
        "slow": np.cumsum(rng.normal(size=(2_000, 1)), axis=0) / 50,
        "one level": np.ones((2_000, 1)),
    }[features]
    y = rng.normal(size=2_000)
    local, plain = (
        replay(AutoRidge(window=200), X, y, interval=0.95, method=method)
        for method in ("local", "gaussian")
    )
    widths = [(each.upper - each.lower)[200:] for each in (local, plain)]
    assert widths[0].mean() < 1.08 * widths[1].mean()
    assert widths[0].max() < 2.5 * widths[1].max()


def test_the_default_is_one_everywhere():
    calls = (OLS.predict_interval, replay, rolling, Fleet.replay, Fleet.predict_interval)
    calls += (Store.predict_interval, Client.predict_interval)
    assert {inspect.signature(call).parameters["method"].default for call in calls} == {"local"}
    body = Questions(rows=[{"x": [1.0]}], interval=0.9)
    assert body.method == Outputs().method == DEFAULT_METHOD == "local"
    assert "[default: local]" in run("replay", "--help").stdout
