"""Tests of efface.service.body_budget."""

from __future__ import annotations

import pytest

from efface.service.body_budget import BodyBudget
from efface.service.problems import RefusedRequest


def test_bodies_together_stay_below_the_budget():
    budget = BodyBudget(100)
    budget.take(60)
    with pytest.raises(RefusedRequest, match="send it again later"):
        budget.take(41)
    assert budget.held == 60
    budget.give_back(60)
    budget.take(100)
