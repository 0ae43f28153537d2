"""What a fleet holds: its file, the rows of a key, the rows of an owner."""

from __future__ import annotations

import numpy as np
import pytest

from efface import Fleet, Ridge
from efface.batch.fleet_content import fleet_snapshot, held_by_keys, key_snapshot, known, restored
from efface.errors import DamagedFile
from efface.live.snapshot import same

X, Y = np.random.default_rng(4).normal(size=(9, 2)), np.arange(9.0)
KEYS = [5, "b", 5, "b", 5, 5, "b", 5, 5]


def learned(**given):
    fleet = Fleet(Ridge(window=4, alpha=0.5))
    fleet.learn(KEYS, X, Y, **given)
    return fleet, fleet._alive()


def test_the_rows_of_a_key_are_those_of_a_model_that_learned_them():
    owners = ["ann", None, "ann", None, None, "bob", None, None, None]
    fleet, held = learned(owners=owners, at=np.arange(9.0), ids=[f"r{k}" for k in range(9)])
    for key in (5, "b"):
        mine = [place for place, each in enumerate(KEYS) if each == key]
        model = Ridge(window=4, alpha=0.5)
        for row in mine:
            marks = {"id": f"r{row}", "at": float(row), "owner": owners[row]}
            model.learn_one(X[row], Y[row], **marks)
        found = key_snapshot(fleet._model, held, fleet._slots([key]))
        assert same(found, model._snapshot())


def test_a_fleet_is_made_again_from_its_content():
    fleet, held = learned()
    model, again = restored(fleet_snapshot(fleet._model, held.rows), "f")
    assert model.get_params() == fleet._model.get_params()
    assert again.residues() == []
    assert again.rows is held.rows
    wrong = fleet_snapshot(fleet._model, held.rows)
    wrong.parameters["alpha"] = -1.0
    with pytest.raises(DamagedFile, match="'f' is damaged: it describes no model"):
        restored(wrong, "f")


def test_the_rows_of_an_owner_come_key_by_key():
    fleet, held = learned(owners=["ann"] * 9)
    found = held_by_keys(fleet._model, held, "ann")
    assert found.keys == [5, 5, 5, 5, "b", "b", "b"]
    assert found.ids == [4, 5, 7, 8, 1, 3, 6]
    assert list(found.features) == ["x0", "x1"]
    assert known([1, None, "a"]) == [1, "a"]
