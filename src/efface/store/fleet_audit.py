"""The audit of a fleet: every key's model against a refit on its live rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from efface.batch.fleet import Fleet
from efface.diagnostics.audit import Audit, audit
from efface.diagnostics.selected_refit import refit_model
from efface.diagnostics.text import counted, figure, listed
from efface.inputs.ids import Id
from efface.live.hash_table import ABSENT
from efface.models.regression import Model


def audit_fleet(fleet: Fleet, ids: Sequence[Id], owners: Sequence[Id]) -> Audit:
    """Check the coefficients of every key, what the arrays hold, and that none of these is alive.

    The figures are those of the worst key.

    >>> from efface import Ridge
    >>> fleet = Fleet(Ridge(window=20))
    >>> fleet.learn(["a", "b", "a"], [[1.0], [2.0], [3.0]], [2.0, 4.0, 6.0], ids=[7, 8, 9])
    >>> audit_fleet(fleet, [6], []).holds, audit_fleet(fleet, [7], []).remembered
    (True, (7,))
    """
    keys, residues = fleet.keys(), tuple(fleet.residues())
    fits = fleet.fits()
    found = [
        _audit_key(fleet[key], coef, float(intercept))
        for key, coef, intercept in zip(keys, fits.coef, fits.intercept, strict=True)
    ]
    alive = _alive(fleet, ids, owners)
    worst = max(found, key=lambda each: each.error / each.tolerance, default=_NOTHING)
    failing = sum(not each.holds for each in found)
    findings = [f"{counted(failing, 'key')} of {len(keys)}: {worst.verdict}"] if failing else []
    if any(alive):
        findings.append(f"{counted(len(alive[0]) + len(alive[1]), 'forgotten name')} alive")
    if residues:
        findings.append(f"its arrays hold more than the live rows ({listed(residues)})")
    summary = f"holds: {counted(fleet.n_rows_, 'live row')} of {counted(len(keys), 'key')}"
    summary += f", coefficients within {figure(worst.error)} of a refit"
    return replace(
        worst,
        holds=not findings,
        condition=max((each.condition for each in found), default=1.0),
        rank=min((each.rank for each in found), default=0),
        n_rows=fleet.n_rows_,
        remembered=alive[0],
        remembered_owners=alive[1],
        canonical=not residues and all(each.canonical for each in found),
        residues=residues,
        verdict=f"fails: {'; '.join(findings)}" if findings else summary,
    )


_NOTHING = Audit(True, 0.0, 1e-9, 1.0, 0, 0, (), (), True, (), "")  # of no key


def _audit_key(model: Model, coef: np.ndarray, intercept: float) -> Audit:
    """The audit of a model with the rows of a key, for the coefficients that the fleet has."""
    found = audit(model)
    error = refit_model(model._snapshot(), model.penalty_).distance(coef, intercept)
    if error <= found.tolerance or not math.isfinite(found.error):
        return replace(found, error=max(error, found.error))
    text = f"fails: coefficients differ from a refit on the live rows by {figure(error)}"
    return replace(found, holds=False, error=error, verdict=text)


def _alive(
    fleet: Fleet, ids: Sequence[Id], owners: Sequence[Id]
) -> tuple[tuple[Id, ...], tuple[Id, ...]]:
    """Which of the names a live row has."""
    held = fleet.keyed_models.rows
    slots = held.slots_of_ids(held.ids.find(list(ids))).tolist()
    rows = [held.owned(code).size for code in held.owners.find(list(owners)).tolist()]
    return (
        tuple(id for id, slot in zip(ids, slots, strict=True) if slot != ABSENT),
        tuple(owner for owner, count in zip(owners, rows, strict=True) if count),
    )
