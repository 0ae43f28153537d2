"""Findings hold for made-up results, and each fails when the numbers that decide it are changed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import synthetic_results

from efface.paper.claims import EITHER, FINDINGS, claims
from efface.paper.experiments import Comparison, ForgettingTerms, OlsBound, Ranks, RidgeBound
from efface.theory.appendix_d import examples

READING = ("standardized",)


def judged(found, coverage=None):
    rows = synthetic_results.coverage() if coverage is None else coverage
    return {claim.finding.name: claim for claim in claims(found, rows, examples(), READING)}


def comparison(found, figure, **setting):
    for each, numbers in found.items():
        wanted = {"figure": figure, **setting}.items()
        if isinstance(each, Comparison) and all(getattr(each, n) == v for n, v in wanted):
            return numbers
    raise LookupError(setting)


def one(found, kind):
    return next(numbers for each, numbers in found.items() if isinstance(each, kind))


def test_every_finding_except_three_examples_holds_for_the_synthetic_results():
    found = judged(synthetic_results.found())
    wrong = {name for name, claim in found.items() if claim.verdict != "holds"}
    assert wrong == {"example-M1", "example-M2", "example-M4"}
    assert len(found) == len(FINDINGS) + len(EITHER)


def superlinear(found):
    numbers = comparison(found, "fig3", s=40, sigma=2.0)
    numbers["regret"] = numbers["regret"] ** 1.2


def scale(name, figure, line, factor, **setting):
    def change(found):
        comparison(found, figure, **setting)[name][:, line] *= factor

    return change


def cubed(found):
    numbers = comparison(found, "fig5", k=3, sigma=2.0)
    numbers["regret"][:, 2] = numbers["regret"][:, 2] ** 3


def widen(found):
    numbers = comparison(found, "fig3", s=60, sigma=1.0)["l2"]
    numbers[:, 0] += 0.1 * np.random.default_rng(0).normal(size=(len(numbers), 1))


def put(kind, name, value):
    def change(found):
        one(found, kind)[name][:] = value

    return change


CHANGES = {
    "linear": superlinear,
    "falls-with-s": scale("regret", "fig3", 0, 1.5, s=60, sigma=2.0),
    "grows-with-sigma": scale("regret", "fig3", 2, 0.1, s=60, sigma=2.0),
    "best": scale("regret", "fig3", 3, 0.5, s=40, sigma=3.0),
    "close-to-best": scale("regret", "fig3", 3, 0.5, s=40, sigma=1.0),
    "comparable": scale("regret", "fig3", 3, 2.0, s=40, sigma=1.0),
    "robust-to-sigma": scale("regret", "fig3", 1, 0.1, s=40, sigma=3.0),
    "l2-bounded": scale("l2", "fig3", 0, 2.0, s=40, sigma=3.0),
    "l2-about-1": scale("l2", "fig3", 0, 2.0, s=40, sigma=3.0),
    "l2-falls-with-s": scale("l2", "fig3", 0, 1.2, s=60, sigma=1.0),
    "l2-grows-with-sigma": scale("l2", "fig3", 1, 0.1, s=60, sigma=2.0),
    "l2-narrow": widen,
    "l2-close-to-best": scale("l2", "fig3", 3, 0.5, s=40, sigma=1.0),
    "falls-with-df": scale("regret", "fig4", 0, 3.0, s=40, df=10),
    "robust-to-tails": scale("regret", "fig4", 1, 0.1, s=40, df=5),
    "sublinear": cubed,
    "switching-wins": scale("regret", "fig5", 1, 4.0, k=2, sigma=1.0),
    "switching-loses": scale("regret", "fig5", 1, 0.1, k=2, sigma=3.0),
    "switching-loses-to-fixed": scale("regret", "fig5", 2, 9.0, k=2, sigma=3.0),
    "frt-range": put(ForgettingTerms, "frt_largest", 2.5),
    "lemma-2": put(ForgettingTerms, "representation", 200.0),
    "theorem-1": put(OlsBound, "bound", 5.0),
    "theorem-2": put(RidgeBound, "bound", np.nan),
    "theorem-2-exact": put(RidgeBound, "exact_c2_bound", 5.0),
    "rank-swings": put(Ranks, "rank", 3.0),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_finding_fails_when_its_numbers_are_changed(name):
    found = synthetic_results.found()
    CHANGES[name](found)
    claim = judged(found)[name]
    assert claim.verdict == "fails"
    assert claim.decided_by in claim.places


@pytest.mark.parametrize(
    ("name", "radius"),
    [
        ("lemma-1", "paper, Lemma 1"),
        ("lemma-1-ball", "Euclidean ball, OLS"),
        ("lemma-4", "paper, Lemma 4"),
    ],
)
def test_coverage_below_nominal_fails_and_near_it_is_open(name, radius):
    def with_coverage(share):
        rows = synthetic_results.coverage()
        i = next(i for i, row in enumerate(rows) if row.radius == radius)
        return [*rows[:i], replace(rows[i], coverage=share), *rows[i + 1 :]]

    assert judged(synthetic_results.found(), with_coverage(0.6))[name].verdict == "fails"
    assert judged(synthetic_results.found(), with_coverage(0.951))[name].verdict == "open"


def test_every_finding_has_a_change_that_makes_it_fail():
    covered = {"lemma-1", "lemma-1-ball", "lemma-4", *CHANGES}
    named = {finding.name for finding in (*FINDINGS, *EITHER)}
    assert covered == {name for name in named if not name.startswith("example")}


def test_the_deciding_setting_is_the_one_that_was_changed():
    found = synthetic_results.found()
    CHANGES["close-to-best"](found)
    claim = judged(found)["close-to-best"]
    assert claim.decided_by.setting == "fig3/s=40,sigma=1"
    assert claim.counts == {"holds": 11, "fails": 1, "open": 0}


def test_readings_are_judged_separately():
    found = {**synthetic_results.found("standardized"), **synthetic_results.found("unit-norm")}
    unit = {each: n for each, n in found.items() if each.reading == "unit-norm"}
    CHANGES["close-to-best"](unit)
    rows = [*synthetic_results.coverage("standardized"), *synthetic_results.coverage("unit-norm")]
    both = claims(found, rows, examples(), ("standardized", "unit-norm"))
    verdicts = {c.reading: c.verdict for c in both if c.finding.name == "close-to-best"}
    assert verdicts == {"standardized": "holds", "unit-norm": "fails"}
