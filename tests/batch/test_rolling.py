"""``rolling``: every window compared with a refit, weighted or not, and the other outputs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from samples import OUTPUTS, WEIGHINGS, check, close, data, ticks
from twins import regression as naive

from efface import OLS, AutoRidge, KeepFor, Ridge, replay, rolling
from efface.errors import BadRow, InvalidValue


@pytest.mark.parametrize("min_rows", [None, 1, 3])
@pytest.mark.parametrize("alpha", [0.0, 0.7])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("d", "window"), [(1, 5), (3, 4), (4, 3), (4, 12), (6, 50)])
def test_every_window_equals_a_refit(d, window, intercept, alpha, min_rows):
    X, y = data(40, d)
    result = rolling(
        X, y, window, alpha=alpha, fit_intercept=intercept, min_rows=min_rows, outputs=OUTPUTS
    )
    check(result, naive.rolling(X, y, window, alpha, intercept, min_rows))


weighings = pytest.mark.parametrize("weighing", list(WEIGHINGS))


@weighings
@pytest.mark.parametrize("alpha", [0.0, 0.7])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("d", "window"), [(1, 5), (3, 4), (4, 3), (4, 12), (6, 50)])
def test_every_weighted_window_equals_a_refit(d, window, intercept, alpha, weighing):
    X, y = data(60, d)
    w = WEIGHINGS[weighing](np.random.default_rng([d, window]), 60)
    asked = {"min_rows": 1, "outputs": OUTPUTS, "sample_weight": w}
    result = rolling(X, y, window, alpha=alpha, fit_intercept=intercept, **asked)
    wanted = naive.rolling(X, y, window, alpha, intercept, 1, weights=w)
    assert (result.rank == wanted[2]).all()
    for t in range(60):  # row by row: the size of the coefficients changes with a weight of 1e8
        size = np.abs(wanted[0][t]).max() + abs(wanted[1][t])
        assert np.abs(result.coef[t] - wanted[0][t]).max() <= 1e-9 * size
        assert abs(result.intercept[t] - wanted[1][t]) <= 1e-9 * size


@pytest.mark.parametrize(("d", "window"), [(40, 20), (40, 90)])
@pytest.mark.parametrize("alpha", [0.0, 0.7])
@weighings
def test_weighted_windows_of_many_features(d, window, alpha, weighing):
    X, y = data(150, d)
    w = WEIGHINGS[weighing](np.random.default_rng(d), 150)
    result = rolling(
        X,
        y,
        window,
        alpha=alpha,
        fit_intercept=True,
        sample_weight=w,
        outputs=["coef", "intercept"],
    )
    for t in range(window - 1, 150, 7):
        rows = slice(t - window + 1, t + 1)
        A = X[rows]
        for _ in range(2):  # a weight of 1e8 amplifies the rounding of the mean
            A = A - np.average(A, axis=0, weights=w[rows])
        A = np.sqrt(w[rows])[:, None] * A
        b = np.sqrt(w[rows]) * (y[rows] - np.average(y[rows], weights=w[rows]))
        A = np.vstack([A, np.sqrt(alpha) * np.eye(d)])
        coef = np.linalg.lstsq(A, np.append(b, np.zeros(d)), rcond=None)[0]
        assert np.abs(result.coef[t] - coef).max() <= 1e-8 * np.abs(coef).max()


def test_nothing_remains_of_a_weight_of_1e8():
    X, y = data(200, 4)
    w = np.ones(200)
    w[50] = 1e8
    for intercept in (False, True):
        result = rolling(X, y, 30, fit_intercept=intercept, sample_weight=w)
        plain = rolling(X, y, 30, fit_intercept=intercept)
        assert np.abs(result.coef[80:] / plain.coef[80:] - 1).max() < 1e-9
        assert np.abs(result.coef[79] / plain.coef[79] - 1).max() > 1e-3


def test_weights_of_1_change_no_bit():
    X, y = data(80, 3)
    for asked in ({"alpha": 0.5}, {"stats": True, "fit_intercept": True}):
        one, other = (rolling(X, y, 9, **asked, sample_weight=w) for w in (None, np.ones(80)))
        assert (one.coef == other.coef)[9:].all()


def test_a_row_of_weight_0_counts_in_the_window():
    X, y = data(12, 1)
    w = np.ones(12)
    w[8:11] = 0.0
    result = rolling(X, y, 4, fit_intercept=False, sample_weight=w)
    assert result.coef[11, 0] == pytest.approx(y[11] / X[11, 0])
    assert result.coef[10, 0] == pytest.approx(y[7] / X[7, 0])


def test_the_rank_of_rank_deficient_windows():
    rng = np.random.default_rng(0)
    X = np.eye(6)[rng.integers(0, 6, size=200)]
    y = rng.normal(size=200)
    for alpha in (0.0, 1.0):
        result = rolling(
            X, y, 8, fit_intercept=False, alpha=alpha, outputs=["coef", "rank"], min_rows=1
        )
        expected = naive.rolling(X, y, 8, alpha, min_rows=1)
        check(result, expected)
        assert set(result.rank) > {3, 4, 5}


def test_predictions_use_earlier_rows_only():
    X, y = data(30, 2)
    first = rolling(X, y, 10).prediction
    X[20:], y[20:] = 7.0, -7.0
    X[20] = data(30, 2)[0][20]
    assert (rolling(X, y, 10).prediction[:21] == first[:21])[10:].all()


@pytest.mark.parametrize("n", [0, 1, 4])
def test_fewer_rows_than_the_window(n):
    X, y = data(10, 3)
    result = rolling(X[:n], y[:n], 5, fit_intercept=False)
    assert result.coef.shape == (n, 3)
    assert np.isnan(result.coef).all()
    assert (result.rank == -1).all()
    check(
        rolling(X[:n], y[:n], 5, fit_intercept=False, min_rows=1),
        naive.rolling(X[:n], y[:n], 5, min_rows=1),
    )


def test_neither_input_nor_result_is_shared():
    X, y = data(20, 2)
    before = X.copy(), y.copy()
    result = rolling(X, y, 5)
    assert np.array_equal(X, before[0])
    assert np.array_equal(y, before[1])
    assert not np.shares_memory(result.coef, X)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"window": 0}, "'window' is 0: expected a whole number of at least 1"),
        ({"window": "90d"}, "'at' is None: expected the time of the row, which KeepFor"),
        ({"window": "ninety"}, "'duration' is 'ninety': expected a length of time"),
        ({"window": 2.0}, "'window' is 2.0: expected a number of rows, a duration"),
        ({"alpha": -1}, "'alpha' is -1: expected a finite number of at least 0"),
        ({"fit_intercept": "no"}, "'fit_intercept' is 'no': expected True or False"),
        ({"min_rows": 0}, "'min_rows' is 0: expected a whole number of at least 1"),
        ({"min_rows": 6}, "'min_rows' is 6: expected at most the window, 5"),
        ({"threads": 0}, "'threads' is 0"),
        ({"missing": "drop"}, "'missing' is 'drop': expected 'raise' or 'skip'"),
        ({"outputs": ["coefs"]}, "'outputs' is 'coefs': expected some of "),
        ({"groups": [1, 2]}, r"'groups' is \(2,\): expected the shape \(10,\)"),
        ({"groups": ["a"] * 9 + [None]}, r"'groups\[9\]' is None: expected a label"),
        ({"groups": np.array(["2024"] * 9 + ["NaT"], "M8[D]")}, r"'groups\[9\]' is None"),
        ({"groups": [1.0] * 8 + [math.nan] * 2}, r"'groups\[8\]' is nan: expected a label"),
        ({"y": [1.0] * 9}, r"'y' is \(9,\): expected the shape \(10,\)"),
        ({"sample_weight": [1.0] * 9}, r"'sample_weight' is \(9,\): expected the shape \(10,\)"),
        (
            {"sample_weight": [1.0] * 9 + [-1.0]},
            r"'sample_weight' at row 9 is -1.0: expected a number from 0 to 1e\+300; use weight",
        ),
        ({"y": "ret"}, "'y' is 'ret': expected no name, since 'X' is an array"),
        ({"x": ["a"]}, r"'x' is \['a'\]: expected no name, since 'X' is an array"),
        ({"groups": [1] * 10, "by": [1] * 10}, "'by' is .*: expected None beside 'groups'"),
        ({"interval": 1.5}, "'interval' is 1.5"),
        ({"interval": 0.9, "method": "magic"}, "'method' is 'magic'"),
        ({"at": [0.0] * 9}, r"'at' is \(9,\): expected the shape \(10,\)"),
        ({"window": "2d", "at": np.arange(10.0)}, "'at' is numbers: expected calendar times"),
    ],
)
def test_rolling_refuses_invalid_arguments(change, text):
    X, y = data(10, 2)
    with pytest.raises(InvalidValue, match=text):
        rolling(**{"X": X, "y": y, "window": 5, **change})


def test_rolling_refuses_values_that_are_not_finite():
    X, y = data(10, 2)
    X[3, 1] = math.nan
    with pytest.raises(BadRow, match="'X' at row 3, column 1 is NaN"):
        rolling(X, y, 5)
    X[3, 1] = math.inf
    with pytest.raises(BadRow, match="'X' at row 3, column 1 is infinity"):
        rolling(X, y, 5, missing="skip")


def test_residuals_and_errors_on_request():
    X, y = data(30, 2)
    plain = rolling(X, y, 10)
    assert plain.residual is plain.error is None
    result = rolling(X, y, 10, outputs=["residual", "error"])
    assert result.fitted is result.prediction is result.coef is None
    assert np.array_equal(result.residual, y - plain.fitted, equal_nan=True)
    assert np.array_equal(result.error, y - plain.prediction, equal_nan=True)


def test_singular_windows_are_flagged():
    rng = np.random.default_rng(0)
    X, y = np.eye(3)[rng.integers(0, 3, size=60)], rng.normal(size=60)
    result = rolling(X, y, 5, fit_intercept=False)
    assert result.singular.tolist() == [0 <= rank < 3 for rank in result.rank]
    assert 0 < result.singular.sum() < 56
    assert not result.singular[:4].any()
    assert rolling(X, y, 5, fit_intercept=False, alpha=1.0).singular is None


@pytest.mark.parametrize("window", [12, KeepFor(12.0)])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_earlier_history_leaves_no_trace(window, alpha):
    (X, y), at = data(80, 3), np.arange(80.0)
    X[20] *= 1e8
    whole = rolling(X, y, window, alpha=alpha, fit_intercept=True, at=at, min_rows=12)
    suffix = rolling(
        X[40:], y[40:], window, alpha=alpha, fit_intercept=True, at=at[40:], min_rows=12
    )
    for name in ("coef", "intercept", "fitted", "prediction"):
        got, want = getattr(whole, name)[53:], getattr(suffix, name)[13:]
        assert got == pytest.approx(want, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("window", [9, None, KeepFor(11.0)])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("method", ["gaussian", "self-normalized", "local"])
def test_intervals_equal_those_of_a_model_on_the_previous_window(window, alpha, intercept, method):
    (X, y), at, labels = data(60, 2), ticks(60, 5), np.arange(60) % 2
    y[[14, 31, 32]] = np.nan
    result = rolling(
        X,
        y,
        window,
        alpha=alpha,
        fit_intercept=intercept,
        min_rows=3,
        groups=labels,
        missing="skip",
        interval=0.9,
        method=method,
        at=at,
    )
    size, duration = (window if isinstance(window, int) else None), 11.0
    duration = duration if isinstance(window, KeepFor) else None
    found = naive.windows(~np.isnan(y), size, labels, at, duration)
    for t, (rows, _) in enumerate(found):
        if len(rows) < 3:
            assert np.isnan([result.lower[t], result.upper[t]]).all()
            continue
        model = Ridge(alpha=alpha, fit_intercept=intercept).fit(X[rows], y[rows])
        interval = model.predict_interval(X[t : t + 1], level=0.9, method=method)
        assert result.prediction[t] == pytest.approx(interval.prediction[0], rel=1e-9)
        assert result.lower[t] == pytest.approx(interval.lower[0], rel=1e-7)
        assert result.upper[t] == pytest.approx(interval.upper[0], rel=1e-7)


@pytest.mark.parametrize("window", [12, None])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_selected_penalty_is_that_of_auto_ridge(window, intercept):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3))
    y = X @ np.ones(3) + rng.normal(size=40)
    shape = {"fit_intercept": intercept, "min_rows": 2}
    result = rolling(X, y, window, alpha="auto", interval=0.9, **shape)
    expected = replay(AutoRidge(window, fit_intercept=intercept), X, y, interval=0.9)
    seen = ~np.isnan(result.prediction)
    assert seen.sum() > 30
    assert result.prediction[seen] == pytest.approx(expected.prediction[seen], rel=1e-9)
    assert result.upper[seen] == pytest.approx(expected.upper[seen], rel=1e-9)
    last = rolling(X, y, window, alpha="auto", outputs=["coef", "rank"], **shape)
    assert last.rank.max() == 3


def test_the_penalty_is_a_number_or_auto():
    X, y = np.ones((4, 1)), np.ones(4)
    with pytest.raises(InvalidValue, match='expected a finite number of at least 0 or "auto"'):
        rolling(X, y, 2, alpha="best")
    with pytest.raises(InvalidValue, match="'alpha' is 'auto': expected 0 where stats=True"):
        rolling(X, y, 2, alpha="auto", stats=True)


def test_an_intercept_is_fitted_by_default():
    X, y = np.arange(6.0)[:, np.newaxis], 3.0 + np.arange(6.0)
    assert rolling(X, y, 4).intercept[-1] == pytest.approx(3.0)
    assert not rolling(X, y, 4, fit_intercept=False).intercept[3:].any()


def test_conformal_intervals():
    X, y = data(80, 1)
    result = rolling(
        X, y, 60, fit_intercept=False, interval=0.8, method="conformal", outputs=["prediction"]
    )
    model = OLS(fit_intercept=False).fit(X[10:70], y[10:70])
    interval = model.predict_interval(X[70:71], level=0.8, method="conformal")
    assert result.upper[70] == pytest.approx(interval.upper[0])
    assert rolling(X, y, 60, fit_intercept=False).lower is None


@pytest.mark.parametrize("window", [None, KeepFor(30.0)])
@pytest.mark.parametrize("intercept", [False, True])
def test_statistics_of_windows_of_any_length(window, intercept):
    (X, y), at = data(60, 2), ticks(60, 3)
    result = rolling(X, y, window, fit_intercept=intercept, stats=True, at=at, min_rows=4)
    twin = naive.windows(np.ones(60, dtype=bool), None, None, at, 30.0 if window else None)
    for t, (_, rows) in enumerate(twin):
        assert result.stats.nobs[t] == (len(rows) if len(rows) >= 4 else 0)
        if len(rows) > 5:
            A = np.column_stack([X[rows], np.ones(len(rows))]) if intercept else X[rows]
            _, rest, *_ = np.linalg.lstsq(A, y[rows])
            bse = np.sqrt(np.diag(np.linalg.inv(A.T @ A)) * rest / (len(rows) - A.shape[1]))
            assert result.stats.bse[t] == pytest.approx(bse[:2], rel=1e-8)
            total = y[rows] - y[rows].mean() * intercept
            assert result.stats.rsquared[t] == pytest.approx(1 - rest[0] / (total @ total))
        elif len(rows) < 4:
            assert np.isnan(result.stats.bse[t]).all()


def test_standard_errors_with_standardize_refer_to_the_original_features():
    X, y = data(40, 3)
    options = {"window": 12, "fit_intercept": True, "stats": True}
    one, other = (rolling(X, y, **options, standardize=s) for s in (True, False))
    close(one.stats.bse, other.stats.bse)
    close(one.stats.rsquared, other.stats.rsquared)
    with pytest.raises(InvalidValue, match="'fit_intercept' is False: expected True"):
        rolling(X, y, 12, fit_intercept=False, stats=True, standardize=True)
    with pytest.raises(InvalidValue, match="'standardize' is 'yes'"):
        rolling(X, y, 12, standardize="yes")


def test_a_window_of_months_holds_the_rows_since_the_same_day():
    at = np.datetime64("2026-01-20") + np.arange(60)
    X, y = np.arange(60.0)[:, np.newaxis], np.arange(60.0) ** 2
    found = rolling(X, y, window="1mo", at=at, fit_intercept=True)
    for t, day in ((39, "2026-02-28"), (40, "2026-03-01"), (59, "2026-03-20")):
        assert str(at[t]) == day
    # 28 January, 1 February and 20 February have left: these rows are the first ones of windows.
    for t, first in ((39, 9), (40, 13), (59, 32)):
        alone = OLS().fit(X[first : t + 1], y[first : t + 1])
        assert found.coef[t] == pytest.approx(alone.coef_, rel=1e-9)
