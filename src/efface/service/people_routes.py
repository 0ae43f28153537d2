"""Routes about people: what is held, and forgetting. Names are in bodies, never in an address."""

from __future__ import annotations

from typing import Any

import numpy as np
from fastapi import APIRouter
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response

from efface.models.held import Held
from efface.service.access import GuardedRoute, answer, needs, read_body
from efface.service.bodies import AccessRequest, Erasure
from efface.service.documents import described_body
from efface.service.model_routes import finite

router = APIRouter(route_class=GuardedRoute)


@router.post("/access-requests", openapi_extra=described_body(AccessRequest))
@needs("held")
async def show_held(request: Request) -> Response:
    """All that is held about a person, in every model, and whether they are refused for ever."""
    body = await read_body(request, AccessRequest)
    found, refused = await request.app.state.service.backend.held(body.owner)
    models = {name: finite(plain_held(held)) for name, held in found.items()}
    about = {"owner": body.owner, "rows": sum(map(len, found.values())), "models": models}
    return answer({**about, "refused": refused})


@router.post("/erasures", openapi_extra=described_body(Erasure))
@needs("forget")
async def erase(request: Request) -> Response:
    """Forget a person, or rows; the answer comes after their keys are destroyed."""
    body = await read_body(request, Erasure)
    erased = await request.app.state.service.backend.forget(body)
    return answer(erased.plain())


def plain_held(held: Held) -> dict[str, Any]:
    """What a model holds, as JSON knows it."""
    return {
        "ids": held.ids,
        "at": _times(held.times),
        "until": _times(held.until),
        "features": {name: values.tolist() for name, values in held.features.items()},
        "responses": None if held.responses is None else held.responses.tolist(),
        "weights": None if held.weights is None else held.weights.tolist(),
        "keys": held.keys,
    }


def _times(times: NDArray[Any] | None) -> list[Any] | None:
    if times is None:
        return None
    if times.dtype.kind != "M":
        return list(times.tolist())
    return [None if np.isnat(each) else f"{each}Z" for each in times]
