"""Factors of live rows, against the sums of products of the rows."""

from __future__ import annotations

import numpy as np
import pytest
from designs import DEPENDENT, DESIGNS, sample

from efface.engine.events.factored_rows import factor_rows
from efface.engine.events.rows import SPAN, span_of
from efface.engine.jit.views import weighed
from efface.engine.linalg.precise_solve import UNSOLVED
from efface.engine.linalg.spectrum import weighted_system
from efface.engine.selection.direct import scaled_rows
from efface.engine.standardized.zscores import Scores, scores
from efface.engine.sums.precise_sums import allocate_precise, open_precise

KINDS = {"plain": (False, False), "standardised": (True, False), "halved": (False, True)}


def scored(X, w, kind, intercept):
    """The rows as each kind of model has them."""
    if kind == "plain":
        nothing = np.zeros(X.shape[1])
        return Scores(X, nothing, nothing, np.ones(X.shape[1]))
    if kind == "standardised":
        return scores(X, w)
    return scaled_rows(X, w, centred=intercept, halved=True)


def factored(X, y, w, kind, intercept, lead=3):
    """The factor of rows that lie behind ``lead`` free places."""
    n, d = X.shape
    rows, responses = np.zeros((lead + n, d)), np.zeros((lead + n, 3))
    rows[lead:], responses[lead:] = X, weighed(y, w)
    span = np.zeros(SPAN, np.int64)
    live = span_of(span)
    live.head, live.end, live.weightless = lead, lead + n, np.count_nonzero(w == 0.0)
    sums = allocate_precise(d, intercept or kind == "standardised", n)
    out = np.zeros((d + 1, d)), np.zeros(d + 1), np.zeros((3, d))
    rank, total_weight = factor_rows(rows, responses, span, sums, (intercept, *KINDS[kind]), *out)
    assert not open_precise(sums).total.any()
    assert not open_precise(sums).system.scratch.any()
    return *out, rank, total_weight


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", sorted({**DESIGNS, **DEPENDENT}))
def test_factors_have_the_products_of_the_rows(name, kind, intercept, weighted):
    X, y = sample(name, 60, seed=4)
    w = np.random.default_rng(0).choice([0.0, 1.0, 2.5], size=60) if weighted else np.ones(60)
    R, target, places, rank, total_weight = factored(X, y, w, kind, intercept)
    z = scored(X, w, kind, intercept)
    right = weighted_system(z.rows, y, w, intercept)
    assert total_weight == pytest.approx(right.total_weight, rel=1e-14)
    lengths = np.linalg.norm(right.rows, axis=0)
    lengths[lengths == 0.0] = 1.0
    gram = (right.rows / lengths).T @ (right.rows / lengths)
    assert (R / lengths).T @ (R / lengths) == pytest.approx(gram, abs=1e-11)
    size = np.linalg.norm(right.responses)
    pull = (right.rows / lengths).T @ right.responses
    assert (R / lengths).T @ target == pytest.approx(pull, abs=1e-11 * size)
    assert target @ target == pytest.approx(right.responses @ right.responses, rel=1e-11)
    assert rank == np.count_nonzero(np.diag(R))
    new, found = X[:5] + 0.25 * X.std(axis=0), Scores(R, *places)
    apart = 1e-12 * np.abs(new).max(axis=0) / found.deviation
    ours = found.of(new)
    theirs = z.of(new) - right.mean
    assert (np.abs(ours - theirs) <= apart + 1e-10 * np.abs(theirs)).all()


def test_what_a_factor_cannot_tell_is_left_to_the_rows():
    X = np.random.default_rng(0).normal(size=(20, 2))
    R, target, _, rank, _ = factored(X, X @ [1.0, 2.0], np.ones(20), "plain", True)
    assert rank == UNSOLVED  # no noise: what the features leave is rounding
    assert not R.any()
    assert not target.any()
