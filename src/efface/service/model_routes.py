"""Routes of models: create, look at, learn, predict."""

from __future__ import annotations

import math
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from efface.models.intervals import as_limits
from efface.service.access import (
    JSON,
    GuardedRoute,
    answer,
    media_type,
    model_name,
    needs,
    read_body,
    read_bytes,
)
from efface.service.arrow_rows import MEDIA_TYPE, arrow_request
from efface.service.backend import Backend
from efface.service.bodies import KeyRequest, NewModel, NewRows, Questions, Removal, parsed
from efface.service.columns import feature_matrix, keys_of, learn_request
from efface.service.documents import described_body
from efface.store.learning import LearnRequest

router = APIRouter(route_class=GuardedRoute)


def _backend(request: Request) -> Backend:
    backend: Backend = request.app.state.service.backend
    return backend


@router.post("/models/{name}/predictions", openapi_extra=described_body(Questions))
@needs("predict")
async def predict_rows(request: Request) -> Response:
    """Predict rows from what was published last; an interval waits for the running commit."""
    name, body = model_name(request), await read_body(request, Questions)
    model = _backend(request).model(name)
    X, keys = feature_matrix(body.rows, model.features), keys_of(body.rows)
    lenient = body.missing == "ok"
    if body.interval is None:
        limits = as_limits(body.lower, body.upper)
        predictions = limits.bound(model.predict(X, keys, lenient=lenient)).tolist()
        return answer({"predictions": predictions, "commit": model.commit})
    if not lenient:
        model.refuse_unknown(keys)
    found = await _backend(request).predict_interval(name, X, keys, body)
    parts = {
        "predictions": found.prediction.tolist(),
        "lower": found.lower.tolist(),
        "upper": found.upper.tolist(),
    }
    return answer({**finite(parts), "reason": found.reason})


@router.post("/models/{name}/rows", openapi_extra=described_body(NewRows, MEDIA_TYPE))
@needs("learn")
async def learn_rows(request: Request) -> Response:
    """Learn rows; they are durable when the answer comes."""
    name, backend = model_name(request), _backend(request)
    features = backend.model(name).features
    kind = media_type(request, JSON, MEDIA_TYPE)
    body = await read_bytes(request)

    def read() -> LearnRequest:
        if kind == MEDIA_TYPE:
            return arrow_request(name, body, list(features))
        return learn_request(name, parsed(NewRows, body), features)

    learned = await backend.learn(read, len(body))
    return answer(learned._asdict())


@router.get("/models")
@needs("read")
async def list_models(request: Request) -> Response:
    """All models with their coefficients."""
    found = [model.described() for model in _backend(request).models.values()]
    return answer({"models": [finite(each) for each in found]})


@router.put("/models/{name}", openapi_extra=described_body(NewModel))
@needs("admin")
async def create_model(request: Request) -> Response:
    """Create a model. The same request again changes nothing."""
    name, body = model_name(request), await read_body(request, NewModel)
    made = await _backend(request).create(name, body)
    return answer(finite(_backend(request).model(name).described()), 201 if made else 200)


@router.delete("/models/{name}", openapi_extra=described_body(Removal))
@needs("admin", "forget")
async def remove_model(request: Request) -> Response:
    """Remove a model with all its rows; the answer comes after their keys are destroyed."""
    name, body = model_name(request), await read_body(request, Removal)
    erased = await _backend(request).remove(name, body.secret)
    return answer(erased.plain())


@router.get("/models/{name}")
@needs("read")
async def show_model(request: Request) -> Response:
    """A model: coefficients, penalty, rank, condition, rows, and when the next row is due."""
    return answer(finite(await _backend(request).details(model_name(request))))


@router.get("/models/{name}/history")
@needs("read")
async def show_history(request: Request) -> Response:
    """The recent past of a model, as far as nobody was forgotten since."""
    name = model_name(request)
    _backend(request).model(name)
    found = _backend(request).past.of(name)
    return answer({**found, "points": [finite(point) for point in found["points"]]})


@router.post("/models/{name}/keys", openapi_extra=described_body(KeyRequest))
@needs("read", "held")
async def show_key(request: Request) -> Response:
    """The model of a key, which may be a name: so it is in the body, and ``held`` is needed."""
    body = await read_body(request, KeyRequest)
    return answer(finite(_backend(request).model(model_name(request)).of_key(body.key)))


@router.post("/models/{name}/events", openapi_extra=described_body(NewRows))
@needs("predict", "learn")
async def predict_and_learn(request: Request) -> Response:
    """Predict rows, then learn them: no row of the call influences its predictions."""
    name, body = model_name(request), await read_body(request, NewRows)
    model = _backend(request).model(name)
    wanted = learn_request(name, body, model.features)
    predictions = model.predict(wanted.X, wanted.keys, lenient=True).tolist()
    learned = await _backend(request).learn(lambda: wanted, wanted.X.nbytes)
    return answer({"predictions": predictions, **learned._asdict()})


def finite(value: Any) -> Any:
    """The same with null for numbers that JSON cannot hold.

    >>> finite({"condition": float("inf"), "rank": 2})
    {'condition': None, 'rank': 2}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: finite(each) for name, each in value.items()}
    return [finite(each) for each in value] if isinstance(value, list | tuple) else value
