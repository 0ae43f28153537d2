"""What the paper says about Figs. 1 to 7."""

from __future__ import annotations

from functools import partial

from efface.paper import arithmetic
from efface.paper import figure_measures as measures
from efface.paper.evidence import MeasuredSubplot
from efface.paper.findings import Finding
from efface.paper.methods import Method
from efface.paper.verdicts import Range

CLOSE = 1.1  # "close to the best", "comparable": within 10 %
ABOUT_ONE = 1.05

_SMALLER, _LARGER = Range(high=1.0), Range(low=1.0)  # than the other: ranges of ratios
_TOTAL, _MEAN_L2 = MeasuredSubplot.total, MeasuredSubplot.mean_l2

_EXPONENT = "p of R ~ T^p over the second half"
_PER_STEP = "ratio of the regret per prediction to that of the previous panel"
_PREVIOUS = "ratio to the previous panel"
_OVER_BEST = "its regret over that of the best fixed penalty"
_OVER_ADAPTIVE = "its regret over that of the adaptive ridge"
_OVER_FIXED = "its regret over that of the fixed penalty"
_L2 = "L2 error, averaged over time"

_FIG_2 = partial(Finding, source="Def. 1, Fig. 2", target="fig2")
_FIG_3 = partial(Finding, source="Section 5, Fig. 3", target="fig3")
_FIG_4 = partial(Finding, source="Section 5, Fig. 4", target="fig4")
_FIG_5 = partial(Finding, source="Section 5, Fig. 5", target="fig5")
_FIG_6 = partial(Finding, source="App. G, Fig. 6", target="fig6")

#: The name of a finding, the method to which switching loses, the number, and the line.
_SWITCHING_LOSES: tuple[tuple[str, str, str, Method | float], ...] = (
    ("switching-loses", "adaptive ridge", _OVER_ADAPTIVE, "adaptive"),
    ("switching-loses-to-fixed", "fixed penalty sigma", _OVER_FIXED, 1.0),
    ("switching-loses-to-100", "fixed penalty 100 sigma", _OVER_FIXED, 100.0),
)

