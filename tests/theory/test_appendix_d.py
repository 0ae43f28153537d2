"""M1..M4: the paper's values, dense arithmetic, and the verdicts."""

from __future__ import annotations

import numpy as np
import pytest
from twins import theory as naive

from efface.theory.appendix_d import StatedValue, examples, render_examples

BY_NAME = {example.name: example for example in examples()}


def test_deleted_terms_and_ranks_of_the_examples():
    """E7: the deleted term is 1/2 at M1, and the rank of M4 does not change."""
    found = [(e.name, e.term.deleted, e.term.rank_before, e.term.rank_after) for e in examples()]
    expected = [
        ("M1 (v = e1)", 0.5, 3, 4),
        ("M1 (v = e2)", 0.5, 3, 3),
        ("M1 (v = 40 e2)", 0.5, 3, 3),
        ("M2", 1.0, 4, 3),
        ("M3", 1.0, 3, 3),
        ("M4", 1.0, 3, 3),
    ]
    assert [row[0] for row in found] == [row[0] for row in expected]
    for row, target in zip(found, expected, strict=True):
        assert row[1:] == pytest.approx(target[1:])


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_examples_agree_with_dense_arithmetic(example):
    X, new = np.array(example.window), np.array(example.arriving)
    term = example.term
    direct = naive.forgetting_regret_term_pinv(X, X[0], new)
    assert (term.deleted, term.dissimilarity, term.total) == pytest.approx(direct, abs=1e-12)
    after = [*example.window[1:], example.arriving]
    assert term.rank_before == naive.exact_rank(example.window)
    assert term.rank_after == naive.exact_rank(after)
    assert example.swing.change == naive.exact_rank(after) - naive.exact_rank(example.window)


def failing(name):
    return [(c.quantity, c.source) for c in BY_NAME[name].stated if not c.holds]


def test_stated_values_that_fail():
    case = "App. D, Case 1"
    assert failing("M1 (v = e1)") == [("deleted", case), ("FRT", case)]
    assert failing("M1 (v = e2)") == [("deleted", case), ("FRT", case)]
    assert failing("M1 (v = 40 e2)") == [("deleted", case), ("FRT", case), ("FRT", "Def. 2, range")]
    assert failing("M2") == [("rank change", "Def. 1, Case 2")]
    assert failing("M3") == []
    assert failing("M4") == [
        ("dissimilarity", "App. D, Case 4"),
        ("rank change", "App. D, Case 4"),
        ("rank change", "Def. 1, Case 4"),
    ]
    assert [e.name for e in examples() if e.holds] == ["M3"]


def test_a_stated_value_holds_if_it_equals_or_bounds_the_computed_one():
    assert StatedValue("x", "here", 1.0, 1.0 + 1e-12).holds
    assert not StatedValue("x", "here", 1.0, 1.1).holds
    assert StatedValue("x", "here", 2.0, 1.1, "<=").holds
    assert not StatedValue("x", "here", 2.0, 2.1, "<=").holds


def test_rendering_has_one_line_per_stated_value():
    text = render_examples()
    lines = text.splitlines()
    assert len(lines) == sum(1 + len(e.stated) for e in examples())
    assert sum(line.endswith("fails") for line in lines) == sum(
        not c.holds for e in examples() for c in e.stated
    )
    assert "M1 (v = e1)  3->4" in text
