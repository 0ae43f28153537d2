"""How a model stands, and whether it is what it says.

Phi = X'X of the live rows; with an intercept, of their deviations from the mean. With weights, rows
are multiplied by their roots, and the mean is the weighted one. Everything here is worked out from
the live rows, and compared with the model: nothing of its inner state is trusted, and nothing of it
is changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from efface.diagnostics import reference as witness
from efface.inputs.arrays import as_row
from efface.inputs.ids import Id, some_ids
from efface.live import snapshot as archive
from efface.live.snapshot import Snapshot
from efface.models.linear import from_snapshot
from efface.models.regression import Model
from efface.theory.geometry import (
    Array,
    Spectrum,
    binary_unit,
    deviations,
    spectrum,
    standardized,
    whiten,
)
from efface.theory.quantities import forgetting_terms

_PROMISED = 1e-9  # up to a condition of _TAME
_TAME = 1e4


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """Where a model stands.

    ``smallest_eigenvalue``, ``largest_eigenvalue`` and ``condition``, their ratio, are those of Phi
    alone: 0 and infinity below full rank, by the rule of ``rank_``. ``phi2`` is the smallest
    eigenvalue of (Phi + penalty) / n, n the sum of the weights, nan if that is 0.
    ``leverage_oldest`` is that of the row about to leave, ``leverage_new`` that of x, ``frt`` the
    forgetting regret term if x arrived and the oldest row left: None where there is no such row.
    ``degrees_of_freedom`` is the trace of the matrix that turns responses into fitted values.
    ``residue`` is the largest relative difference of coefficients and intercept against a refit.
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

    @property
    def penalised_condition(self) -> float:
        """The condition of Phi + penalty, the system that is solved."""
        smallest = self.smallest_eigenvalue + self.penalty
        return (self.largest_eigenvalue + self.penalty) / smallest if smallest > 0 else math.inf

    def __repr__(self) -> str:
        return _aligned(
            f"Diagnosis of {_counted(self.n_rows, 'live row')}",
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
                "residue against a refit": self.residue,
            },
        )


@dataclass(frozen=True, repr=False)
class Audit:
    """Whether a model is a function of its live rows; ``verdict`` says it in a sentence.

    ``holds`` if ``error``, the largest relative difference of coefficients and intercept against a
    refit, is within ``tolerance``, if no id said to be forgotten is in ``remembered``, and if the
    model is ``canonical``: ``save`` would write the bytes that a fresh model given the live rows
    writes. ``condition`` and ``rank`` are those of Phi, from the rows.
    """

    holds: bool
    error: float
    tolerance: float
    condition: float
    rank: int
    n_rows: int
    remembered: tuple[Id, ...]
    canonical: bool
    verdict: str

    def __repr__(self) -> str:
        return _aligned(
            f"Audit {self.verdict}",
            {
                "error": self.error,
                "tolerance": self.tolerance,
                "condition": self.condition,
                "rank": self.rank,
                "remembered": _listed(self.remembered) or "none",
                "canonical": "yes" if self.canonical else "no",
            },
        )


def diagnose(model: Model, x: ArrayLike | None = None) -> Diagnosis:
    """Where a model stands; with x, also what it would cost if x came and the oldest row left.

    >>> from efface import OLS
    >>> model = OLS(fit_intercept=False).fit([[2.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [2.0, 1.0, 3.0])
    >>> found = diagnose(model, [0.0, 2.0])
    >>> found.rank, round(found.condition, 9), round(found.leverage_oldest, 9), round(found.frt, 9)
    (2, 2.0, 1.0, 3.0)
    """
    live = model._snapshot()
    rows = _Rows(live)
    arrival = None if x is None else as_row(x, rows.d)
    old, new, frt = rows.leverages(model.penalty_, arrival)
    smallest, largest = rows.eigenvalues
    reference = _refit(live, from_snapshot(live).penalty_)
    return Diagnosis(
        n_rows=rows.n,
        rank=rows.rank,
        smallest_eigenvalue=smallest,
        largest_eigenvalue=largest,
        condition=rows.condition,
        phi2=(smallest + model.penalty_) / rows.heft if rows.heft else math.nan,
        penalty=model.penalty_,
        leverage_oldest=old,
        leverage_new=new,
        frt=frt,
        degrees_of_freedom=rows.degrees_of_freedom(model.penalty_),
        residue=reference.distance(model.coef_, model.intercept_),
    )


