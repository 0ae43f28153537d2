"""The paper's lemmas, theorems, definitions and algorithms, and the remarks on them."""

from __future__ import annotations

from functools import partial
from typing import get_args

from efface.paper import arithmetic
from efface.paper import correction_measures as corrections
from efface.paper import statement_measures as measures
from efface.paper.findings import Finding
from efface.paper.verdicts import Range

ROUNDING = 1e-9

# Numbers that decide several findings, each with its range.
_COVERS = ("coverage", Range(low=0.95))
_ABOVE_TERM = ("(bound - term) / term", Range(low=0.0))
_ABOVE_REGRET = ("log10 of the bound over the measured absolute regret", Range(low=0.0))
_EQUAL = ("relative error", Range(high=ROUNDING))

_DEFINITION_2 = partial(Finding, source="Def. 2")
_LEMMA_1 = partial(Finding, source="Lemma 1", target="coverage")
_LEMMA_2 = partial(Finding, source="Lemma 2, Apps. C and E")
_LEMMA_4_REMARK = partial(Finding, source="Remark on Lemma 4")
_THEOREM_1 = partial(Finding, source="Theorem 1")
_THEOREM_2 = partial(Finding, source="Theorem 2")
_ASSUMPTION_1 = partial(Finding, source="Assumption 1")
_APPENDIX_C = partial(Finding, source="App. C")
_APPENDIX_F = partial(Finding, source="App. F")

