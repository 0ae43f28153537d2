"""A request is answered in every model that has such rows, timed and audited."""

from __future__ import annotations

import math

import numpy as np
import pytest

from efface import OLS, audit
from efface.files.answers import ModelHolder, answer, together
from efface.files.requests import Request

RNG = np.random.default_rng(3)


def model(owners):
    X = RNG.normal(size=(len(owners), 2))
    return OLS().fit(X, RNG.normal(size=len(owners)), owners=owners)


def test_an_owner_is_forgotten_in_every_model():
    models = [model(["ann", "bob"] * 5), model(["ann"] * 3 + ["eve"] * 6)]
    request = Request(None, 4, "ann", line=9)
    found = answer(request, ModelHolder(request, models), row=19, arrived=18)
    assert (found.status, found.rows, found.holds) == ("forgotten", 8, True)
    assert (found.id, found.owner, found.asked, found.line) == (None, "ann", 4, 9)
    assert [each.owners_ for each in models] == [["bob"], ["eve"]]
    assert found.verdict.startswith("holds in 2 groups: coefficients within ")
    assert found.seconds > 0
    assert found.audit_seconds > 0


@pytest.mark.parametrize(
    ("request_", "arrived", "expected"),
    [
        (Request(owner="zoe"), None, ("unknown", 0, False, "no row had this owner")),
        (Request(77), None, ("unknown", 0, False, "no row had this id")),
        (Request(77), 3, ("already gone", 0, True, "holds: 4 live rows")),
    ],
)
def test_nothing_is_removed_without_such_rows(request_, arrived, expected):
    holder = ModelHolder(request_, [model(["ann"] * 4)])
    found = answer(request_, holder, row=4, arrived=arrived)
    verdict = found.verdict[: len(expected[3])]
    assert (found.status, found.rows, found.holds, verdict) == expected
    assert math.isnan(found.error) == (arrived is None)


def test_a_group_that_fails_decides_the_verdict():
    good, bad = model(["ann"] * 4), model(["bob"] * 4)
    audits = [audit(good, forgotten_owners=["bob"]), audit(bad, forgotten_owners=["bob"])]
    found = together(audits)
    assert not found.holds
    assert found.verdict == audits[1].verdict
    assert "bob" in found.verdict
