"""What the paper says about Figs. 1 to 7."""

from __future__ import annotations

from functools import partial

from efface.paper.arithmetic import (
    cross_validation_fits,
    influence_of_departed_rows,
    student_distance,
)
from efface.paper.evidence import MeasuredSubplot
from efface.paper.figure_measures import (
    ADAPTIVE,
    SWITCHING,
    exponent_steps,
    growth_exponents,
    l2_bars,
    l2_levels,
    memory_sensitivities,
    penalty_variation,
    rank_falls,
    rank_steps,
    ratios_to_the_best,
    regret_ratios,
    sensitivities,
    small_penalties,
    step_ratios,
    switch_rules,
)
from efface.paper.findings import Finding, findings_of
from efface.paper.verdicts import Range

CLOSE = 1.1  # "close to the best", "comparable": within 10 %
ABOUT_ONE = 1.05

_TOTAL, _MEAN_L2 = MeasuredSubplot.total, MeasuredSubplot.mean_l2
_EXPONENT = "p of R ~ T^p over the second half"
_PER_STEP = "ratio of the regret per prediction to that of the previous panel"
_PREVIOUS = "ratio to the previous panel"

FIGURE_FINDINGS: tuple[Finding, ...] = (
    *findings_of(
        "Section 5, Fig. 3",
        "fig3",
        (
            "linear",
            "With a constant memory the regret of every method is linear in T.",
            _EXPONENT,
            Range(0.95, 1.05),
            partial(growth_exponents, "fig3"),
        ),
        (
            "falls-with-s",
            "The regret of the adaptive ridge falls as the memory s grows.",
            _PER_STEP,
            Range(high=1.0),
            partial(step_ratios, "fig3", "s", "sigma", _TOTAL, lines=slice(0, 1)),
        ),
        (
            "grows-with-sigma",
            "The regret of every method grows with the noise level sigma.",
            _PER_STEP,
            Range(low=1.0),
            partial(step_ratios, "fig3", "sigma", "s", _TOTAL),
        ),
        (
            "best",
            "The adaptive ridge is the best of the four at sigma = 2 and 3.",
            "its regret over that of the best fixed penalty",
            Range(high=1.0),
            partial(ratios_to_the_best, "fig3", _TOTAL, sigmas=(2.0, 3.0)),
        ),
        (
            "close-to-best",
            "In every panel the adaptive ridge is the best of the four or within 10 % of the best.",
            "its regret over that of the best fixed penalty",
            Range(high=CLOSE),
            partial(ratios_to_the_best, "fig3", _TOTAL),
        ),
        (
            "comparable",
            "The fixed penalty 100 sigma is comparable to the adaptive ridge (within 10 %).",
            "its regret over that of the adaptive ridge",
            Range(1 / CLOSE, CLOSE),
            partial(regret_ratios, "fig3", 100.0, ADAPTIVE),
        ),
        (
            "robust-to-sigma",
            "Noise hurts small fixed penalties (sigma, 10 sigma) more than the adaptive ridge.",
            "growth of their regret from sigma = 1 to 3 over that of the adaptive ridge",
            Range(low=1.0),
            partial(sensitivities, "fig3", "sigma"),
        ),
    ),
    *findings_of(
        "Section 5, Fig. 3",
        "fig3",
        (
            "small-top-left",
            "Small fixed penalties (sigma, 10 sigma) perform well at s = 20, sigma = 1.",
            "their regret over that of the best of the four",
            Range(high=CLOSE),
            small_penalties,
        ),
        (
            "sensitive-to-s",
            "Small fixed penalties (sigma, 10 sigma) depend more on s than the adaptive ridge.",
            "their largest over smallest regret as s varies, over that of the adaptive ridge",
            Range(low=1.0),
            memory_sensitivities,
        ),
        (
            "saves-cross-validation",
            "The adaptive ridge saves the cost of selecting the penalty by cross-validation.",
            "its fits per window over those of cross-validation",
            Range(high=0.5),
            cross_validation_fits,
        ),
    ),
    *findings_of(
        "App. G, Fig. 6",
        "fig6",
        (
            "l2-bounded",
            "The L2 error of the adaptive ridge is bounded by 1.",
            "L2 error, averaged over time",
            Range(high=1.0),
            l2_levels,
        ),
        (
            "l2-about-1",
            "The L2 error of the adaptive ridge is at most about 1 (1.05).",
            "L2 error, averaged over time",
            Range(high=ABOUT_ONE),
            l2_levels,
        ),
        (
            "l2-falls-with-s",
            "The L2 error of the adaptive ridge falls as the memory s grows.",
            _PREVIOUS,
            Range(high=1.0),
            partial(step_ratios, "fig3", "s", "sigma", _MEAN_L2, lines=slice(0, 1)),
        ),
        (
            "l2-grows-with-sigma",
            "The L2 error of every method grows with the noise level sigma.",
            _PREVIOUS,
            Range(low=1.0),
            partial(step_ratios, "fig3", "sigma", "s", _MEAN_L2),
        ),
        (
            "l2-narrow",
            "The L2 error of the adaptive ridge has narrower error bars than that of fixed ridges.",
            "width over that of a fixed penalty",
            Range(high=1.0),
            l2_bars,
        ),
        (
            "l2-close-to-best",
            "In L2 error the adaptive ridge is the best of the four or within 10 % of the best.",
            "its error over that of the best fixed penalty",
            Range(high=CLOSE),
            partial(ratios_to_the_best, "fig3", _MEAN_L2),
        ),
    ),
    *findings_of(
        "App. G, Fig. 7",
        "fig7",
        (
            "penalty-adapts",
            "The adaptive penalty follows the incoming data.",
            "its standard deviation over time, over its mean",
            Range(low=0.01),
            penalty_variation,
        ),
    ),
    *findings_of(
        "Section 5, Fig. 4",
        "fig4",
        (
            "falls-with-df",
            "With Student-t noise the regret of every method falls as df grows.",
            _PER_STEP,
            Range(high=1.0),
            partial(step_ratios, "fig4", "df", "s", _TOTAL),
        ),
        (
            "robust-to-tails",
            "Heavy tails hurt small fixed penalties (1, 10) more than the adaptive ridge.",
            "growth of their regret from df = 15 to 5 over that of the adaptive ridge",
            Range(low=1.0),
            partial(sensitivities, "fig4", "df"),
        ),
    ),
    *findings_of(
        "Section 5, Fig. 4",
        "fig4",
        (
            "student-30",
            "With more than 30 degrees of freedom Student-t noise behaves like normal noise.",
            "largest distance of the distribution functions",
            Range(high=0.01),
            student_distance,
        ),
    ),
    *findings_of(
        "Section 5, Fig. 5",
        "fig5",
        (
            "sublinear",
            "With (+k, -1) the regret of every method is sublinear in T.",
            _EXPONENT,
            Range(high=1.0),
            partial(growth_exponents, "fig5"),
        ),
        (
            "switching-wins",
            "Switching to OLS beats the adaptive ridge at sigma = 1.",
            "its regret over that of the adaptive ridge",
            Range(high=1.0),
            partial(regret_ratios, "fig5", SWITCHING, ADAPTIVE, sigmas=(1.0,)),
        ),
        (
            "switching-loses",
            "Switching to OLS loses to the adaptive ridge at sigma = 2 and 3.",
            "its regret over that of the adaptive ridge",
            Range(low=1.0),
            partial(regret_ratios, "fig5", SWITCHING, ADAPTIVE, sigmas=(2.0, 3.0)),
        ),
        (
            "switching-loses-to-fixed",
            "Switching to OLS loses to the fixed penalty sigma at sigma = 2 and 3.",
            "its regret over that of the fixed penalty",
            Range(low=1.0),
            partial(regret_ratios, "fig5", SWITCHING, 1.0, sigmas=(2.0, 3.0)),
        ),
        (
            "switching-loses-to-100",
            "Switching to OLS loses to the fixed penalty 100 sigma at sigma = 2 and 3.",
            "its regret over that of the fixed penalty",
            Range(low=1.0),
            partial(regret_ratios, "fig5", SWITCHING, 100.0, sigmas=(2.0, 3.0)),
        ),
        (
            "noise-delays",
            "Noise delays the sublinear pattern: at the same T the regret is closer to linear.",
            "p of R ~ T^p over the second half, minus that of the previous panel",
            Range(low=0.0),
            partial(exponent_steps, "fig5"),
        ),
        (
            "one-switch",
            "The switch is the same in the text (n > 2d) and in the caption (at least 2d).",
            "number of steps at which they differ",
            Range(high=0.0),
            switch_rules,
        ),
    ),
)

#: Findings that are the same under both readings.
FIGURES_1_AND_2: tuple[Finding, ...] = (
    *findings_of(
        "Eqs. 1 and 2, Fig. 1",
        "fig1",
        (
            "protocol",
            "Only the rows of the window influence a prediction.",
            "relative change of a prediction if all departed rows are replaced",
            Range(high=1e-9),
            influence_of_departed_rows,
        ),
    ),
    *findings_of(
        "Def. 1, Fig. 2",
        "fig2",
        (
            "rank-swings",
            "Deletions lower the rank of the window repeatedly (contexts drawn from e_1 .. e_100).",
            "share of steps that lower the rank",
            Range(low=0.001),
            rank_falls,
        ),
        (
            "rank-steps",
            "The rank of the window changes by at most 1 in a step.",
            "largest change in a step",
            Range(0.0, 1.0),
            rank_steps,
        ),
    ),
)
