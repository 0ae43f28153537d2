"""What models and scalers have in common: rows enter, leave, and are saved."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import data
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from efface import (
    FIFD,
    OLS,
    AdaptiveRidge,
    AddDrop,
    KeepFor,
    Ridge,
    SwitchingRidge,
    WindowScaler,
    load,
    replay,
)
from efface.errors import NotFitted, UnknownId

MODELS = [OLS, Ridge, AdaptiveRidge, SwitchingRidge]
ESTIMATORS = [OLS, lambda **given: Ridge(standardize=True, **given), WindowScaler]


def rows(n=12):
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, 2)), rng.normal(size=n)


@pytest.mark.parametrize("build", ESTIMATORS)
def test_rows_leave_by_id_and_by_time(build):
    estimator = build(window=KeepFor(10)).fit(*rows(), ids=list("abcdefghijkl"), at=np.arange(12))
    assert estimator.ids_ == list("cdefghijkl")
    estimator.forget(["d", "e", "d"])
    assert estimator.expire(14) == 1
    assert estimator.ids_ == list("fghijkl")
    assert estimator.n_rows_ == 7
    with pytest.raises(UnknownId, match="'id' is 'd': no live row has it"):
        estimator.forget("d")


@pytest.mark.parametrize("build", ESTIMATORS)
def test_files_pickles_and_copies_hold_the_live_rows_only(build, tmp_path):
    X, y = rows()
    estimator = build(window=8).fit(X, y)
    estimator.forget(7)
    estimator.save(tmp_path / "one")
    live = [4, 5, 6, 8, 9, 10, 11]
    never = build(window=8).fit(X[live], y[live], ids=live)
    never.save(tmp_path / "other")
    content = (tmp_path / "one").read_bytes()
    assert content == (tmp_path / "other").read_bytes()
    for again in (
        load(tmp_path / "one"),
        pickle.loads(pickle.dumps(estimator)),
        copy.deepcopy(estimator),
    ):
        assert type(again) is type(estimator)
        assert again.ids_ == live
        again.save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == content
    assert X[7].tobytes() not in pickle.dumps(estimator)


@pytest.mark.parametrize("build", ESTIMATORS)
def test_an_estimator_without_rows_is_not_fitted(build):
    estimator = build()
    for call in (
        lambda: estimator.n_rows_,
        lambda: estimator.save("nowhere"),
        lambda: estimator.expire(1),
    ):
        with pytest.raises(NotFitted, match="is not fitted: call 'fit' or 'learn_one' first"):
            call()
    with pytest.raises(NotFittedError):
        check_is_fitted(estimator)
    assert not hasattr(copy.copy(estimator), "n_rows_")
    check_is_fitted(estimator.fit(*rows()))


@pytest.mark.parametrize("build", ESTIMATORS)
def test_a_new_fit_wipes_the_rows_of_the_previous_fit(build):
    estimator = build().fit(*rows())
    before = estimator._live.solver
    estimator.fit(*rows(5))
    assert estimator.n_rows_ == 5
    assert not before.values()[0].size


def continued_outputs(model, n=40, start=0):
    """The outputs of a model while it learns more rows."""
    X, y = data(start + n, 3, seed=9)
    timed = model._live.index.since or model._live.timed
    outputs = []
    for t in range(start, start + n):
        outputs.append(model.predict_one(X[t]))
        model.learn_one(X[t], y[t], at=float(1000 + t) if timed else None)
        outputs += [*model.coef_, model.intercept_, model.penalty_]
    return np.array(outputs).tobytes(), model.ids_


@pytest.mark.parametrize("window", [None, 25, FIFD(12), AddDrop(3, 2, start=4), KeepFor(20)])
@pytest.mark.parametrize("kind", MODELS)
def test_a_loaded_model_continues_bit_for_bit(kind, window, tmp_path):
    X, y = data(64, 3)
    model = kind(window=window)
    for t in range(64):
        at = float(t) if isinstance(window, KeepFor) else None
        model.learn_one(X[t], y[t], at=at, weight=[1.0, 0.3, 0.0, 5.0][t % 4])
        if t % 5 == 0:
            model.predict_one(X[t])
    model.save(tmp_path / "a")
    again = load(tmp_path / "a")
    assert type(again) is kind
    assert (again._live.solver.rows.weights == model._live.solver.rows.weights).all()
    assert again.get_params() == model.get_params()
    assert continued_outputs(again) == continued_outputs(model)
    model.save(tmp_path / "b")
    again.save(tmp_path / "c")
    assert (tmp_path / "b").read_bytes() == (tmp_path / "c").read_bytes()


@pytest.mark.parametrize(
    "copier", [copy.deepcopy, copy.copy, lambda m: pickle.loads(pickle.dumps(m))]
)
@pytest.mark.parametrize("kind", MODELS)
def test_copies_continue_bit_for_bit(kind, copier):
    for weights in (None, np.random.default_rng(0).uniform(0.0, 3.0, size=64)):
        model = kind(window=20).fit(*data(64, 3), sample_weight=weights)
        again = copier(model)
        assert continued_outputs(again) == continued_outputs(model)
    assert copier(kind()).get_params() == kind().get_params()


@pytest.mark.parametrize("kind", MODELS)
def test_a_pickle_holds_nothing_of_rows_that_left(kind):
    secret = np.array([1.2345678901234567, 7.6543210987654321, 3.3333333333333335])
    model = kind(window=None)
    model.learn_one(secret, 4.5678901234567895, id="secret name")
    model.partial_fit(*data(20, 3))
    assert model.coef_.size == 3
    model.forget("secret name")
    content = pickle.dumps(model)
    assert b"secret name" not in content
    assert not any(value.tobytes() in content for value in secret)


@pytest.mark.parametrize("kind", MODELS)
@given(gone=st.sets(st.integers(0, 19), max_size=19), seed=st.integers(0, 9))
@settings(deadline=None, max_examples=10)
def test_after_forgetting_a_file_is_that_of_a_model_that_never_saw_the_rows(
    kind, gone, seed, tmp_path_factory
):
    folder = tmp_path_factory.mktemp("files")
    X, y = data(20, 3, seed)
    ids = [f"row {t}" if t % 2 else 100 + t for t in range(20)]
    model, fresh = kind(), kind()
    choices = [1.0, 0.0, 2.5, 1e-3] if seed % 2 else [1.0]
    weights = np.random.default_rng(seed).choice(choices, size=20)
    for t in range(20):
        model.learn_one(X[t], y[t], id=ids[t], weight=weights[t])
        if t not in gone:
            fresh.learn_one(X[t], y[t], id=ids[t], weight=weights[t])
        if t % 3 == seed % 3:
            model.predict_one(X[t])
    model.forget([ids[t] for t in gone])
    model.save(folder / "a")
    fresh.save(folder / "b")
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()
    assert continued_outputs(model) == continued_outputs(fresh)


@pytest.mark.parametrize("kind", MODELS)
def test_once_the_weighted_rows_are_forgotten_a_file_has_no_weights(kind, tmp_path):
    X, y = data(12, 3)
    model, fresh = kind(), kind()
    model.fit(X, y, sample_weight=[2.0, 0.0, 0.5] + [1.0] * 9)
    model.save(tmp_path / "weighed")
    model.forget([0, 1, 2])
    fresh.fit(X[3:], y[3:], ids=range(3, 12))
    model.save(tmp_path / "a")
    fresh.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_bytes().startswith(b"efface model 1\n")
    assert (tmp_path / "weighed").read_bytes().startswith(b"efface model 2\n")
    assert continued_outputs(model) == continued_outputs(fresh)


@pytest.mark.parametrize("kind", MODELS)
def test_after_expiring_a_file_is_that_of_a_model_that_never_saw_the_rows(kind, tmp_path):
    X, y = data(20, 3)
    model, fresh = kind(window=KeepFor(10)), kind(window=KeepFor(10))
    ids = [f"row {t}" for t in range(20)]
    model.fit(X, y, ids=ids, at=np.arange(20.0))
    assert model.expire(24) == 5
    fresh.fit(X[15:], y[15:], ids=ids[15:], at=np.arange(15.0, 20.0))
    model.save(tmp_path / "a")
    fresh.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("kind", MODELS)
@given(seed=st.integers(0, 99), n=st.integers(20, 60), width=st.integers(4, 40))
@settings(deadline=None, max_examples=8)
def test_forgetting_no_row_and_expiring_none_discard_what_was_derived(
    kind, timed, standardize, seed, n, width
):
    X, y = data(n, 3, seed)
    times = np.arange(float(n)) if timed else None
    window = KeepFor(float(width)) if timed else width
    model, fresh = (kind(window=window, standardize=standardize) for _ in range(2))
    for t in range(n):
        model.learn_one(X[t], y[t], at=times[t] if timed else None)
        model.predict_one(X[t])
    live = slice(max(0, n - width), n)
    fresh.fit(X[live], y[live], ids=model.ids_, at=times[live] if timed else None)
    if timed:
        assert model.expire(n - 1) == 0
    else:
        model.forget([])
    assert continued_outputs(model) == continued_outputs(fresh)


def test_forgetting_no_row_ends_a_long_replay(monkeypatch):
    """Whether a replay is batched depends on the rows since the last rebuild."""
    monkeypatch.setattr("efface.live.live_rows.LONG", 600)
    X, y = data(800, 2)
    model, fresh = OLS(window=30), OLS(window=30)
    replay(model, X[:400], y[:400])
    model.forget([])
    fresh.fit(X[370:400], y[370:400], ids=model.ids_)
    found = [replay(each, X[400:], y[400:]).prediction for each in (model, fresh)]
    assert found[0].tobytes() == found[1].tobytes()


@pytest.mark.parametrize("include", [False, True])
def test_forgetting_no_row_leaves_a_scaler_as_it_is(include):
    X, _ = data(80, 3)
    scaler, fresh = WindowScaler(25), WindowScaler(25).fit(X[35:60], ids=range(35, 60))
    scaler.rolling_transform(X[:60])
    scaler.forget([])
    assert scaler.var_.tobytes() == fresh.var_.tobytes()
    found = [each.rolling_transform(X[60:], include=include) for each in (scaler, fresh)]
    assert found[0].tobytes() == found[1].tobytes()
