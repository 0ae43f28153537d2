"""The audit of a fleet finds a wrong key, what arrays hold beside rows, and names that live."""

from __future__ import annotations

import numpy as np
import pytest

from efface import Fleet, Ridge
from efface.store.fleet_audit import audit_fleet


@pytest.fixture
def fleet():
    rng = np.random.default_rng(0)
    made = Fleet(Ridge(window=20))
    owners = ["ann", "bob"] * 15
    made.learn(["a", "b", "c"] * 10, rng.normal(size=(30, 2)), rng.normal(size=30), owners=owners)
    return made


def test_a_sound_fleet_holds(fleet):
    found = audit_fleet(fleet, ["gone"], ["carl"])
    assert found.holds
    assert found.n_rows == 30
    assert found.verdict.startswith("holds: 30 live rows of 3 keys")
    assert found.error <= found.tolerance


def test_names_that_live_are_found(fleet):
    found = audit_fleet(fleet, [3, 99], ["bob", "carl"])
    assert (found.holds, found.remembered, found.remembered_owners) == (False, (3,), ("bob",))


def test_wrong_coefficients_of_one_key_are_found(fleet, monkeypatch):
    fits = fleet.fits()
    fits.coef[1, 0] += 1e-6
    monkeypatch.setattr(Fleet, "fits", lambda self: fits)
    found = audit_fleet(fleet, [], [])
    assert not found.holds
    assert "1 key of 3: fails: coefficients differ" in found.verdict


def test_residues_are_found(fleet):
    fleet.keyed_models.rows.table.X[-1] = 5.0  # a free place
    found = audit_fleet(fleet, [], [])
    assert not found.holds
    assert found.residues == ("rows",)
