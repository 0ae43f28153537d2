"""The models of many keys: plans change nothing, and are applied as a whole."""

from __future__ import annotations

import numpy as np
import pytest

from efface import Fleet, Ridge
from efface.errors import EffaceError, UnknownId, UnknownOwner

X, Y = np.arange(12.0).reshape(6, 2) % 5, np.arange(6.0)


def test_a_plan_changes_nothing_until_it_is_applied():
    fleet = Fleet(Ridge(window=2))
    fleet.learn(["a", "b"], X[:2], Y[:2])
    plan = fleet.plan(["a", "c"], X[2:4], Y[2:4], owners=["ann", None])
    assert fleet.keys() == ["a", "b"]
    assert fleet.owners_ == []
    assert fleet.residues() == []
    fleet.apply(plan)
    assert fleet.keys() == ["a", "b", "c"]
    assert fleet.owners_ == ["ann"]


def test_an_outdated_plan_is_refused():
    fleet = Fleet(Ridge(window=2))
    fleet.learn(["a"], X[:1], Y[:1])
    plan = fleet.plan(["b"], X[1:2], Y[1:2])
    fleet.forget(0)
    with pytest.raises(EffaceError, match="'plan' is outdated"):
        fleet.apply(plan)
    assert fleet.keys() == []


def test_unknown_ids_and_owners_are_refused_before_anything_changes():
    fleet = Fleet(Ridge())
    fleet.learn(["a", "b"], X[:2], Y[:2], owners=["ann", "bob"])
    with pytest.raises(UnknownId, match="'id' is 77"):
        fleet.forget([0, 77])
    with pytest.raises(UnknownOwner, match="'owner' is 'eve'"):
        fleet.forget([0], owner="eve")
    assert fleet.n_rows_ == 2
    assert fleet.forget([0, 77], owner="eve", missing="ok") == 1
    assert fleet.keys() == ["b"]


def test_an_owner_without_a_name_is_nobody():
    fleet = Fleet(Ridge())
    fleet.learn(["a", "a"], X[:2], Y[:2], owners=[None, "ann"])
    with pytest.raises(UnknownOwner):
        fleet.forget(owner="nobody")
    with pytest.raises(UnknownOwner):
        fleet.forget(owner=-1)
    assert fleet.n_rows_ == 2


def test_a_key_with_many_rows_works_beside_small_keys():
    rng = np.random.default_rng(0)
    n = 100_000
    X = rng.normal(size=(n + 5, 2))
    y = X @ [1.0, 2.0]
    fleet = Fleet(Ridge(alpha=1e-6, fit_intercept=False))
    keys = ["large"] * n + ["small"] * 5
    fleet.learn(keys, X, y)
    fleet.replay(["large", "small"], X[:2], y[:2])
    assert fleet["large"].n_rows_ == n + 1
    np.testing.assert_allclose(fleet.coef(["large", "small"]), [[1.0, 2.0]] * 2, atol=1e-5)
    assert fleet.forget(list(range(0, n, 2))) == n // 2
    assert fleet.residues() == []
