"""Penalty rules: the parameters that compiled code reads."""

from dataclasses import replace

import numpy as np
import pytest

from efface.engine.events.state import FIXED, GIVEN, LEMMA_3, PILOT, SELECTED, Rule
from efface.live.penalties import AUTO, RESIDUAL, Fixed, Lemma3, Selected


def test_a_fixed_penalty_does_not_adapt():
    assert Fixed(2.0).rule == Fixed(2.0).applied == Rule(FIXED, 2.0)
    assert not Fixed(2.0).adapts
    assert not Fixed(2.0).unpenalised
    assert Fixed().unpenalised
    assert Fixed(2.0).for_rows(7, 3) == Rule(FIXED, 2.0)


def test_lemma_3_from_the_response_needs_no_pilot_fit():
    penalty = Lemma3(delta=0.1, theta_max=2.0)
    assert penalty.pilot is None
    assert penalty.applied == penalty.rule == Rule(LEMMA_3, 0.0, 0.1, 2.0, np.inf, 0)


@pytest.mark.parametrize("penalty", [Lemma3(theta_max=AUTO), Lemma3(noise=RESIDUAL)])
def test_with_a_pilot_fit_the_penalty_is_given_per_event(penalty):
    assert penalty.applied == Rule(GIVEN)
    assert penalty.pilot == penalty.rule._replace(kind=PILOT)
    assert penalty.for_rows(10**6, 2) == penalty.pilot


@pytest.mark.parametrize("theta_max", [1.0, AUTO])
def test_past_the_switch_there_is_no_penalty(theta_max):
    penalty = Lemma3(theta_max=theta_max, switch_at=2.0)
    always = replace(penalty, switch_at=np.inf)
    assert penalty.for_rows(6, 3) == always.for_rows(6, 3)._replace(switch_at=2.0)
    assert penalty.for_rows(7, 3) == Rule()


def test_a_selected_penalty_adapts_and_needs_no_pilot_fit():
    penalty = Selected()
    assert penalty.adapts
    assert penalty.pilot is None
    assert penalty.rule.kind == SELECTED
    assert penalty.for_rows(3, 2) == penalty.rule
    assert Selected(True) != penalty != Lemma3()
