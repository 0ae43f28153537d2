"""``audit``: whether a model equals a fresh model that was given only the live rows.

The audit takes the live rows from the model and computes everything else from them. It looks at the
arrays of the model as they are, and asks a copy for coefficients: the model is not changed. Each
check is a function of a ``Case`` that returns a finding, or None if it finds nothing. To add a
check, write one and list it in ``CHECKS``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from efface.diagnostics.design import Design, faded
from efface.diagnostics.deviations import is_selected
from efface.diagnostics.large_samples import Sample
from efface.diagnostics.reference import Refit
from efface.diagnostics.selected_refit import refit_model
from efface.diagnostics.text import aligned, counted, figure, listed
from efface.inputs.ids import AnyId, Id, some_ids
from efface.live import snapshot
from efface.live.snapshot import Snapshot
from efface.live.solver import Solver
from efface.models.linear import from_snapshot
from efface.models.regression import Model

_TOLERANCE = 1e-9  # the promised relative error, up to this condition number:
_CONDITION = 1e4


@dataclass(frozen=True, repr=False)
class Audit:
    """Whether a model is a function of its live rows; ``verdict`` states it in a sentence.

    ``holds`` requires three things. ``error``, the largest relative difference of coefficients and
    intercept from a refit, is within ``tolerance``. No id in ``forgotten`` belongs to a live row,
    and no owner in ``forgotten_owners`` has one; those that do are in ``remembered`` and
    ``remembered_owners``. The model is ``canonical``: ``save`` would write the same
    bytes for a fresh model given the live rows, and no array holds anything else; ``residues``
    names the arrays that do. ``condition`` and ``rank`` are those of Phi, computed from the rows.
    """

    holds: bool
    error: float
    tolerance: float
    condition: float
    rank: int
    n_rows: int
    remembered: tuple[Id, ...]
    remembered_owners: tuple[Id, ...]
    canonical: bool
    residues: tuple[str, ...]
    verdict: str

    def to_dict(self) -> dict[str, Any]:
        """All fields as values that JSON can hold."""
        found = asdict(self)
        return {k: list(v) if isinstance(v, tuple) else v for k, v in found.items()}

    def __repr__(self) -> str:
        return aligned(
            f"Audit {self.verdict}",
            {
                "error": self.error,
                "tolerance": self.tolerance,
                "condition": self.condition,
                "rank": self.rank,
                "remembered": listed(self.remembered + self.remembered_owners) or "none",
                "canonical": "yes" if self.canonical else "no",
                "residues": listed(self.residues) or "none",
            },
        )


def audit(
    model: Model,
    forgotten: AnyId | Iterable[AnyId] = (),
    *,
    forgotten_owners: AnyId | Iterable[AnyId] = (),
) -> Audit:
    """Check that a model is a function of its live rows and that no ``forgotten`` id is live.

    No owner in ``forgotten_owners`` may have a live row.

    Free cells of all arrays must be zero, and every kept sum must be that of the live rows that it
    declares. No byte of the model changes.

    The refit takes its penalty from a fresh model that was given only the live rows; that of an
    AutoRidge is computed from them by independent code. The tolerance
    is 1e-9 up to a condition number of 1e4 and grows in proportion beyond, or the effect of
    changing the rows in their last digit, if that is larger. The condition number is that of the
    rows with the penalty, with the features at a common scale.

    >>> from efface import OLS
    >>> model = OLS(window=3, fit_intercept=False).fit([[1.0], [2.0], [3.0]], [2.0, 4.0, 6.0])
    >>> model.forget(1)
    1
    >>> audit(model, forgotten=[1]).holds, audit(model, forgotten=[1, 2]).remembered
    (True, (2,))
    """
    claims = Claims(tuple(some_ids(forgotten)), tuple(some_ids(forgotten_owners, "owner")))
    live = model._snapshot()
    alive = claims.alive(live)
    try:
        snapshot.check(live)
        fresh = from_snapshot(live)
    except ValueError as error:  # no model can have such rows, ids and times
        return _inconsistent(live, alive, str(error))
    (reference, design), found = _examine(faded(live), fresh.penalty_), model._alive()
    residues, solver = found.residues(), found.solver.copy()
    case = Case(
        solver=solver,
        fresh=fresh,
        design=design,
        error=reference.distance(solver.coef, solver.intercept),
        tolerance=_tolerance(reference),
        claims=claims,
        alive=alive,
        canonical=snapshot.same(fresh._snapshot(), live) and not residues,
        residues=tuple(residues),
    )
    findings = [finding for check in CHECKS if (finding := check(case)) is not None]
    return Audit(
        holds=not findings,
        error=case.error,
        tolerance=case.tolerance,
        condition=case.design.condition,
        rank=case.design.rank,
        n_rows=case.design.n,
        remembered=alive.ids,
        remembered_owners=alive.owners,
        canonical=case.canonical,
        residues=case.residues,
        verdict=f"fails: {'; '.join(findings)}" if findings else f"holds: {_summary(case)}",
    )


class Claims(NamedTuple):
    """Ids and owners of which no live row may remain."""

    ids: tuple[Id, ...]
    owners: tuple[Id, ...]

    def alive(self, live: Snapshot) -> Claims:
        """Those that a live row has."""
        ids, owners = set(live.ids), set(live.owners or ())
        found = (each for each in self.owners if each in owners)
        return Claims(tuple(each for each in self.ids if each in ids), tuple(found))


@dataclass(frozen=True, eq=False)
class Case:
    """What the checks compare: a model, its live rows, and a fresh model given these rows."""

    solver: Solver  # that of a copy of the model
    fresh: Model
    design: Conditioning
    error: float
    tolerance: float
    claims: Claims  # the ids and owners that should be forgotten
    alive: Claims  # those of them that a live row has
    canonical: bool
    residues: tuple[str, ...]


def check_coefficients(case: Case) -> str | None:
    """The coefficients and the intercept are those of a refit."""
    if case.error <= case.tolerance:
        return None
    rank, penalty = case.design.rank, case.fresh.penalty_
    found, shrink = case.solver.rank, case.solver.penalty_value
    text = f"coefficients differ from a refit on the live rows by {figure(case.error)}"
    text += f" (allowed {figure(case.tolerance)})"
    if found != rank:
        text += f", 'rank_' is {found} but the live rows have rank {rank}"
    if not math.isclose(shrink, penalty, rel_tol=_TOLERANCE):
        text += f", 'penalty_' is {shrink:.6g} but the live rows give {penalty:.6g}"
    return text


def check_forgotten_ids(case: Case) -> str | None:
    """No id that should be forgotten belongs to a live row."""
    return _remembered(case.alive.ids, case.claims.ids, "forgotten id", ("is alive", "are alive"))


def check_forgotten_owners(case: Case) -> str | None:
    """No owner that should be forgotten has a live row."""
    verbs = ("has live rows", "have live rows")
    return _remembered(case.alive.owners, case.claims.owners, "forgotten owner", verbs)


def _remembered(
    alive: tuple[Id, ...], claimed: tuple[Id, ...], subject: str, verbs: tuple[str, str]
) -> str | None:
    if not alive:
        return None
    verb = verbs[len(alive) > 1]
    return f"{len(alive)} of the {counted(len(claimed), subject)} {verb}: {listed(alive)}"


def check_canonical(case: Case) -> str | None:
    """The state is that of a fresh model given the live rows."""
    if case.canonical:
        return None
    text = "its state is not that of a fresh model given the live rows"
    return f"{text} ({listed(case.residues)})" if case.residues else text


CHECKS: tuple[Callable[[Case], str | None], ...] = (
    check_coefficients,
    check_forgotten_ids,
    check_forgotten_owners,
    check_canonical,
)


class Conditioning(NamedTuple):
    """The number of live rows, and the rank and condition number of Phi."""

    n: int
    rank: int
    condition: float


def _examine(live: Snapshot, penalty: float) -> tuple[Refit, Conditioning]:
    """The refit of the live rows, and how well they determine it."""
    if not (live.parameters["standardize"] or is_selected(live)):
        intercept = bool(live.parameters["fit_intercept"])
        sample = Sample.of(live.X, live.y, live.weights, intercept=intercept)
        if sample is not None:
            n, d = live.X.shape
            return sample.refit(penalty), Conditioning(n, d, sample.condition)
    design = Design(live)
    found = Conditioning(design.n, design.rank, design.condition)
    return refit_model(live, penalty), found


def _tolerance(reference: Refit) -> float:
    return max(_TOLERANCE * max(1.0, reference.sensitivity / _CONDITION), reference.rounding)


def _summary(case: Case) -> str:
    text = f"{counted(case.design.n, 'live row')}, coefficients within {figure(case.error)}"
    text += f" of a refit (allowed {figure(case.tolerance)})"
    if case.claims.ids:
        text += f", none of the {counted(len(case.claims.ids), 'forgotten id')} is alive"
    if case.claims.owners:
        people = counted(len(case.claims.owners), "forgotten owner")
        text += f", none of the {people} has a live row"
    return text


def _inconsistent(live: Snapshot, alive: Claims, finding: str) -> Audit:
    return Audit(
        holds=False,
        error=math.inf,
        tolerance=_TOLERANCE,
        condition=math.inf,
        rank=0,
        n_rows=len(live.y),
        remembered=alive.ids,
        remembered_owners=alive.owners,
        canonical=False,
        residues=(),
        verdict=f"fails: its state is inconsistent ({finding})",
    )
