"""What models and scalers have in common: rows enter, leave, and are saved."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from owned_histories import STEPS, WIDTH, RowSource, columns, take_step
from samples import data
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from twins import regression as naive
from twins.owned_rows import OwnedRows

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
)
from efface import replay as replay_rows
from efface.errors import BadTime, InvalidValue, NotFitted, UnknownId, UnknownOwner
from efface.live.snapshot import encode
from efface.models.linear import from_snapshot

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
    timed = model._live.index.newest is not None or model._live.timed
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
    assert (again._live.solver.weights == model._live.solver.weights).all()
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


# Owners and ends of rows

WINDOWS = {"4 rows": 4, "9 units": KeepFor(9), "add 3, drop 1": AddDrop(3, 1), "all": None}
KINDS = {
    "OLS": lambda window: OLS(window),
    "Ridge": lambda window: Ridge(window, alpha=0.7),
    "Ridge, standardized": lambda window: Ridge(window, alpha=0.7, standardize=True),
    "AdaptiveRidge": lambda window: AdaptiveRidge(window, fit_intercept=False),
}


def saved(model, folder):
    model.save(folder / "model")
    return (folder / "model").read_bytes()


def snapshot_of(twin, model):
    """The snapshot of a model with the rows of a twin, field by field."""
    X, y, weights = twin.arrays(WIDTH)
    ends = [np.inf if end is None else end for end in twin.column("until")]
    times = twin.column("at")
    return replace(
        model._snapshot(),
        phase=twin.phase,
        ids=twin.column("id"),
        times=np.array(times, dtype=float) if times and times[0] is not None else None,
        X=X,
        y=y,
        weights=None if (weights == 1.0).all() else weights,
        owners=twin.column("owner") if any(o is not None for o in twin.column("owner")) else None,
        until=np.array(ends) if any(end < np.inf for end in ends) else None,
    )


def check_rows(model, twin):
    assert model.ids_ == twin.column("id")
    live = model._live
    none = [None] * len(twin.rows)
    assert (live.marks.owner_of_each(model.ids_) or none) == twin.column("owner")
    ends = live.marks.until_of_each(model.ids_)
    ends = none if ends is None else [None if end == np.inf else end for end in ends]
    assert ends == twin.column("until")
    assert model.owners_ == list(dict.fromkeys(o for o in twin.column("owner") if o is not None))
    assert live.marks.residues(model.ids_) == []


def fresh_from(twin, model):
    """A model that was given only the rows of the twin."""
    if twin.policy == "add 3, drop 1":  # its phase counts the rows that came
        return from_snapshot(snapshot_of(twin, model))
    fresh, (X, y, keys) = clone(model), columns(twin.rows)
    return fresh.partial_fit(X, y, **keys)


def check_same_bits(model, fresh):
    assert model.coef_.tobytes() == fresh.coef_.tobytes()
    assert (model.intercept_, model.penalty_) == (fresh.intercept_, fresh.penalty_)


def replay_both(model, twin, X, y, keys, rows):
    """Replay rows through a model and its twin, and compare the predictions of a ridge model."""
    found = replay_rows(model, X, y, **keys)
    for t, row in enumerate(rows):
        known = twin.welcome(row)
        assert found.n_rows[t] == len(twin.rows)
        if isinstance(model, Ridge) and not model.standardize:
            past, responses, weights = twin.arrays(WIDTH)
            coef, level, _ = naive.regress(past, responses, model.alpha, True, weights)
            assert found.prediction[t] == pytest.approx(X[t] @ coef + level, rel=1e-9, abs=1e-9)
        twin.learn(known)


@pytest.mark.parametrize("policy", WINDOWS)
@pytest.mark.parametrize("kind", KINDS)
@given(STEPS, st.booleans(), st.booleans())
@settings(deadline=None, max_examples=25)
def test_rows_with_owners_and_ends_leave_as_in_a_list(
    kind, policy, tmp_path_factory, steps, timed, named
):
    folder = tmp_path_factory.mktemp("files")
    source = RowSource(timed=timed or policy == "9 units", named=named)
    model, twin = KINDS[kind](WINDOWS[policy]), OwnedRows(policy)
    model.partial_fit(np.empty((0, WIDTH)), [])
    for step, amount in steps:
        gone = take_step(model, twin, source, step, amount, replay_both)
        if step == "save":
            model.save(folder / "model")
            model = load(folder / "model")
        check_rows(model, twin)
        if gone:
            check_same_bits(model, fresh_from(twin, model))
    fresh = fresh_from(twin, model)
    assert saved(model, folder) == encode(snapshot_of(twin, model)) == saved(fresh, folder)
    check_same_bits(model, fresh)


def large_history(model, twin, n, rng):
    """Many rows with owners and ends; people are forgotten, rows are due, others come late."""
    X, y = rng.normal(size=(n, WIDTH)), rng.normal(size=n)
    at = np.arange(float(n))
    at[rng.random(n) < 0.002] -= 20.0  # late rows
    until = np.where(rng.random(n) < 0.3, at + rng.integers(1, n, size=n), np.nan)
    people, weights = rng.integers(0, n // 10, size=n), rng.integers(0, 3, size=n) / 2.0
    parts = np.array_split(np.arange(n), 4)
    for part, learn in zip(
        parts, (model.partial_fit, partial(replay_rows, model)) * 2, strict=True
    ):
        keys = {"at": at[part], "owners": people[part], "until": until[part]}
        learn(X[part], y[part], sample_weight=weights[part], ids=part.tolist(), **keys)
        for k in part.tolist():
            end = None if np.isnan(until[k]) else until[k]
            row = {"id": k, "at": at[k], "owner": int(people[k]), "until": end}
            twin.learn({**row, "x": X[k], "y": y[k], "weight": weights[k]})
        gone = rng.integers(0, n // 10, size=20).tolist()
        assert model.forget(owners=gone, missing="ok") == twin.forget(owners=gone)


@pytest.mark.parametrize("n", [800, 6_000])
@pytest.mark.parametrize("kind", ["Ridge", "AdaptiveRidge"])
def test_many_rows_with_owners_and_ends_leave_as_in_a_list(kind, n, tmp_path):
    model, twin = KINDS[kind](None), OwnedRows("all")
    large_history(model, twin, n, np.random.default_rng(n))
    check_rows(model, twin)
    fresh = fresh_from(twin, model)
    check_same_bits(model, fresh)
    assert saved(model, tmp_path) == encode(snapshot_of(twin, model)) == saved(fresh, tmp_path)


def test_months_let_rows_expire():
    days = np.datetime64("2026-01-29") + np.arange(40)
    X, y = rows(40)
    model = OLS(window="1mo").fit(X, y, at=days)
    assert model.ids_ == list(range(12, 40))  # 9 February, a month before 9 March, has left
    assert model.expire(datetime(2026, 4, 1)) == 20
    assert model.ids_[0] == 32
    again = OLS(window="1mo")
    for t, day in enumerate(days):
        again.learn_one(X[t], y[t], at=day)
    assert again.expire(np.datetime64("2026-04-01")) == 20
    assert again.ids_ == model.ids_


PEOPLE = ["ann", "bob", None, "ann", 7, "bob"]


def owned(build, **keys):
    X, y = rows(6)
    return build().fit(X, y, owners=PEOPLE, **keys)


@pytest.mark.parametrize("build", ESTIMATORS)
def test_an_owner_is_forgotten_with_all_rows(build):
    estimator = owned(build)
    assert estimator.owners_ == ["ann", "bob", 7]
    assert estimator.forget(owner="ann") == 2
    assert estimator.ids_ == [1, 2, 4, 5]
    assert estimator.forget([1, 2], owners=["bob", 7]) == 4
    assert estimator.owners_ == estimator.ids_ == []


@pytest.mark.parametrize("build", ESTIMATORS)
def test_an_owner_or_an_id_without_live_rows_is_an_error_unless_it_may_be_missing(build):
    estimator = owned(build)
    before = estimator.ids_
    with pytest.raises(UnknownOwner, match="'owner' is 'eve': no live row has it; 'owners_' lists"):
        estimator.forget(owners=["ann", "eve"])
    with pytest.raises(UnknownId, match="'id' is 'ann': no live row has it"):
        estimator.forget("ann", owner="ann")
    assert estimator.ids_ == before
    assert estimator.forget(["ann", 0], owner="eve", missing="ok") == 1
    assert estimator.ids_ == before[1:]


def test_a_request_to_forget_must_name_rows():
    estimator = owned(OLS)
    with pytest.raises(InvalidValue, match=r"'ids' is None: expected ids or owners of rows; pass"):
        estimator.forget()
    with pytest.raises(InvalidValue, match="'missing' is 'no'"):
        estimator.forget(0, missing="no")
    with pytest.raises(InvalidValue, match=r"'owner' is 1\.5: expected an int or a str"):
        estimator.forget(owner=1.5)
    with pytest.raises(InvalidValue, match="'owners' is 'ann': expected 6 owners"):
        estimator.fit(*rows(6), owners="ann")
    with pytest.raises(InvalidValue, match="'owners' is '1 long': expected 6 owners"):
        estimator.fit(*rows(6), owners=["ann"])
    assert estimator.n_rows_ == 6


def test_a_uuid_is_an_id_and_an_owner():
    ann, row = UUID("6BA7B810-9DAD-11D1-80B4-00C04FD430C8"), UUID(int=5)
    model = OLS().fit(*rows(2), ids=[row, "b"], owners=[ann, ann])
    assert model.owners_ == ["6ba7b810-9dad-11d1-80b4-00c04fd430c8"]
    assert model.ids_ == [str(row), "b"]
    model.learn_one([1.0, 2.0], 3.0, id=UUID(int=6), owner=ann)
    assert model.forget(row) == 1
    assert model.held(ann).ids == ["b", str(UUID(int=6))]
    assert model.forget(owner=ann) == 2


@pytest.mark.parametrize("build", ESTIMATORS)
@pytest.mark.parametrize("copier", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_owners_and_ends_survive_copies_and_files(build, copier, tmp_path):
    estimator = owned(build, until=[9, None, 3, 9, None, 2])
    again = copier(estimator)
    assert saved(again, tmp_path) == saved(estimator, tmp_path)
    other = load(tmp_path / "model")
    for each in (again, other):
        assert each.owners_ == ["ann", "bob", 7]
        assert each.expire(3) == 2
        assert each.forget(owner="bob") == 1


def test_only_owners_and_ends_change_the_version_of_a_file(tmp_path):
    model = owned(OLS, until=[9, None, 3, 9, None, 2])
    assert saved(model, tmp_path).startswith(b"efface model 3\n")
    model.forget(owners=["ann", "bob", 7])
    assert saved(model, tmp_path).startswith(b"efface model 3\n")  # row 2 has an end
    model.learn_one([1.0, 2.0], 3.0, id=9)
    model.expire(3)
    assert saved(model, tmp_path) == saved(OLS().fit([[1.0, 2.0]], [3.0], ids=[9]), tmp_path)


def test_a_row_lives_while_now_is_before_its_end():
    model = OLS().fit(*rows(3), at=[1, 2, 3], until=[4.5, 4, None])
    model.learn_one([1.0, 2.0], 0.0, at=3.9)
    assert model.ids_ == [0, 1, 2, 3]
    model.learn_one([1.0, 2.0], 0.0, at=4)
    assert model.ids_ == [0, 2, 3, 4]
    assert model.expire(4.5) == 1
    assert model.ids_ == [2, 3, 4]


def test_a_row_that_is_due_on_arrival_never_enters():
    model = OLS(window=2).fit(*rows(2), at=[1, 5])
    model.learn_one([1.0, 2.0], 0.0, at=2, until=5)
    assert model.ids_ == [0, 1]
    model.learn_one([1.0, 2.0], 0.0, at=2, until=6)
    assert model.ids_ == [2, 1]


def test_the_clock_is_the_newest_live_time():
    model = OLS().fit(*rows(2), ids=["old", "new"], at=[1, 9])
    model.forget("new")
    model.learn_one([1.0, 2.0], 0.0, id="late", at=2, until=5)
    assert model.ids_ == ["old", "late"]


def test_whichever_comes_first_ends_a_row():
    model = OLS(window=KeepFor(10)).fit(*rows(3), at=[0, 0, 0], until=[5, 50, None])
    assert model.expire(5) == 1
    assert model.expire(9.5) == 0
    assert model.expire(10) == 2


def test_rows_without_times_leave_by_their_end_at_expire_only():
    day = np.datetime64("2026-03-01")
    model = OLS(window=5).fit(*rows(3), until=[day, None, day + 2])
    model.learn_one([1.0, 2.0], 0.0, until=datetime(2026, 3, 2, tzinfo=UTC))
    assert model.expire(day) == 1
    assert model.expire(datetime(2026, 3, 3)) == 2
    assert model.ids_ == [1]


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (
            {"at": 1.0, "until": datetime(2026, 1, 1)},
            "'until' is calendar times: expected numbers, ",
        ),
        ({"at": 1.0, "until": np.nan}, "'until' is nan: expected a finite number"),
        ({"at": 1.0, "until": "soon"}, "'until' is 'soon': expected a number, a datetime"),
        ({"at": 1.0, "owner": True}, "'owner' is True: expected an int or a str"),
    ],
)
def test_a_refused_mark_changes_nothing(keys, text):
    model = OLS().fit(*rows(3), at=[1, 2, 3], owners=["ann"] * 3, until=[8, 9, None])
    with pytest.raises(InvalidValue, match=text):
        model.learn_one([1.0, 2.0], 0.0, **keys)
    with pytest.raises(BadTime, match="'at' is calendar times: expected numbers"):
        model.expire(datetime(2026, 1, 1))
    assert model.ids_ == [0, 1, 2]


def test_ends_of_rows_without_times_are_of_one_kind():
    model = OLS().fit(*rows(2), until=[8, 9])
    expected = "'until' is calendar times: expected numbers, as for the other rows; convert one"
    with pytest.raises(BadTime, match=expected):
        model.learn_one([1.0, 2.0], 0.0, until=datetime(2026, 1, 1))
    with pytest.raises(BadTime, match=expected):
        model.expire(datetime(2026, 1, 1))
    assert model.n_rows_ == 2


def test_a_count_of_rows_pays_nothing_for_owners():
    """The ids of numbered rows stay two ints, and no owner is looked up."""
    model = OLS(window=3).fit(*rows(6))
    for _ in range(5):
        model.learn_one([1.0, 2.0], 0.0)
    live = model._live
    assert not live.index.named
    assert not live.marks.some


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


@pytest.mark.parametrize("include", [False, True])
def test_forgetting_no_row_leaves_a_scaler_as_it_is(include):
    X, _ = data(80, 3)
    scaler, fresh = WindowScaler(25), WindowScaler(25).fit(X[35:60], ids=range(35, 60))
    scaler.rolling_transform(X[:60])
    scaler.forget([])
    assert scaler.var_.tobytes() == fresh.var_.tobytes()
    found = [each.rolling_transform(X[60:], include=include) for each in (scaler, fresh)]
    assert found[0].tobytes() == found[1].tobytes()


def test_ids_can_be_asked_for():
    model = OLS(window=2)
    assert 0 not in model
    model.fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0], ids=["a", "b", "c"])
    assert "a" not in model
    assert "c" in model
    model.forget("c")
    assert "c" not in model
    with pytest.raises(InvalidValue, match=r"'id' is 1\.5"):
        assert 1.5 in model


def test_an_empty_estimator_has_the_parameters_and_no_rows():
    model = Ridge(window=3, alpha=0.5).fit([[1.0]], [2.0])
    empty = model.empty(2)
    assert empty.get_params() == model.get_params()
    assert (empty.n_rows_, empty.n_features_in_, model.n_rows_) == (0, 2, 1)
    assert empty.live_rows.shape == (2,)