STATEMENT_FINDINGS: tuple[Finding, ...] = (
    _DEFINITION_2(
        "frt-range",
        "The forgetting regret term lies in [0, 2].",
        "largest term of a run",
        Range(0.0, 2.0),
        measures.largest_terms,
    ),
    _DEFINITION_2(
        "frt-measures-regret",
        "FRT measures the regret that a deletion causes.",
        "rank correlation with the extra L2 error caused by the deletion",
        Range(low=0.8),
        partial(corrections.deletion_correlations, "frt"),
    ),
    _LEMMA_1(
        "lemma-1",
        "The ellipsoid of Lemma 1 covers with probability 95 %.",
        *_COVERS,
        partial(measures.coverages, "paper, Lemma 1"),
    ),
    _LEMMA_1(
        "lemma-1-ball",
        "As a Euclidean ball, as in its proof, Lemma 1 covers with probability 95 %.",
        *_COVERS,
        partial(measures.coverages, "Euclidean ball, OLS"),
    ),
    Finding(
        "noise-event",
        "The noise event of App. A has probability 95 %.",
        *_COVERS,
        partial(measures.coverages, "noise event, App. A"),
        source="App. A",
        target="coverage",
    ),
    _LEMMA_2(
        "lemma-2",
        "The cumulative representation term is at most 2 eta plus the sum of FRT.",
        *_ABOVE_TERM,
        partial(measures.lemma_2_slack, "lemma_2"),
    ),
    _LEMMA_2(
        "lemma-2-trace",
        "The cumulative representation term is at most 2 (d log(s L^2 / d) + T - s).",
        *_ABOVE_TERM,
        partial(measures.lemma_2_slack, "lemma_2_trace"),
    ),
    _LEMMA_2(
        "lemma-2-ridge",
        "With a penalty, the representation term is at most 2 eta_Ridge plus the sum of FRT.",
        *_ABOVE_TERM,
        measures.ridge_lemma_slack,
    ),
    Finding(
        "lemma-3",
        "The ball of Lemma 3 covers with probability 95 % at its own penalty.",
        *_COVERS,
        partial(measures.coverages, "paper, Lemma 3"),
        source="Lemma 3",
        target="coverage",
    ),
    Finding(
        "lemma-4",
        "The ellipsoid of Lemma 4 covers with probability 95 %.",
        *_COVERS,
        partial(measures.coverages, "paper, Lemma 4"),
        source="Lemma 4, App. B",
        target="coverage",
    ),
    _LEMMA_4_REMARK(
        "radius-order",
        "The radii of Lemmas 1 and 4 are of the order sqrt(s).",
        "p of radius ~ s^p",
        Range(0.4, 0.6),
        arithmetic.radius_orders,
    ),
    _LEMMA_4_REMARK(
        "ridge-full-rank",
        "The Gram matrix of the adaptive ridge always has full rank.",
        "smallest penalty",
        Range(low=1e-6),
        measures.smallest_penalties,
    ),
    _LEMMA_4_REMARK(
        "ellipsoid-narrow",
        "The penalty makes the ellipsoid narrow: Lemma 4 has a smaller radius in most windows.",
        "share of windows in which it is below that of Lemma 1",
        Range(low=0.5),
        corrections.share_of_narrow_ellipsoids,
    ),
    _THEOREM_1(
        "theorem-1",
        "In the units of the figures, the bound of Theorem 1 is above the regret.",
        *_ABOVE_REGRET,
        measures.ols_bound_factors,
    ),
    _THEOREM_1(
        "theorem-1-units",
        "With contexts times 100 or 1000, the bound of Theorem 1 is above the regret.",
        *_ABOVE_REGRET,
        partial(measures.ols_bound_factors, rescaled=True),
    ),
    _THEOREM_1(
        "ols-linear",
        "The regret of FIFD-OLS is linear in T.",
        "p of R ~ T^p over the second half",
        Range(0.95, 1.05),
        measures.ols_growth,
    ),
    _THEOREM_1(
        "theorem-1-order",
        "The bound of Theorem 1 is of the order sigma zeta sqrt((d/s) log(2d/delta)) T.",
        "bound over this order, at T = 8000 over that at T = 2000",
        Range(0.95, 1.05),
        corrections.order_of_theorem_1,
    ),
    Finding(
        "unit-length",
        "The longest context has the length L = 1.",
        "length",
        Range(0.999, 1.001),
        corrections.largest_lengths,
        source="Section 5",
    ),
    _THEOREM_2(
        "theorem-2-printed",
        "The bound of Theorem 2, with C2 as printed, is above the regret.",
        *_ABOVE_REGRET,
        partial(measures.ridge_bound_factors, "printed_bound"),
    ),
    _THEOREM_2(
        "theorem-2-derived",
        "The bound of Theorem 2, with C2 as derived in its proof, is above the regret.",
        *_ABOVE_REGRET,
        partial(measures.ridge_bound_factors, "bound"),
    ),
    _THEOREM_2(
        "theorem-2-exact",
        "With the exact determinant ratio for C2, the bound of Theorem 2 is above the regret.",
        *_ABOVE_REGRET,
        partial(measures.ridge_bound_factors, "exact_c2_bound"),
    ),
    _THEOREM_2(
        "theorem-2-exists",
        "The bound of Theorem 2, with C2 as derived, is a number in every run.",
        "share of runs",
        Range(low=1.0),
        corrections.derived_bound_exists,
    ),
    _THEOREM_2(
        "theorem-2-units",
        "With contexts times 100 or 1000 and the exact C2, the bound of Theorem 2 is above the "
        "regret.",
        *_ABOVE_REGRET,
        partial(measures.ridge_bound_factors, "exact_c2_bound", rescaled=True),
    ),
    *(
        _THEOREM_2(
            f"c2-{version}",
            f"C2, as {version}, is a constant close to 1 (within 10 %).",
            "log10 of |C2|",
            Range(-0.041, 0.041),
            partial(measures.drift_sizes, version),
        )
        for version in get_args(measures.Version)
    ),
    _THEOREM_2(
        "theorem-2-order",
        "The stated order of Theorem 2 is that of its bound, which does not depend on nu.",
        "factor of the bound when nu is doubled",
        Range(0.99, 1.01),
        arithmetic.order_of_theorem_2,
    ),
    *(
        _APPENDIX_F(
            f"update-{version}",
            f"The incremental update {divisor} gives the inverse Gram matrix.",
            "relative error after 200 slides",
            Range(high=1e-6),
            partial(arithmetic.update_errors, printed=version == "printed"),
        )
        for version, divisor in (("printed", "as printed"), ("corrected", "with x' Gamma x - 1"))
    ),
)

