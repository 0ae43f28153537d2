"""Penalty rules, as the core reads them."""

from math import inf

from efface.live.penalties import Fixed, Lemma3, Selected


def test_a_fixed_penalty_is_constant():
    assert Fixed(2.0).code == (0, 2.0, 0.0, 0.0)
    assert Fixed(2.0).constant == 2.0
    assert not Fixed(2.0).unpenalised
    assert Fixed().unpenalised


def test_lemma_3_follows_from_the_rows():
    assert Lemma3(delta=0.1, theta_max=2.0).code == (1, 0.1, 2.0, inf)
    assert Lemma3(switch_at=2.0).code[3] == 2.0
    assert Lemma3().constant is None
    assert not Lemma3().unpenalised


def test_a_selected_penalty_scales_features_by_the_roots_of_their_deviations():
    assert Selected().power == 0.5
    assert Fixed(1.0).power == Lemma3().power == 0.0
    assert Selected().constant is None
