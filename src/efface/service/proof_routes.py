"""Routes of proofs: receipts, the state of their chain, and audits."""

from __future__ import annotations

import asyncio
import re
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from efface.service.access import GuardedRoute, answer, needs, read_body, refuse_without
from efface.service.backend import chain_verdict
from efface.service.bodies import AuditRequest
from efface.service.documents import described_body
from efface.service.model_routes import finite
from efface.service.problems import RefusedRequest
from efface.store.receipts import Receipt

_NUMBER = re.compile("[1-9][0-9]{0,11}")
NEWEST = 100  # receipts of one answer
router = APIRouter(route_class=GuardedRoute)


@router.get("/receipts")
@needs("read")
async def list_receipts(request: Request) -> Response:
    """The newest receipts, newest first, and the state of the chain."""
    status, found = await request.app.state.service.backend.chain()
    wrong = await asyncio.to_thread(chain_verdict, found, status["public_key"])
    return answer(
        {
            "status": status,
            "public_key": status["public_key"],
            "count": len(found),
            "head": status["head"],
            "holds": wrong is None,
            "finding": wrong,
            "receipts": [plain_receipt(each) for each in found[: -NEWEST - 1 : -1]],
        }
    )


@router.get("/receipts/{number}")
@needs("read")
async def show_receipt(request: Request) -> Response:
    """One receipt."""
    number = request.path_params["number"]
    _, found = await request.app.state.service.backend.chain()
    if not (_NUMBER.fullmatch(number) and int(number) <= len(found)):
        raise RefusedRequest(404, f"No receipt has this number: there are {len(found)}.")
    return answer(plain_receipt(found[int(number) - 1]))


@router.post("/audits", openapi_extra=described_body(AuditRequest))
@needs("read")
async def audit_models(request: Request) -> Response:
    """Check models against fresh ones, and the keys against the rows.

    Whether a row of some id or person is there needs the role ``held``.
    """
    body = await read_body(request, AuditRequest)
    if body.forgotten or body.forgotten_owners:
        refuse_without(request.scope["token"], "held")
    found = await request.app.state.service.backend.audit(body)
    models = {name: finite(asdict(each)) for name, each in found.items()}
    return answer({"holds": all(each.holds for each in found.values()), "models": models})


def plain_receipt(receipt: Receipt) -> dict[str, Any]:
    """A receipt, and what it says."""
    fields = receipt.fields
    return {
        "number": receipt.number,
        "time": fields.get("time"),
        "rows": receipt.rows,
        "models": fields.get("rows", {}),
        "head": receipt.head,
        "receipt": receipt.json,
    }
