"""The paper's lemmas, theorems, definitions and algorithms, and the remarks on them."""

from __future__ import annotations

from functools import partial

from efface.paper import arithmetic
from efface.paper.figure_measures import loss_ratios
from efface.paper.findings import Finding, findings_of
from efface.paper.statement_measures import (
    coverages,
    drift_sizes,
    largest_terms,
    lemma_2_slack,
    ols_bound_factors,
    ols_growth,
    ridge_bound_factors,
    ridge_lemma_slack,
    ridge_over_ols,
    smallest_penalties,
    smallest_terms,
    wrong_values,
)
from efface.paper.verdicts import Range

ROUNDING = 1e-9

_FACTOR = "log10 of the bound over the measured absolute regret"
_COVERAGE = "coverage"
_SLACK = "(bound - term) / term"
_COVERS = Range(low=0.95)

STATEMENT_FINDINGS: tuple[Finding, ...] = (
    *findings_of(
        "Eq. 3, Algs. 1 and 2",
        "fig3",
        (
            "one-loss",
            "The squared loss of eq. 3 and the absolute loss of the algorithms are one regret.",
            "absolute over squared regret",
            Range(0.95, 1.05),
            loss_ratios,
        ),
    ),
    *findings_of(
        "Def. 2",
        "claims",
        (
            "frt-range",
            "The forgetting regret term lies in [0, 2].",
            "largest term of a run",
            Range(0.0, 2.0),
            largest_terms,
        ),
        (
            "frt-vanishes",
            "FRT can be 0 at every step, and then the regret is O(sqrt T).",
            "smallest term of a run",
            Range(high=0.0),
            smallest_terms,
        ),
    ),
    *findings_of(
        "Lemma 1",
        "coverage",
        (
            "lemma-1",
            "The ellipsoid of Lemma 1 covers with probability 95 %.",
            _COVERAGE,
            _COVERS,
            partial(coverages, "paper, Lemma 1"),
        ),
        (
            "lemma-1-ball",
            "As a Euclidean ball, as in its proof, Lemma 1 covers with probability 95 %.",
            _COVERAGE,
            _COVERS,
            partial(coverages, "Euclidean ball, OLS"),
        ),
    ),
    *findings_of(
        "App. A",
        "coverage",
        (
            "noise-event",
            "The noise event of App. A has probability 95 %.",
            _COVERAGE,
            _COVERS,
            partial(coverages, "noise event, App. A"),
        ),
    ),
    *findings_of(
        "Lemma 2, Apps. C and E",
        "claims",
        (
            "lemma-2",
            "The cumulative representation term is at most 2 eta plus the sum of FRT.",
            _SLACK,
            Range(low=0.0),
            partial(lemma_2_slack, "lemma_2"),
        ),
        (
            "lemma-2-trace",
            "The cumulative representation term is at most 2 (d log(s L^2 / d) + T - s).",
            _SLACK,
            Range(low=0.0),
            partial(lemma_2_slack, "lemma_2_trace"),
        ),
        (
            "lemma-2-ridge",
            "With a penalty, the representation term is at most 2 eta_Ridge plus the sum of FRT.",
            _SLACK,
            Range(low=0.0),
            ridge_lemma_slack,
        ),
    ),
    *findings_of(
        "Lemma 3",
        "coverage",
        (
            "lemma-3",
            "The ball of Lemma 3 covers with probability 95 % at its own penalty.",
            _COVERAGE,
            _COVERS,
            partial(coverages, "paper, Lemma 3"),
        ),
    ),
    *findings_of(
        "Lemma 4, App. B",
        "coverage",
        (
            "lemma-4",
            "The ellipsoid of Lemma 4 covers with probability 95 %.",
            _COVERAGE,
            _COVERS,
            partial(coverages, "paper, Lemma 4"),
        ),
    ),
    *findings_of(
        "Remark on Lemma 4",
        "claims",
        (
            "radius-order",
            "The radii of Lemmas 1 and 4 are of the order sqrt(s).",
            "p of radius ~ s^p",
            Range(0.4, 0.6),
            arithmetic.radius_orders,
        ),
        (
            "ridge-full-rank",
            "The Gram matrix of the adaptive ridge always has full rank.",
            "smallest penalty",
            Range(low=1e-6),
            smallest_penalties,
        ),
        (
            "ridge-remedy",
            "The adaptive ridge remedies the instability of FIFD-OLS.",
            "its regret over that of FIFD-OLS",
            Range(high=1.0),
            ridge_over_ols,
        ),
    ),
    *findings_of(
        "Theorem 1",
        "claims",
        (
            "theorem-1",
            "In the units of the figures, the bound of Theorem 1 is above the regret.",
            _FACTOR,
            Range(low=0.0),
            ols_bound_factors,
        ),
        (
            "theorem-1-units",
            "With contexts times 100 or 1000, the bound of Theorem 1 is above the regret.",
            _FACTOR,
            Range(low=0.0),
            partial(ols_bound_factors, rescaled=True),
        ),
        (
            "ols-linear",
            "The regret of FIFD-OLS is linear in T.",
            "p of R ~ T^p over the second half",
            Range(0.95, 1.05),
            ols_growth,
        ),
        (
            "infinite-at-full-rank",
            "The adaptive constant is infinite where the Gram matrix has full rank.",
            "share of full-rank windows with an infinite constant",
            Range(low=1.0),
            arithmetic.infinite_constants,
        ),
    ),
    *findings_of(
        "Theorem 2",
        "claims",
        (
            "theorem-2-printed",
            "The bound of Theorem 2, with C2 as printed, is above the regret.",
            _FACTOR,
            Range(low=0.0),
            partial(ridge_bound_factors, "printed_bound"),
        ),
        (
            "theorem-2-derived",
            "The bound of Theorem 2, with C2 as derived in its proof, is above the regret.",
            _FACTOR,
            Range(low=0.0),
            partial(ridge_bound_factors, "bound"),
        ),
        (
            "theorem-2-exact",
            "With the exact determinant ratio for C2, the bound of Theorem 2 is above the regret.",
            _FACTOR,
            Range(low=0.0),
            partial(ridge_bound_factors, "exact_c2_bound"),
        ),
        (
            "c2-printed",
            "C2, as printed, is a constant close to 1 (within 10 %).",
            "log10 of |C2|",
            Range(-0.041, 0.041),
            partial(drift_sizes, "printed"),
        ),
        (
            "c2-derived",
            "C2, as derived, is a constant close to 1 (within 10 %).",
            "log10 of |C2|",
            Range(-0.041, 0.041),
            partial(drift_sizes, "derived"),
        ),
        (
            "theorem-2-order",
            "The stated order of Theorem 2 is that of its bound, which does not depend on nu.",
            "factor of the bound when nu is doubled",
            Range(0.99, 1.01),
            arithmetic.order_of_theorem_2,
        ),
    ),
    *findings_of(
        "App. F",
        "claims",
        (
            "update-printed",
            "The incremental update as printed gives the inverse Gram matrix.",
            "relative error after 200 slides",
            Range(high=1e-6),
            partial(arithmetic.update_errors, printed=True),
        ),
        (
            "update-corrected",
            "The incremental update with x' Gamma x - 1 gives the inverse Gram matrix.",
            "relative error after 200 slides",
            Range(high=1e-6),
            partial(arithmetic.update_errors, printed=False),
        ),
    ),
)

