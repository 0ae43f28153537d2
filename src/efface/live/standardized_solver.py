"""The solver of a regression on features standardised by the live rows themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from efface.engine.jit.views import Vector
from efface.engine.standardized import standardized_fit as kernels
from efface.engine.standardized.standardized_checks import standard_residues
from efface.engine.standardized.standardized_replay import gauge_standard, replay_standard
from efface.live.scaled_solver import ScaledKernels, ScaledSolver
from efface.live.solver_state import Kernels


@final
class StandardizedSolver(ScaledSolver):
    """Regresses on z = (x - mean) / deviation of the live rows, at every step.

    Coefficients and intercept are those of the features as they are. Penalty, rank and gauges are
    those of the standardised features. A solution costs O(width^3).

    >>> import numpy as np
    >>> from efface.live.penalties import Fixed
    >>> solver = StandardizedSolver(1, Fixed(3.0), intercept=True)
    >>> solver.extend(np.array([[10.0], [20.0], [30.0]]), np.array([1.0, 2.0, 3.0]))
    >>> solver.coef, solver.predict(np.array([20.0]))  # half of those without a penalty
    (array([0.05]), 2.0)
    """

    standardizes = True
    _scaling = 2
    _kernels = Kernels(
        kernels.learn_standard,
        kernels.release_standard,
        kernels.disturb_standard,
        standard_residues,
    )
    _scaled_kernels = ScaledKernels(
        replay_standard, gauge_standard, kernels.refit_standard, kernels.refit_standard_precisely
    )

    @property
    def _predictor(self) -> Callable[..., tuple[float, int]]:
        adaptive, fixed = kernels.predict_standard_adaptive, kernels.predict_standard_fixed
        return adaptive if self.penalty.adapts else fixed  # type: ignore[no-any-return]

    def _new_stores(self) -> tuple[Vector, ...]:
        return (kernels.allocate_standard(self.width, self.intercepts, self.rows.capacity),)

    @property
    def _refits_precisely(self) -> bool:
        return not self.penalty.adapts
