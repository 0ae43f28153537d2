"""``diagnose``: rank, conditioning, leverages and degrees of freedom of a model."""

from __future__ import annotations

import math
from dataclasses import dataclass

from numpy.typing import ArrayLike

from efface.diagnostics.design import Design, faded
from efface.diagnostics.selected_refit import refit_model
from efface.diagnostics.text import aligned, counted
from efface.inputs.arrays import as_row
from efface.inputs.parameters import positive
from efface.models.linear import from_snapshot
from efface.models.regression import Model
from efface.theory.deletion import DeletionCost


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """Rank, conditioning, leverages and degrees of freedom of a model.

    ``smallest_eigenvalue``, ``largest_eigenvalue`` and ``condition``, their ratio, are those of Phi
    without the penalty. Below full rank they are 0 and infinity, by the rule of ``rank_``. ``phi2``
    is the smallest eigenvalue of (Phi + penalty) / n, where n is the sum of the weights; it is nan
    if n is 0. ``leverage_oldest`` is the leverage of the next row to leave, ``leverage_new`` that
    of x, and ``frt`` the forgetting regret term if x arrives and the oldest row leaves. They are
    None if there is no such row. ``degrees_of_freedom`` is the trace of the hat matrix, which maps
    responses to fitted values. ``residue`` is the largest relative difference of coefficients and
    intercept from a refit. ``deletion_cost`` is the exact change of the variance and of the squared
    bias of predictions if the oldest row leaves and nothing arrives, for new rows like the live
    ones, at the penalty and scale that the model has now. Its noise is ``sigma``, or that of the
    residuals; its coefficients are those of the model. None if there are no residuals to estimate
    the noise.
    """

    n_rows: int
    rank: int
    smallest_eigenvalue: float
    largest_eigenvalue: float
    condition: float
    phi2: float
    penalty: float
    leverage_oldest: float | None
    leverage_new: float | None
    frt: float | None
    degrees_of_freedom: float
    residue: float
    deletion_cost: DeletionCost | None = None

    @property
    def penalised_condition(self) -> float:
        """The condition of Phi + penalty, the matrix of the system that is solved."""
        smallest = self.smallest_eigenvalue + self.penalty
        return (self.largest_eigenvalue + self.penalty) / smallest if smallest > 0 else math.inf

    def __repr__(self) -> str:
        cost = self.deletion_cost
        return aligned(
            f"Diagnosis of {counted(self.n_rows, 'live row')}",
            {
                "rank": self.rank,
                "smallest eigenvalue": self.smallest_eigenvalue,
                "largest eigenvalue": self.largest_eigenvalue,
                "condition": self.condition,
                "  with the penalty": self.penalised_condition,
                "penalty": self.penalty,
                "phi2": self.phi2,
                "degrees of freedom": self.degrees_of_freedom,
                "leverage of the oldest row": self.leverage_oldest,
                "leverage of x": self.leverage_new,
                "forgetting regret term": self.frt,
                "cost of its deletion": None if cost is None else cost.total,
                "  of it variance": None if cost is None else cost.variance,
                "  of it bias": None if cost is None else cost.bias,
                "residue against a refit": self.residue,
            },
        )


def diagnose(model: Model, x: ArrayLike | None = None, *, sigma: float | None = None) -> Diagnosis:
    """Describe a model; with x, also the effect if x arrived and the oldest row left.

    ``sigma`` is the standard deviation of the noise, if you know it, for ``deletion_cost``.

    >>> from efface import OLS
    >>> model = OLS(fit_intercept=False).fit([[2.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [2.0, 1.0, 3.0])
    >>> found = diagnose(model, [0.0, 2.0])
    >>> found.rank, round(found.condition, 9), round(found.leverage_oldest, 9), round(found.frt, 9)
    (2, 2.0, 1.0, 3.0)
    """
    live = model._snapshot()
    weighted, penalty = faded(live), model.penalty_
    design = Design(weighted)
    arrival = None if x is None else as_row(x, design.d)
    oldest, new, frt = design.leverages(penalty, arrival)
    smallest, largest = design.eigenvalues
    reference = refit_model(weighted, from_snapshot(live).penalty_)
    return Diagnosis(
        n_rows=design.n,
        rank=design.rank,
        smallest_eigenvalue=smallest,
        largest_eigenvalue=largest,
        condition=design.condition,
        phi2=(smallest + penalty) / design.total_weight if design.total_weight else math.nan,
        penalty=penalty,
        leverage_oldest=oldest,
        leverage_new=new,
        frt=frt,
        degrees_of_freedom=design.degrees_of_freedom(penalty),
        residue=reference.distance(model.coef_, model.intercept_),
        deletion_cost=design.deletion(
            penalty, weighted.y, None if sigma is None else positive("sigma", sigma)
        ),
    )