#: Statements that are the same under both readings.
IDENTITIES: tuple[Finding, ...] = (
    *(
        Finding(
            f"example-{name}",
            f"The values that the paper states for its example window {name} are right.",
            f"App. D, Case {name[1]}",
            "examples",
            "number of wrong values",
            Range(high=0.0),
            partial(wrong_values, name),
        )
        for name in ("M1", "M2", "M3", "M4")
    ),
    *findings_of(
        "App. D, Case 4",
        "claims",
        (
            "case-4",
            "If the new row is outside the span of the window, FRT is 1.",
            "FRT of the window e1, e2",
            Range(1 - ROUNDING, 1 + ROUNDING),
            arithmetic.row_outside_the_span,
        ),
    ),
    *findings_of(
        "Assumption 1",
        "claims",
        (
            "assumption-1-example",
            "At s = 100, d = 110 and 30 positive coefficients the limit is 1.02.",
            "limit",
            Range(1.015, 1.025),
            arithmetic.example_limit,
        ),
        (
            "assumption-1-monotone",
            "The limit grows with s and the number of positive coefficients, and falls with d.",
            "smallest change in that direction",
            Range(low=0.0),
            arithmetic.limit_steps,
        ),
        (
            "assumption-1-loose",
            "In most cases the limit is above 1.",
            "share of a grid of s, d and positive coefficients",
            Range(low=0.5),
            arithmetic.share_of_loose_limits,
        ),
    ),
    *findings_of(
        "Alg. 1",
        "claims",
        (
            "update-cost",
            "The incremental update costs O(s^2 d).",
            "exponent of s in the number of multiplications",
            Range(1.9, 2.1),
            arithmetic.update_orders,
        ),
    ),
    *findings_of(
        "Alg. 2",
        "claims",
        (
            "largest-entry",
            "The largest entry of the window is also its largest absolute entry.",
            "share of windows",
            Range(low=1.0),
            arithmetic.largest_entries,
        ),
    ),
    *findings_of(
        "App. A",
        "claims",
        (
            "bernstein",
            "The tail of a sum of subgaussian differences is below Bernstein's bound.",
            "exact tail over the bound",
            Range(high=1.0),
            arithmetic.tail_ratios,
        ),
    ),
    *findings_of(
        "App. C",
        "claims",
        (
            "determinant",
            "det(I - aa' + bb') is (1 + b'b)(1 - a'a) + (a'b)^2.",
            "relative error",
            Range(high=ROUNDING),
            arithmetic.determinant_errors,
        ),
        (
            "trace",
            "det Phi is at most (s L^2 / d)^d.",
            "d log(s L^2 / d) - log det Phi",
            Range(low=0.0),
            arithmetic.trace_slacks,
        ),
        (
            "determinant-square",
            "If the window has rank d, det Phi is det(x)^2.",
            "relative error",
            Range(high=ROUNDING),
            arithmetic.square_determinants,
        ),
    ),
    *findings_of(
        "App. F",
        "claims",
        (
            "inversion",
            "The matrix inversion formula is right.",
            "relative error",
            Range(high=ROUNDING),
            arithmetic.inversion_errors,
        ),
    ),
)
