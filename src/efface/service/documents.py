"""The OpenAPI document: bodies are described here, since routes read them themselves."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from efface.service.bodies import BODIES

_PLACE = "#/components/schemas/{model}"


def described_body(body: type[BaseModel], *others: str) -> dict[str, Any]:
    """What a route accepts: JSON, and other content types."""
    content: dict[str, Any] = {
        "application/json": {"schema": {"$ref": _PLACE.format(model=body.__name__)}}
    }
    content |= {kind: {"schema": {"type": "string", "format": "binary"}} for kind in others}
    return {"requestBody": {"required": True, "content": content}}


def openapi(app: FastAPI, version: str) -> dict[str, Any]:
    """The document of an application."""
    found = get_openapi(
        title="efface",
        version=version,
        summary="Linear regression that forgets exactly",
        routes=app.routes,
    )
    _, schemas = models_json_schema([(body, "validation") for body in BODIES], ref_template=_PLACE)
    components = found.setdefault("components", {})
    components["schemas"] = {**components.get("schemas", {}), **schemas["$defs"]}
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path, operations in found["paths"].items():
        for operation in operations.values():
            operation["responses"] = {
                "200": {"description": "Done."},
                "default": {
                    "description": "Refused: problem+json says why.",
                    "content": {"application/problem+json": {"schema": {"type": "object"}}},
                },
            }
            _name_parameter(path, operation)
    return found


def _name_parameter(path: str, operation: dict[str, Any]) -> None:
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    operation["parameters"] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in names
    ]
