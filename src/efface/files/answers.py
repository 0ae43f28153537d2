"""The answer to a request to forget: remove the rows, measure the time, audit the models."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

from efface.diagnostics.audit import Audit, audit
from efface.files.requests import Request
from efface.files.run_log import RequestOutcome
from efface.models.regression import Model


class RequestAudit(NamedTuple):
    """What the audits of a request say together."""

    verdict: str
    error: float
    holds: bool


class Holder(ABC):
    """Models that may have the rows that a request names."""

    @abstractmethod
    def forget(self) -> int:
        """Remove the rows, and compute new coefficients; returns how many."""

    @abstractmethod
    def audits(self) -> list[Audit]:
        """The audits of the models that have live rows."""

    def residues(self) -> list[str]:
        """The names of arrays that the models share and that hold more than the live rows."""
        return []


def answer(request: Request, holder: Holder, *, row: int, arrived: int | None) -> RequestOutcome:
    """Forget the rows that a request names, and audit that they are gone.

    ``row`` is how many rows of the stream had been read, ``arrived`` the number of the newest row
    with the requested id or owner, None if there was none.
    """
    start = perf_counter()
    removed = holder.forget()
    forgotten = perf_counter()
    if not removed and arrived is None:
        status = "unknown"
        what = "id" if request.owner is None else "owner"
        finding = RequestAudit(f"no row had this {what}", math.nan, holds=False)
    else:
        status = "forgotten" if removed else "already gone"
        finding = together(holder.audits(), holder.residues())
    return RequestOutcome(
        line=request.line,
        id=request.id,
        owner=request.owner,
        asked=request.place,
        row=row,
        arrived=arrived,
        rows=removed,
        status=status,
        by_owner=request.owner is not None,
        **finding._asdict(),
        seconds=forgotten - start,
        audit_seconds=perf_counter() - forgotten,
    )


@dataclass(frozen=True)
class ModelHolder(Holder):
    """What a request names in models."""

    request: Request
    models: Sequence[Model]

    def forget(self) -> int:
        removed, owner = 0, self.request.owner
        for model in self.models:
            found = model.forget(self._ids, owner=owner, missing="ok")
            if found:
                model.coef_  # noqa: B018  the model solves when it is asked: part of the answer
            removed += found
        return removed

    def audits(self) -> list[Audit]:
        owners = [] if self.request.owner is None else [self.request.owner]
        return [audit(each, forgotten=self._ids, forgotten_owners=owners) for each in self.models]

    @property
    def _ids(self) -> list[int | str]:
        return [] if self.request.id is None else [self.request.id]


def together(audits: Sequence[Audit], residues: Sequence[str] = ()) -> RequestAudit:
    """One finding for the models of several groups: the first that fails, or that all hold."""
    if residues:
        text = f"fails: {', '.join(residues)} hold more than the live rows of all groups"
        return RequestAudit(text, math.nan, holds=False)
    if not audits:
        return RequestAudit("holds: no row of its groups is alive", 0.0, holds=True)
    error = max(each.error for each in audits)
    failed = [each for each in audits if not each.holds]
    if failed or len(audits) == 1:
        return RequestAudit((failed or audits)[0].verdict, error, not failed)
    text = f"holds in {len(audits)} groups: coefficients within {error:.1e} of a refit in each"
    return RequestAudit(text, error, True)
