"""The paper's quantities under the paper's names, and valid alternatives.

Import every function from here: penalty and regret (``quantities``), confidence radii (``radii``),
cumulative bounds (``bounds``), a bound that holds (``corrected``), the cost of deleting a row
(``deletion``), a lower bound (``floor``), measured coverage (``coverage``), the
incremental update (``updates``), the example windows of Appendix D (``appendix_d``) and the
spectrum of a window (``geometry``). All functions take arrays. Models, and anything that imports
them, do not belong here.

>>> from efface import theory
>>> round(theory.adaptive_penalty(n=20, d=100, y_sd=1.0, x_max=3.0), 2)
54.64
"""

from efface.theory.appendix_d import Example, StatedValue, examples, render_examples
from efface.theory.bounds import (
    DriftProduct,
    PenaltyDrift,
    RegretBound,
    RepresentationBound,
    ols_regret_bound,
    penalty_drift,
    representation_bound,
    ridge_regret_bound,
)
from efface.theory.corrected import (
    CorrectedRegretBound,
    corrected_regret_bound,
    prediction_limit,
    prediction_limits,
)
from efface.theory.coverage import CoverageRow, coverage_table, render_coverage
from efface.theory.deletion import DeletionCost, deletion_cost, live_deletion_cost
from efface.theory.floor import (
    SphereFloor,
    oracle_penalty,
    regret_floor,
    sphere_regret_floor,
    window_regret_floor,
)
from efface.theory.geometry import WindowSpectrum, spectrum
from efface.theory.memory_size import (
    NoiseAndSignal,
    noise_and_signal,
    ridge_error,
    rows_needed,
    steps_needed,
)
from efface.theory.quantities import (
    AdaptiveConstants,
    ForgettingRegretTerm,
    RankSwing,
    TailParts,
    absolute_regret,
    adaptive_constants,
    adaptive_penalty,
    corrected_wpssr_limit,
    cumulative_regret,
    forgetting_regret_term,
    forgetting_terms,
    gram_norm,
    l2_error,
    positive_signals,
    rank_swing,
    squared_regret,
    tail_parts,
    wpssr,
    wpssr_limit,
    zeta,
)
from efface.theory.radii import (
    euclidean_radii,
    euclidean_radius,
    gaussian_radii,
    gaussian_radius,
    noise_radii,
    noise_radius,
    paper_ball_radii,
    paper_ball_radius,
    paper_ols_radii,
    paper_ols_radius,
    paper_ridge_radii,
    paper_ridge_radius,
    self_normalized_radii,
    self_normalized_radius,
    signal_constants,
)
from efface.theory.updates import (
    slide_inverse,
    update_multiplications,
    with_row,
    without_row,
)

__all__ = [
    "AdaptiveConstants",
    "CorrectedRegretBound",
    "CoverageRow",
    "DeletionCost",
    "DriftProduct",
    "Example",
    "ForgettingRegretTerm",
    "NoiseAndSignal",
    "PenaltyDrift",
    "RankSwing",
    "RegretBound",
    "RepresentationBound",
    "SphereFloor",
    "StatedValue",
    "TailParts",
    "WindowSpectrum",
    "absolute_regret",
    "adaptive_constants",
    "adaptive_penalty",
    "corrected_regret_bound",
    "corrected_wpssr_limit",
    "coverage_table",
    "cumulative_regret",
    "deletion_cost",
    "euclidean_radii",
    "euclidean_radius",
    "examples",
    "forgetting_regret_term",
    "forgetting_terms",
    "gaussian_radii",
    "gaussian_radius",
    "gram_norm",
    "l2_error",
    "live_deletion_cost",
    "noise_and_signal",
    "noise_radii",
    "noise_radius",
    "ols_regret_bound",
    "oracle_penalty",
    "paper_ball_radii",
    "paper_ball_radius",
    "paper_ols_radii",
    "paper_ols_radius",
    "paper_ridge_radii",
    "paper_ridge_radius",
    "penalty_drift",
    "positive_signals",
    "prediction_limit",
    "prediction_limits",
    "rank_swing",
    "regret_floor",
    "render_coverage",
    "render_examples",
    "representation_bound",
    "ridge_error",
    "ridge_regret_bound",
    "rows_needed",
    "self_normalized_radii",
    "self_normalized_radius",
    "signal_constants",
    "slide_inverse",
    "spectrum",
    "sphere_regret_floor",
    "squared_regret",
    "steps_needed",
    "tail_parts",
    "update_multiplications",
    "window_regret_floor",
    "with_row",
    "without_row",
    "wpssr",
    "wpssr_limit",
    "zeta",
]
