"""The answer to a request to forget: remove the rows, measure the time, audit the models."""

from __future__ import annotations

import math
from collections.abc import Sequence
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


def answer(
    request: Request, models: Sequence[Model], *, row: int, arrived: int | None
) -> RequestOutcome:
    """Forget the rows that a request names in these models, and audit that they are gone.

    ``row`` is how many rows of the stream had been read, ``arrived`` the number of the newest row
    with the requested id or owner, None if there was none.
    """
    start = perf_counter()
    removed = sum(_forget(model, request) for model in models)
    forgotten = perf_counter()
    if not removed and arrived is None:
        status = "unknown"
        what = "id" if request.owner is None else "owner"
        finding = RequestAudit(f"no row had this {what}", math.nan, holds=False)
    else:
        status = "forgotten" if removed else "already gone"
        finding = together([_audit(model, request) for model in models])
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


def _forget(model: Model, request: Request) -> int:
    """Remove the rows from one model and let it compute its coefficients; returns how many."""
    ids = [] if request.id is None else [request.id]
    removed = model.forget(ids, owner=request.owner, missing="ok")
    if removed:
        model.coef_  # noqa: B018  the model solves when it is asked, and this is part of the answer
    return removed


def _audit(model: Model, request: Request) -> Audit:
    ids = [] if request.id is None else [request.id]
    owners = [] if request.owner is None else [request.owner]
    return audit(model, forgotten=ids, forgotten_owners=owners)


def together(audits: Sequence[Audit]) -> RequestAudit:
    """One finding for the models of several groups: the first that fails, or that all hold."""
    error = max(each.error for each in audits)
    failed = [each for each in audits if not each.holds]
    if failed or len(audits) == 1:
        return RequestAudit((failed or audits)[0].verdict, error, not failed)
    text = f"holds in {len(audits)} groups: coefficients within {error:.1e} of a refit in each"
    return RequestAudit(text, error, True)