def audit(model: Model, forgotten: Id | Iterable[Id] = ()) -> Audit:
    """Whether a model is a function of its live rows, and none of ``forgotten`` is among them.

    The refit takes its penalty from a fresh model that was given the live rows and nothing else.
    Allowed are 1e-9 up to a condition of 1e4 and in proportion beyond, or what changing the rows in
    their last digit would do, if that is more; the condition is that of the rows with the penalty,
    at a common scale of the features.

    >>> from efface import OLS
    >>> model = OLS(window=3, fit_intercept=False).fit([[1.0], [2.0], [3.0]], [2.0, 4.0, 6.0])
    >>> model.forget(1)
    >>> audit(model, forgotten=[1]).holds, audit(model, forgotten=[1, 2]).remembered
    (True, (2,))
    """
    claimed, live = some_ids(forgotten), model._snapshot()
    content, alive = archive.encode(live), set(live.ids)
    remembered = tuple(id for id in claimed if id in alive)
    try:
        fresh = from_snapshot(archive.decode(content, "the model"))
    except ValueError as finding:  # its rows, ids and times cannot be those of any model
        return _contradiction(live, remembered, str(finding.__cause__ or finding))
    rows, reference = _Rows(live), _refit(live, fresh.penalty_)
    error = reference.distance(model.coef_, model.intercept_)
    tolerance = max(_PROMISED * max(1.0, reference.sensitivity / _TAME), reference.grain)
    canonical = archive.encode(fresh._snapshot()) == content and model._alive().solver.rows.clean
    flaws = [
        *_difference(model, fresh.penalty_, rows.rank, error, tolerance),
        *_company(remembered, len(claimed)),
        *([] if canonical else ["its state is not that of a fresh model given the live rows"]),
    ]
    return Audit(
        holds=not flaws,
        error=error,
        tolerance=tolerance,
        condition=rows.condition,
        rank=rows.rank,
        n_rows=rows.n,
        remembered=remembered,
        canonical=canonical,
        verdict="fails: " + "; ".join(flaws)
        if flaws
        else "holds: " + _praise(rows.n, error, tolerance, len(claimed)),
    )


def _praise(n_rows: int, error: float, tolerance: float, claimed: int) -> str:
    text = f"{_counted(n_rows, 'live row')}, coefficients within {_figure(error)} of a refit"
    text += f" (allowed {_figure(tolerance)})"
    return text + (f", none of the {_counted(claimed, 'forgotten id')} is alive" if claimed else "")


def _contradiction(live: Snapshot, remembered: tuple[Id, ...], finding: str) -> Audit:
    return Audit(
        holds=False,
        error=math.inf,
        tolerance=_PROMISED,
        condition=math.inf,
        rank=0,
        n_rows=len(live.y),
        remembered=remembered,
        canonical=False,
        verdict=f"fails: its state contradicts itself ({finding})",
    )


def _difference(
    model: Model, penalty: float, rank: int, error: float, tolerance: float
) -> list[str]:
    """What is wrong with the solution, if anything."""
    if error <= tolerance:
        return []
    text = f"coefficients differ from a refit on the live rows by {_figure(error)}"
    text += f" (allowed {_figure(tolerance)})"
    if model.rank_ != rank:
        text += f", 'rank_' is {model.rank_} where the rows have {rank}"
    if not math.isclose(model.penalty_, penalty, rel_tol=_PROMISED):
        text += f", 'penalty_' is {model.penalty_:.6g} where the rows ask for {penalty:.6g}"
    return [text]


def _company(remembered: tuple[Id, ...], claimed: int) -> list[str]:
    if not remembered:
        return []
    verb = "is" if len(remembered) == 1 else "are"
    count = f"{len(remembered)} of the {_counted(claimed, 'forgotten id')}"
    return [f"{count} {verb} alive: {_listed(remembered)}"]


