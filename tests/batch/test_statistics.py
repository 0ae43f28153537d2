"""Statistics of rolling regressions, compared with statsmodels on its own datasets."""

import numpy as np
import pytest
import statsmodels.api as sm
from designs import DESIGNS, sample
from statsmodels.datasets import grunfeld, macrodata
from statsmodels.regression.rolling import RollingOLS, RollingWLS
from twins.inference import condition, infer

from efface import rolling
from efface.errors import InvalidValue


def table(name):
    if name == "macrodata":
        data = macrodata.load_pandas().data
        return data[["realcons", "realinv", "tbilrate"]].to_numpy(), data["realgdp"].to_numpy()
    data = grunfeld.load_pandas().data
    return data[["value", "capital"]].to_numpy(), data["invest"].to_numpy()


def assert_same(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("name", ["macrodata", "grunfeld"])
@pytest.mark.parametrize("expanding", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_statistics_equal_those_of_statsmodels(name, expanding, intercept):
    X, y = table(name)
    design = sm.add_constant(X, prepend=False) if intercept else X
    least = 12 if expanding else None
    model = RollingOLS(y, design, window=40, min_nobs=least, expanding=expanding)
    theirs, d = model.fit(use_t=True), X.shape[1]
    ours = rolling(X, y, 40, fit_intercept=intercept, min_rows=least, stats=True)
    assert_same(ours.coef, theirs.params[:, :d])
    assert_same(ours.stats.bse, theirs.bse[:, :d])
    assert_same(ours.stats.tvalues, theirs.tvalues[:, :d])
    assert_same(ours.stats.pvalues, theirs.pvalues[:, :d])
    assert_same(ours.stats.rsquared, theirs.rsquared)
    assert_same(ours.stats.rsquared_adj, theirs.rsquared_adj)
    assert ours.stats.nobs.tolist() == theirs.nobs.tolist()
    assert ours.stats.df_resid.tolist() == theirs.df_resid.tolist()
    if intercept:
        assert_same(ours.intercept, theirs.params[:, d])
        assert_same(ours.stats.intercept_bse, theirs.bse[:, d])
        assert_same(ours.stats.intercept_tvalue, theirs.tvalues[:, d])
        assert_same(ours.stats.intercept_pvalue, theirs.pvalues[:, d])


def assert_same_statistics(ours, theirs, d, rows):
    assert_same(ours.coef[rows], theirs.params[rows, :d])
    assert_same(ours.intercept[rows], theirs.params[rows, d])
    for name, values in (("bse", theirs.bse), ("tvalues", theirs.tvalues)):
        assert_same(getattr(ours.stats, name)[rows], values[rows, :d])
    assert_same(ours.stats.pvalues[rows], theirs.pvalues[rows, :d])
    assert_same(ours.stats.intercept_bse[rows], theirs.bse[rows, d])
    assert_same(ours.stats.rsquared[rows], theirs.rsquared[rows])
    assert_same(ours.stats.rsquared_adj[rows], theirs.rsquared_adj[rows])
    assert ours.stats.df_resid[rows].tolist() == theirs.df_resid[rows].tolist()


@pytest.mark.parametrize("name", ["macrodata", "grunfeld"])
def test_weighted_statistics_equal_those_of_statsmodels(name):
    X, y = table(name)
    w = np.random.default_rng(0).uniform(0.2, 5.0, size=len(y))
    design = sm.add_constant(X, prepend=False)
    theirs = RollingWLS(y, design, window=40, weights=w).fit(use_t=True)
    ours = rolling(X, y, 40, fit_intercept=True, stats=True, sample_weight=w)
    assert_same_statistics(ours, theirs, X.shape[1], slice(39, None))


def test_a_row_of_weight_0_is_no_degree_of_freedom_unlike_in_statsmodels():
    X, y = table("macrodata")
    w = np.ones(len(y))
    w[::5] = 0.0
    design = sm.add_constant(X, prepend=False)
    ours = rolling(X, y, 40, fit_intercept=True, stats=True, sample_weight=w)
    with np.errstate(divide="ignore"):  # statsmodels takes the logarithm of the weights
        theirs = RollingWLS(y, design, window=40, weights=w).fit(use_t=True)
    assert_same(ours.coef[39:], theirs.params[39:, :3])
    assert ours.stats.df_resid[60] == 32 - 4
    assert theirs.df_resid[60] == 40 - 4
    kept = np.flatnonzero(w[21:61]) + 21
    alone = sm.OLS(y[kept], design[kept]).fit()
    assert_same(ours.stats.bse[60], alone.bse[:3])
    assert_same(ours.stats.pvalues[60], alone.pvalues[:3])


def test_a_singular_window_has_no_standard_errors_unlike_in_statsmodels():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    X[20:40, 1] = X[20:40, 0] * 3.0
    ours = rolling(X, y, 10, stats=True)
    singular = slice(29, 40)
    assert (ours.rank[singular] == 1).all()
    assert np.isnan(ours.stats.bse[singular]).all()
    assert np.isfinite(RollingOLS(y, X, window=10).fit().bse[singular]).any()


def test_windows_after_a_gap_are_right_unlike_in_statsmodels():
    """Our windows hold the last 20 complete rows; those of statsmodels keep one row too many."""
    X, y = table("macrodata")
    X = X.copy()
    X[60, 1] = np.nan
    ours = rolling(X, y, 20, fit_intercept=False, missing="skip", stats=True)
    kept = np.delete(np.arange(len(y)), 60)
    clean = rolling(X[kept], y[kept], 20, fit_intercept=False, stats=True)
    assert_same(ours.stats.bse[kept], clean.stats.bse)
    assert ours.stats.nobs[59:62].tolist() == [20, 20, 20]
    theirs, rows = RollingOLS(y, X, window=20, missing="skip").fit(), slice(81, 101)
    assert theirs.nobs[100] == 21
    refit = np.linalg.lstsq(X[rows], y[rows], rcond=None)[0]
    assert_same(ours.coef[100], refit)
    assert np.abs(theirs.params[100] / refit - 1).max() > 1e-4


def test_statistics_of_each_group_are_independent():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(90, 2)), rng.normal(size=90)
    groups = rng.integers(0, 3, size=90)
    ours = rolling(X, y, 8, groups=groups, fit_intercept=True, stats=True)
    for group in range(3):
        rows = groups == group
        alone = rolling(X[rows], y[rows], 8, fit_intercept=True, stats=True)
        for field in ("bse", "pvalues", "intercept_bse", "nobs", "rsquared"):
            np.testing.assert_array_equal(
                getattr(ours.stats, field)[rows], getattr(alone.stats, field)
            )


def assert_exact(found, t, X, y, intercept, weights=None):
    """The statistics of the window that ends at row t against exact fractions."""
    cond = condition(X, intercept, weights)
    if not cond <= 1e7:  # a constant feature beside an intercept, among others
        return False
    tolerance, d = 1e-9 if cond <= 1e4 else 1e-6, X.shape[1]
    exact = infer(X, y, intercept, weights)
    bse, stats = np.append(found.stats.bse[t], found.stats.intercept_bse[t]), found.stats
    np.testing.assert_allclose(bse[: d + intercept], exact.bse, rtol=tolerance)
    unit = np.abs(exact.theta * np.append(np.abs(X).max(axis=0), 1.0)[: d + intercept]).max()
    coef = np.append(found.coef[t], found.intercept[t])[: d + intercept] - exact.theta
    assert np.abs(coef * np.append(np.abs(X).max(axis=0), 1.0)[: d + intercept]).max() < (
        tolerance * unit
    )
    assert stats.rsquared[t] == pytest.approx(exact.rsquared, abs=tolerance)
    assert found.rank[t] == d
    return True


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("noise", [1.0, 1e-6])
@pytest.mark.parametrize("name", DESIGNS)
def test_every_window_of_full_rank_has_exact_statistics(name, noise, intercept):
    X, y = sample(name, 150, seed=1, noise=noise)
    found = rolling(X, y, 30, fit_intercept=intercept, stats=True)
    checked = [
        assert_exact(found, t, X[t - 29 : t + 1], y[t - 29 : t + 1], intercept)
        for t in range(29, 150, 10)
    ]
    assert any(checked) or (intercept and "constant" in name)
    undetermined = found.rank[29:] < X.shape[1]
    np.testing.assert_array_equal(np.isnan(found.stats.bse[29:]).any(axis=1), undetermined)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", DESIGNS)
def test_weighted_windows_of_full_rank_have_exact_statistics(name, intercept):
    X, y = sample(name, 100, seed=2)
    rng = np.random.default_rng(3)
    w = np.where(rng.random(100) < 0.1, 0.0, rng.uniform(0.1, 5.0, size=100))
    found = rolling(X, y, 30, fit_intercept=intercept, stats=True, sample_weight=w)
    for t in range(29, 100, 14):
        rows = slice(t - 29, t + 1)
        assert_exact(found, t, X[rows], y[rows], intercept, w[rows])


@pytest.mark.parametrize("name", ["constant and price", "three powers of t", "bid and ask"])
def test_growing_windows_groups_and_durations_have_exact_statistics(name):
    X, y = sample(name, 90, seed=4)
    expanding = rolling(X, y, None, fit_intercept=False, min_rows=8, stats=True)
    lasting = rolling(X, y, 25, fit_intercept=False, at=np.arange(90), min_rows=8, stats=True)
    timed = rolling(
        X, y, "25s", fit_intercept=False, at=np.arange(90).astype("M8[s]"), min_rows=8, stats=True
    )
    grouped = rolling(
        X, y, 20, fit_intercept=False, groups=np.arange(90) % 2, min_rows=8, stats=True
    )
    for t in range(15, 90, 12):
        assert assert_exact(expanding, t, X[: t + 1], y[: t + 1], False)
        rows = slice(max(0, t - 24), t + 1)
        assert assert_exact(lasting, t, X[rows], y[rows], False)
        assert assert_exact(timed, t, X[rows], y[rows], False)
        rows = slice(max(t % 2, t - 38), t + 1, 2)
        assert assert_exact(grouped, t, X[rows].copy(), y[rows], False)


def test_a_constant_feature_has_the_statistics_of_an_intercept():
    X, y = sample("constant and three prices", 200)
    ours = rolling(X, y, 50, fit_intercept=False, stats=True)
    model = rolling(X[:, 1:], y, 50, fit_intercept=True, stats=True)
    assert_same(ours.coef[49:, 0], model.intercept[49:])
    assert_same(ours.stats.bse[49:, 0], model.stats.intercept_bse[49:])
    assert_same(ours.stats.pvalues[49:, 1:], model.stats.pvalues[49:])
    theirs = RollingOLS(y, X, window=50).fit(use_t=True, method="lstsq")
    np.testing.assert_allclose(ours.stats.bse[49:], theirs.bse[49:], rtol=1e-4)


def test_no_standard_errors_without_a_degree_of_freedom():
    X, y = np.random.default_rng(2).normal(size=(2, 6, 2))
    stats = rolling(X, y[:, 0], 2, fit_intercept=False, stats=True).stats
    assert np.isnan(stats.bse).all()
    assert stats.df_resid.tolist() == [-2, 0, 0, 0, 0, 0]


def test_statistics_of_a_penalised_fit_are_refused():
    with pytest.raises(InvalidValue, match=r"'alpha' is 2\.0: expected 0 where stats=True"):
        rolling([[1.0]], [1.0], 1, alpha=2.0, stats=True)


def test_no_statistics_unless_requested():
    assert rolling([[1.0]], [1.0], 1).stats is None


@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3", "HAC"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", ["macrodata", "grunfeld"])
def test_robust_statistics_equal_those_of_statsmodels(name, intercept, kind):
    X, y = table(name)
    design = sm.add_constant(X, prepend=False) if intercept else X
    ours, d = rolling(X, y, 40, fit_intercept=intercept, stats=kind).stats, X.shape[1]
    options = {"cov_kwds": {"maxlags": None}} if kind == "HAC" else {}
    for t in range(39, len(y), 20):
        rows = slice(t - 39, t + 1)
        theirs = sm.OLS(y[rows], design[rows]).fit(cov_type=kind, use_t=True, **options)
        for field in ("bse", "tvalues", "pvalues"):
            np.testing.assert_allclose(
                getattr(ours, field)[t], getattr(theirs, field)[:d], rtol=1e-9
            )
        if intercept:
            np.testing.assert_allclose(ours.intercept_bse[t], theirs.bse[d], rtol=1e-9)
            np.testing.assert_allclose(ours.intercept_pvalue[t], theirs.pvalues[d], rtol=1e-9)
        np.testing.assert_allclose(ours.rsquared[t], theirs.rsquared, rtol=1e-9)


