"""Findings hold for made-up results, and each fails when the numbers that decide it are changed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import synthetic_results

from efface.paper.claims import EITHER, FINDINGS, claims
from efface.paper.comparisons import AutoComparison, Comparison, LimitedSubplot
from efface.paper.correction_experiments import (
    AnyPenalty,
    DeletedRows,
    MemorySize,
    SwingingRanks,
)
from efface.paper.evidence import Evidence
from efface.paper.experiments import ForgettingTerms, OlsBound, Ranks, RidgeBound
from efface.paper.methods import METHODS
from efface.theory.appendix_d import examples

READING = ("standardized",)

#: Findings that no result can change: they fail, or test_arithmetic.py shows what they rest on.
WRONG = {
    "assumption-1-automatic",
    "assumption-1-memory",
    "assumption-1-parts",
    "case-4",
    "determinant-square",
    "example-M1",
    "example-M2",
    "ellipsoid-narrow",
    "example-M4",
    "floor-sphere",
    "largest-entry",
    "ols-finite",
    "one-switch",
    "radius-order",
    "theorem-2-order",
    "theta-inf",
    "unit-length",
    "update-at-rank-loss",
    "update-cost",
    "update-printed",
}
ARITHMETIC = {
    "assumption-1-example",
    "assumption-1-loose",
    "assumption-1-monotone",
    "bernstein",
    "determinant",
    "inversion",
    "protocol",
    "student-30",
    "theorem-1-order",
    "trace",
    "update-corrected",
}


def judged(found):
    rows = synthetic_results.coverage()
    every = claims(found, rows, examples(), READING, methods=METHODS)
    return {claim.finding.name: claim for claim in every}


def judged_alone(name, found, coverage=None):
    rows = synthetic_results.coverage() if coverage is None else coverage
    (finding,) = (each for each in (*FINDINGS, *EITHER) if each.name == name)
    return finding.claim(READING[0], Evidence(READING[0], found, rows, examples()))


def comparison(found, figure, kind=Comparison, **setting):
    for each, numbers in found.items():
        wanted = {"figure": figure, **setting}.items()
        if type(each) is kind and all(getattr(each, n) == v for n, v in wanted):
            return numbers
    raise LookupError(setting)


def test_every_finding_about_results_holds_for_the_synthetic_results():
    found = judged(synthetic_results.found())
    wrong = {name for name, claim in found.items() if claim.verdict != "holds"}
    assert wrong == WRONG
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


def scale_auto(figure, factor, **setting):
    def change(found):
        comparison(found, figure, AutoComparison, **setting)["regret"] *= factor

    return change


def put(kind, name, value, scale=1.0):
    def change(found):
        numbers = (n for e, n in found.items() if isinstance(e, kind) and rescaled(e) == scale)
        next(numbers)[name][:] = value

    return change


def rescaled(setting):
    return getattr(setting, "scale", 1.0)


def constant_penalty(found):
    comparison(found, "fig3", s=40, sigma=2.0)["lambda"][:] = 5.0


def straight(found):
    numbers = comparison(found, "fig5", k=3, sigma=1.0)
    numbers["regret"][:, 2] = np.linspace(10, 1000, numbers["regret"].shape[-1])


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
    "small-top-left": scale("regret", "fig3", 2, 1.2, s=20, sigma=1.0),
    "sensitive-to-s": scale("regret", "fig3", 0, 3.0, s=20, sigma=1.0),
    "tails-not-variance": scale("regret", "fig4-variance", 0, 0.7, s=40, df=5),
    "penalty-adapts": constant_penalty,
    "penalty-near-oracle": constant_penalty,
    "switching-loses-to-100": scale("regret", "fig5", 4, 9.0, k=2, sigma=3.0),
    "noise-delays": straight,
    "frt-measures-regret": put(DeletedRows, "frt", 0.1),
    "deletion-cost": put(DeletedRows, "cost", 0.1),
    "corrected-tight": put(LimitedSubplot, "limit", 500.0),
    "corrected-holds": put(LimitedSubplot, "loss", 500.0),
    **{
        f"any-penalty-{name}": put(AnyPenalty, name, 0.9) for name in ("ball", "ellipsoid", "limit")
    },
    "floor-memory": put(MemorySize, "oracle", 0.5),
    "lemma-2-trace": put(ForgettingTerms, "representation", 200.0),
    "lemma-2-ridge": put(RidgeBound, "derived_sign", -1.0),
    "ridge-full-rank": put(RidgeBound, "smallest_penalty", 0.0),
    "ridge-remedy": put(SwingingRanks, "adaptive", 20.0),
    "theorem-1": put(OlsBound, "bound", 5.0),
    "theorem-1-units": put(OlsBound, "bound", 5.0, scale=100.0),
    "ols-linear": put(OlsBound, "half", 1.0),
    "theorem-2-printed": put(RidgeBound, "printed_bound", np.nan),
    "theorem-2-derived": put(RidgeBound, "bound", np.nan),
    "theorem-2-exact": put(RidgeBound, "exact_c2_bound", 5.0),
    "theorem-2-exists": put(RidgeBound, "bound", np.nan),
    "theorem-2-units": put(RidgeBound, "exact_c2_bound", 5.0, scale=100.0),
    "c2-printed": put(RidgeBound, "printed_log_c2", 7.0),
    "c2-derived": put(RidgeBound, "derived_log_c2", -7.0),
    "rank-swings": put(Ranks, "rank", 3.0),
    "rank-steps": put(Ranks, "rank", np.tile([3.0, 1.0], 20)),
    "oracle-fig3": scale("regret", "fig3", 4, 1.2, s=40, sigma=2.0),
    "oracle-fig4": scale("regret", "fig4", 4, 1.2, s=40, df=10),
    "oracle-fig5": scale("regret", "fig5", 5, 1.2, k=2, sigma=2.0),
    "adaptive-near-oracle-fig3": scale("regret", "fig3", 0, 1.2, s=40, sigma=2.0),
    "adaptive-near-oracle-fig4": scale("regret", "fig4", 0, 1.2, s=40, df=10),
    "adaptive-near-oracle-fig5": scale("regret", "fig5", 0, 1.2, k=2, sigma=2.0),
    "adaptive-beats-zero-fig3": scale("regret", "fig3", 5, 0.7, s=40, sigma=2.0),
    "adaptive-beats-zero-fig4": scale("regret", "fig4", 5, 0.7, s=40, df=10),
    "adaptive-beats-zero-fig5": scale("regret", "fig5", 6, 0.7, k=2, sigma=2.0),
    **{
        f"{name}-{figure}": scale_auto(figure, 1.2, **setting)
        for name in ("auto-best", "auto-near-oracle", "auto-beats-adaptive")
        for figure, setting in (
            ("fig3", {"s": 40, "sigma": 2.0}),
            ("fig4", {"s": 40, "df": 10}),
            ("fig5", {"k": 2, "sigma": 2.0}),
        )
    },
    "floor-fig3": scale_auto("fig3", 0.9, s=40, sigma=2.0),
    "floor-fig5": scale("regret", "fig5", 2, 0.8, k=2, sigma=2.0),
    "floor-attained-fig3": scale("regret", "fig3", 4, 1.1, s=40, sigma=2.0),
    "floor-attained-fig5": scale("regret", "fig5", 5, 1.1, k=2, sigma=2.0),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_finding_fails_when_its_numbers_are_changed(name):
    found = synthetic_results.found()
    CHANGES[name](found)
    claim = judged_alone(name, found)
    assert claim.verdict == "fails"
    assert claim.decided_by in claim.places


@pytest.mark.parametrize(
    ("name", "radius"),
    [
        ("lemma-1", "paper, Lemma 1"),
        ("lemma-1-ball", "Euclidean ball, OLS"),
        ("noise-event", "noise event, App. A"),
        ("lemma-3", "paper, Lemma 3"),
        ("lemma-4", "paper, Lemma 4"),
    ],
)
def test_coverage_below_nominal_fails_and_near_it_is_open(name, radius):
    def with_coverage(share):
        rows = synthetic_results.coverage()
        i = next(i for i, row in enumerate(rows) if row.radius == radius)
        return [*rows[:i], replace(rows[i], coverage=share), *rows[i + 1 :]]

    assert judged_alone(name, {}, with_coverage(0.6)).verdict == "fails"
    assert judged_alone(name, {}, with_coverage(0.951)).verdict == "open"


def test_every_finding_has_a_change_that_makes_it_fail():
    covered = {"lemma-1", "lemma-1-ball", "noise-event", "lemma-3", "lemma-4", *CHANGES}
    named = {finding.name for finding in (*FINDINGS, *EITHER)}
    assert covered | ARITHMETIC | WRONG | {"example-M3"} == named
    assert not covered & (ARITHMETIC | WRONG)


def test_findings_on_a_method_that_was_not_run_are_left_out():
    found = synthetic_results.found(methods=())
    judged = claims(found, synthetic_results.coverage(), examples(), READING)
    names = {claim.finding.name for claim in judged}
    assert not [name for name in names if name.startswith("auto-")]
    assert "oracle-fig3" in names


def test_a_target_has_its_own_findings_only():
    found = synthetic_results.found(methods=())
    for target, name in (("fig4", "tails-not-variance"), ("memory", "floor-memory")):
        judged = claims(found, (), (), READING, target=target)
        assert {claim.finding.target for claim in judged} == {target}
        assert name in {claim.finding.name for claim in judged}


def test_names_and_sentences_are_unique():
    findings = (*FINDINGS, *EITHER)
    assert len({each.name for each in findings}) == len(findings)
    assert len({each.sentence for each in findings}) == len(findings)


def test_the_deciding_setting_is_the_one_that_was_changed():
    found = synthetic_results.found()
    CHANGES["close-to-best"](found)
    claim = judged_alone("close-to-best", found)
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