def _refit(live: Snapshot, penalty: float) -> witness.Refit:
    intercept = bool(live.parameters["fit_intercept"])
    way = witness.refit_standardized if live.parameters["standardize"] else witness.refit
    return way(live.X, live.y, penalty=penalty, intercept=intercept, weights=live.weights)


class _Rows:
    """The geometry of live rows, at a scale where squares are numbers; of their scores if asked."""

    def __init__(self, live: Snapshot) -> None:
        self.n, self.d = live.X.shape
        self.intercept = bool(live.parameters["fit_intercept"])
        self.weights, self.heft = live.weighed, float(live.weighed.sum())
        heard = self.weights > 0.0
        X, oldest, self.heard, self.scores = live.X[heard], live.X[:1], self.weights[heard], None
        if live.parameters["standardize"] and self.heft:
            self.scores = standardized(X, self.heard)
            X, oldest = self.scores.rows, self.scores.of(oldest)
        self.unit = binary_unit(X)
        self.oldest, self.X = np.ldexp(oldest, -self.unit), np.ldexp(X, -self.unit)
        self.around = self.X
        if self.intercept and self.heft:
            self.around = deviations(self.X, weights=self.heard)[0]
        self.rows = np.sqrt(self.heard)[:, np.newaxis] * self.around

    @cached_property
    def _spectrum(self) -> Spectrum | None:
        return spectrum(self.rows) if self.heft else None

    @property
    def _values(self) -> Array:
        return np.zeros(self.d) if self._spectrum is None else self._spectrum.values

    @property
    def rank(self) -> int:
        return int(np.count_nonzero(self._values))

    @property
    def eigenvalues(self) -> tuple[float, float]:
        """The smallest and the largest of Phi."""
        with np.errstate(over="ignore", under="ignore"):
            smallest, largest = np.ldexp(self._values[[-1, 0]], 2 * self.unit)
        return float(smallest), float(largest)

    @property
    def condition(self) -> float:
        return float(self._values[0] / self._values[-1]) if self.rank == self.d else math.inf

    def degrees_of_freedom(self, penalty: float) -> float:
        live = self._values[self._values > 0]
        shares = live / (live + self._penalty(penalty))
        return float(shares.sum()) + (self.intercept and self.heft > 0)

    def leverages(
        self, penalty: float, x: Array | None
    ) -> tuple[float | None, float | None, float | None]:
        """Of the oldest row and of x, and the forgetting regret term of both."""
        if not self.n:
            return None, None, None
        if x is not None and self.scores is not None:
            x = self.scores.of(x)
        new = self.oldest[0] if x is None else np.ldexp(x, -self.unit)
        pair = np.array([self.oldest[0], new])
        if self.intercept and self.heft:
            pair = deviations(self.X, pair, weights=self.heard)[1]
        pair = whiten(self.rows, pair, penalty=self._penalty(penalty))
        if self.intercept and self.heft:  # not penalised, and orthogonal to the others
            pair = np.column_stack([pair, np.full(2, 1 / math.sqrt(self.heft))])
        pair[0] *= math.sqrt(self.weights[0])
        total, deleted, _ = forgetting_terms(pair[0], pair[1])
        return deleted, *((None, None) if x is None else (float(pair[1] @ pair[1]), total))

    def _penalty(self, penalty: float) -> float:
        return min(math.ldexp(penalty, -2 * self.unit), 2.0**900) if penalty else 0.0


def _aligned(title: str, entries: dict[str, object]) -> str:
    width = max(map(len, entries))
    known = {name: value for name, value in entries.items() if value is not None}
    shown = (f"  {name:<{width}}  {_figure(value)}" for name, value in known.items())
    return "\n".join([title, *shown])


def _figure(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.2g}" if 0 < abs(value) < 1e-6 else f"{value:.6g}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


def _listed(ids: tuple[Id, ...]) -> str:
    more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
    return ", ".join(map(repr, ids[:5])) + more