@pytest.mark.parametrize("lags", [0, 1, 7])
def test_the_lags_of_hac_can_be_given(lags):
    X, y = table("macrodata")
    w = np.random.default_rng(0).uniform(0.2, 5.0, size=len(y))
    design = sm.add_constant(X, prepend=False)
    model = sm.WLS(y[100:140], design[100:140], weights=w[100:140])
    theirs = model.fit(cov_type="HAC", use_t=True, cov_kwds={"maxlags": lags})
    options = {"fit_intercept": True, "stats": "HAC", "lags": lags, "sample_weight": w}
    ours = rolling(X, y, 40, **options).stats
    np.testing.assert_allclose(ours.bse[139], theirs.bse[:3], rtol=1e-9)
    np.testing.assert_allclose(ours.intercept_bse[139], theirs.bse[3], rtol=1e-9)


def test_robust_statistics_of_durations_groups_and_gaps_are_those_of_the_rows():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(90, 2)), rng.normal(size=90)
    X[33, 0] = np.nan
    groups, at = rng.integers(0, 3, size=90), np.arange(90).astype("M8[s]")
    options = {"fit_intercept": True, "stats": "HC3", "missing": "skip", "min_rows": 8}
    ours = rolling(X, y, "40s", groups=groups, at=at, **options)
    for t in (60, 75, 89):
        rows = np.flatnonzero((groups == groups[t]) & (np.arange(90) <= t) & ~np.isnan(X[:, 0]))
        rows = rows[rows > t - 40]
        theirs = sm.OLS(y[rows], sm.add_constant(X[rows])).fit(cov_type="HC3", use_t=True)
        np.testing.assert_allclose(ours.stats.bse[t], theirs.bse[1:], rtol=1e-9)


def test_unknown_statistics_are_refused():
    with pytest.raises(InvalidValue, match="'stats' is 'HC4': expected True, False or one of"):
        rolling([[1.0]], [1.0], 1, stats="HC4")
    with pytest.raises(InvalidValue, match="'lags' is 2: expected None unless stats='HAC'"):
        rolling([[1.0]], [1.0], 1, stats="HC0", lags=2)
    with pytest.raises(InvalidValue, match="'lags' is -1"):
        rolling([[1.0]], [1.0], 1, stats="HAC", lags=-1)