FIGURE_FINDINGS: tuple[Finding, ...] = (
    _FIG_3(
        "linear",
        "With a constant memory the regret of every method is linear in T.",
        _EXPONENT,
        Range(0.95, 1.05),
        partial(measures.growth_exponents, "fig3"),
    ),
    _FIG_3(
        "falls-with-s",
        "The regret of the adaptive ridge falls as the memory s grows.",
        _PER_STEP,
        _SMALLER,
        partial(measures.step_ratios, "fig3", "s", "sigma", _TOTAL, lines=slice(0, 1)),
    ),
    _FIG_3(
        "grows-with-sigma",
        "The regret of every method grows with the noise level sigma.",
        _PER_STEP,
        _LARGER,
        partial(measures.step_ratios, "fig3", "sigma", "s", _TOTAL),
    ),
    _FIG_3(
        "best",
        "The adaptive ridge is the best of the four at sigma = 2 and 3.",
        _OVER_BEST,
        _SMALLER,
        partial(measures.ratios_to_the_best, "fig3", _TOTAL, sigmas=(2.0, 3.0)),
    ),
    _FIG_3(
        "close-to-best",
        "In every panel the adaptive ridge is the best of the four or within 10 % of the best.",
        _OVER_BEST,
        Range(high=CLOSE),
        partial(measures.ratios_to_the_best, "fig3", _TOTAL),
    ),
    _FIG_3(
        "comparable",
        "The fixed penalty 100 sigma is comparable to the adaptive ridge (within 10 %).",
        _OVER_ADAPTIVE,
        Range(1 / CLOSE, CLOSE),
        partial(measures.regret_ratios, "fig3", 100.0, "adaptive"),
    ),
    _FIG_3(
        "robust-to-sigma",
        "Noise hurts small fixed penalties (sigma, 10 sigma) more than the adaptive ridge.",
        "growth of their regret from sigma = 1 to 3 over that of the adaptive ridge",
        _LARGER,
        partial(measures.sensitivities, "fig3", "sigma"),
    ),
    _FIG_3(
        "small-top-left",
        "Small fixed penalties (sigma, 10 sigma) perform well at s = 20, sigma = 1.",
        "their regret over that of the best of the four",
        Range(high=CLOSE),
        measures.small_penalties,
    ),
    _FIG_3(
        "sensitive-to-s",
        "Small fixed penalties (sigma, 10 sigma) depend more on s than the adaptive ridge.",
        "their largest over smallest regret as s varies, over that of the adaptive ridge",
        _LARGER,
        measures.memory_sensitivities,
    ),
    _FIG_6(
        "l2-bounded",
        "The L2 error of the adaptive ridge is bounded by 1.",
        _L2,
        Range(high=1.0),
        measures.l2_levels,
    ),
    _FIG_6(
        "l2-about-1",
        "The L2 error of the adaptive ridge is at most about 1 (1.05).",
        _L2,
        Range(high=ABOUT_ONE),
        measures.l2_levels,
    ),
    _FIG_6(
        "l2-falls-with-s",
        "The L2 error of the adaptive ridge falls as the memory s grows.",
        _PREVIOUS,
        _SMALLER,
        partial(measures.step_ratios, "fig3", "s", "sigma", _MEAN_L2, lines=slice(0, 1)),
    ),
    _FIG_6(
        "l2-grows-with-sigma",
        "The L2 error of every method grows with the noise level sigma.",
        _PREVIOUS,
        _LARGER,
        partial(measures.step_ratios, "fig3", "sigma", "s", _MEAN_L2),
    ),
    _FIG_6(
        "l2-narrow",
        "The L2 error of the adaptive ridge has narrower error bars than that of fixed ridges.",
        "width over that of a fixed penalty",
        _SMALLER,
        measures.l2_bars,
    ),
    _FIG_6(
        "l2-close-to-best",
        "In L2 error the adaptive ridge is the best of the four or within 10 % of the best.",
        "its error over that of the best fixed penalty",
        Range(high=CLOSE),
        partial(measures.ratios_to_the_best, "fig3", _MEAN_L2),
    ),
    Finding(
        "penalty-adapts",
        "The adaptive penalty follows the incoming data.",
        "its standard deviation over time, over its mean",
        Range(low=0.01),
        measures.penalty_variation,
        source="App. G, Fig. 7",
        target="fig7",
    ),
    _FIG_4(
        "falls-with-df",
        "With Student-t noise the regret of every method falls as df grows.",
        _PER_STEP,
        _SMALLER,
        partial(measures.step_ratios, "fig4", "df", "s", _TOTAL),
    ),
    _FIG_4(
        "robust-to-tails",
        "Heavy tails hurt small fixed penalties (1, 10) more than the adaptive ridge.",
        "growth of their regret from df = 15 to 5 over that of the adaptive ridge",
        _LARGER,
        partial(measures.sensitivities, "fig4", "df"),
    ),
    _FIG_4(
        "tails-not-variance",
        "The tails, not the variance, raise the regret: at equal variance by 1 % or more.",
        "regret at df = 5 over that at df = 15",
        Range(low=1.01),
        measures.tail_ratios,
    ),
    _FIG_4(
        "student-30",
        "With more than 30 degrees of freedom Student-t noise behaves like normal noise.",
        "largest distance of the distribution functions",
        Range(high=0.01),
        arithmetic.student_distance,
    ),
    _FIG_5(
        "sublinear",
        "With (+k, -1) the regret of every method is sublinear in T.",
        _EXPONENT,
        Range(high=1.0),
        partial(measures.growth_exponents, "fig5"),
    ),
    _FIG_5(
        "switching-wins",
        "Switching to OLS beats the adaptive ridge at sigma = 1.",
        _OVER_ADAPTIVE,
        _SMALLER,
        partial(measures.regret_ratios, "fig5", "switching", "adaptive", sigmas=(1.0,)),
    ),
    *(
        _FIG_5(
            name,
            f"Switching to OLS loses to the {other} at sigma = 2 and 3.",
            number,
            _LARGER,
            partial(measures.regret_ratios, "fig5", "switching", line, sigmas=(2.0, 3.0)),
        )
        for name, other, number, line in _SWITCHING_LOSES
    ),
    _FIG_5(
        "noise-delays",
        "Noise delays the sublinear pattern: at the same T the regret is closer to linear.",
        "p of R ~ T^p over the second half, minus that of the previous panel",
        Range(low=0.0),
        partial(measures.exponent_steps, "fig5"),
    ),
    _FIG_5(
        "one-switch",
        "The switch is the same in the text (n > 2d) and in the caption (at least 2d).",
        "number of steps at which they differ",
        Range(high=0.0),
        measures.switch_rules,
    ),
)

#: Findings that are the same under both readings.
FIGURES_1_AND_2: tuple[Finding, ...] = (
    Finding(
        "protocol",
        "Only the rows of the window influence a prediction.",
        "relative change of a prediction if all departed rows are replaced",
        Range(high=1e-9),
        arithmetic.influence_of_departed_rows,
        source="Eqs. 1 and 2, Fig. 1",
        target="fig1",
    ),
    _FIG_2(
        "rank-swings",
        "Deletions lower the rank of the window repeatedly (contexts drawn from e_1 .. e_100).",
        "share of steps that lower the rank",
        Range(low=0.001),
        measures.rank_falls,
    ),
    _FIG_2(
        "rank-steps",
        "The rank of the window changes by at most 1 in a step.",
        "largest change in a step",
        Range(0.0, 1.0),
        measures.rank_steps,
    ),
)
