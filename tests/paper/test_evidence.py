"""The results under one reading: subplots in order, lines by name, runs paired."""

from __future__ import annotations

import numpy as np
import pytest
import synthetic_results

from efface.paper.evidence import Evidence
from efface.paper.experiments import OlsBound
from efface.paper.methods import Line
from efface.theory.appendix_d import examples


@pytest.fixture(scope="module")
def evidence():
    both = {**synthetic_results.found(), **synthetic_results.found("unit-norm")}
    return Evidence("standardized", both, synthetic_results.coverage(), examples())


def test_only_the_results_of_its_reading_are_in_it(evidence):
    assert {each.reading for each in evidence.found if not each.either} == {"standardized"}
    assert {each.kind for each in evidence.found if each.either} >= {"swings", "memory"}
    assert len(evidence.ranks) == 5
    assert len(list(evidence.of(OlsBound))) == 5


def test_rows_of_subplots_are_in_increasing_order(evidence):
    rows = evidence.rows("fig4", "df", "s")
    assert [[each.setting.df for each in row] for row in rows] == [[5, 10, 15]] * 4


def test_lines_are_found_by_name(evidence):
    subplot = evidence.subplots("fig5")[3]
    assert [line.method for line in subplot.paper_lines] == [
        "adaptive", "switching", "fixed", "fixed", "fixed",
    ]  # fmt: skip
    assert subplot.fixed_lines == [subplot.fixed(factor) for factor in (1.0, 10.0, 100.0)]
    assert subplot.only("oracle") == Line("oracle", 400.0)
    with pytest.raises(ValueError, match="too many values"):
        subplot.only("fixed")


def test_a_total_is_the_last_regret_per_prediction(evidence):
    subplot = evidence.subplots("fig3")[1]
    last = subplot.numbers["regret"][:, 0, -1]
    np.testing.assert_allclose(subplot.total(Line("adaptive")), last / (600 - 40))


def test_autoridge_is_paired_with_the_subplots_of_the_paper(evidence):
    pairs = list(evidence.paired_with_auto("fig3"))
    assert len(pairs) == 12
    for subplot, auto in pairs:
        assert subplot.setting.id == auto.setting.id
        assert (subplot.runs, auto.runs) == (8, 8)


def test_without_autoridge_there_are_no_pairs():
    evidence = Evidence("standardized", synthetic_results.found(methods=()), [], [])
    assert list(evidence.paired_with_auto("fig3")) == []
    assert len(evidence.subplots("fig3")) == 12