#: Statements that are the same under both readings.
IDENTITIES: tuple[Finding, ...] = (
    *(
        Finding(
            f"example-{name}",
            f"The values that the paper states for its example window {name} are right.",
            "number of wrong values",
            Range(high=0.0),
            partial(measures.wrong_values, name),
            source=f"App. D, Case {name[1]}",
            target="examples",
        )
        for name in ("M1", "M2", "M3", "M4")
    ),
    Finding(
        "case-4",
        "If the new row is outside the span of the window, FRT is 1.",
        "FRT of the window e1, e2",
        Range(1 - ROUNDING, 1 + ROUNDING),
        arithmetic.row_outside_the_span,
        source="App. D, Case 4",
    ),
    _LEMMA_4_REMARK(
        "ridge-remedy",
        "Where the rank swings, as in Fig. 2, the adaptive ridge is better than FIFD-OLS.",
        "its regret over that of FIFD-OLS",
        Range(high=1.0),
        corrections.ridge_where_ranks_swing,
    ),
    _ASSUMPTION_1(
        "assumption-1-example",
        "At s = 100, d = 110 and 30 positive coefficients the printed limit is 1.02.",
        "limit",
        Range(1.015, 1.025),
        arithmetic.example_limit,
    ),
    _ASSUMPTION_1(
        "assumption-1-monotone",
        "The printed limit grows with s and the number of positive coefficients, and falls with d.",
        "smallest change in that direction",
        Range(low=0.0),
        arithmetic.limit_steps,
    ),
    _ASSUMPTION_1(
        "assumption-1-loose",
        "In most cases the printed limit is above 1.",
        "share of a grid of s, d and positive coefficients",
        Range(low=0.5),
        arithmetic.share_of_loose_limits,
    ),
    _ASSUMPTION_1(
        "assumption-1-automatic",
        "In the paper's example the assumption is satisfied automatically: "
        "a ratio of 1 is allowed.",
        "largest ratio for which the condition of the proof is true",
        Range(low=1.0),
        corrections.allowed_ratios,
    ),
    _ASSUMPTION_1(
        "assumption-1-parts",
        "In the paper's example, with a ratio of 1, Parts I to III are at most delta / 2.",
        "their sum over delta / 2",
        Range(high=1.0),
        corrections.tail_parts_over_their_limit,
    ),
    _ASSUMPTION_1(
        "assumption-1-memory",
        "The probabilities behind Assumption 1 depend on the memory s (by 1 % or more).",
        "relative change of the exponent of Part II from s = 100 to 400",
        Range(low=0.01),
        corrections.tail_exponent_steps,
    ),
    Finding(
        "theta-inf",
        "Coefficients of Euclidean length 1 have 1 as their largest size.",
        "mean of max|theta_j|",
        Range(0.99, 1.01),
        corrections.largest_coefficients,
        source="Section 5, Alg. 2",
    ),
    Finding(
        "ols-finite",
        "With s >= d rows the expected regret of FIFD-OLS is finite (Gaussian contexts).",
        "tail index of tr Phi^-1, which has a mean only above 1",
        Range(low=1.0),
        corrections.tail_indices,
        source="Theorem 1",
    ),
    _APPENDIX_F(
        "update-at-rank-loss",
        "The corrected f-step gives the generalised inverse where the rank falls (M2).",
        "largest error",
        Range(high=1e-6),
        corrections.update_at_a_loss_of_rank,
    ),
    Finding(
        "update-cost",
        "The incremental update costs O(s^2 d).",
        "exponent of s (of d, plus 1) in the counted multiplications",
        Range(1.9, 2.1),
        arithmetic.update_orders,
        source="Alg. 1",
    ),
    Finding(
        "largest-entry",
        "The largest entry of the window is also its largest absolute entry.",
        "share of windows",
        Range(low=1.0),
        arithmetic.largest_entries,
        source="Alg. 2",
    ),
    Finding(
        "bernstein",
        "The tail of a sum of subgaussian differences is below Bernstein's bound.",
        "exact tail over the bound",
        Range(high=1.0),
        arithmetic.tail_ratios,
        source="App. A",
    ),
    _APPENDIX_C(
        "determinant",
        "det(I - aa' + bb') is (1 + b'b)(1 - a'a) + (a'b)^2.",
        *_EQUAL,
        arithmetic.determinant_errors,
    ),
    _APPENDIX_C(
        "trace",
        "det Phi is at most (s L^2 / d)^d.",
        "d log(s L^2 / d) - log det Phi",
        Range(low=0.0),
        arithmetic.trace_slacks,
    ),
    _APPENDIX_C(
        "determinant-square",
        "If the window has rank d, det Phi is det(x)^2.",
        *_EQUAL,
        arithmetic.square_determinants,
    ),
    _APPENDIX_F(
        "inversion",
        "The matrix inversion formula is right.",
        *_EQUAL,
        arithmetic.inversion_errors,
    ),
)
