"""Errors as problem+json (RFC 9457): the text of the library, and the name of its exception.

The text goes to the caller. A log has only the name of the exception.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, final

from pydantic import ValidationError
from starlette.responses import Response

from efface import errors
from efface.errors import EffaceError
from efface.service.bodies import BODIES, Row

STATUSES: tuple[tuple[type[Exception], int], ...] = (  # the first that fits
    (errors.RepeatedId, 409),
    (errors.RefusedRow, 409),
    (errors.TooManyDue, 409),
    (errors.NotFitted, 409),
    (LookupError, 404),
    (errors.InvalidValue, 422),
    (errors.StorageFull, 507),
    (errors.StoreError, 503),
)
TITLES = {
    400: "Bad request",
    401: "No valid token",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    413: "Too large",
    415: "Another content type is expected",
    421: "Another host is expected",
    422: "Cannot be used",
    431: "Headers too large",
    500: "Internal error",
    503: "Try again later",
    507: "The disk is full",
}
FIELDS = frozenset(Row.__annotations__).union(*(body.model_fields for body in BODIES))
_SHOWN = 20  # problems of one body


@final
class RefusedRequest(EffaceError):
    """A request that is refused before the store sees it."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status

    def __reduce__(self) -> tuple[type[RefusedRequest], tuple[object, ...]]:
        return type(self), (self.status, *self.args)


def status_of(error: Exception) -> int:
    """The HTTP status of an exception.

    >>> status_of(errors.RepeatedId("")), status_of(errors.UnknownOwner(""))
    (409, 404)
    """
    if isinstance(error, RefusedRequest):
        return error.status
    if isinstance(error, EffaceError):
        return next((status for kind, status in STATUSES if isinstance(error, kind)), 500)
    return 422 if isinstance(error, ValidationError) else 500


def problem(status: int, detail: str, error: str | None = None, **more: Any) -> Response:
    """A response in the form of RFC 9457; ``error`` is the name of the exception."""
    content = {"type": "about:blank", "title": TITLES[status], "status": status, "detail": detail}
    content |= {} if error is None else {"error": error}
    body = json.dumps({**content, **more}).encode("ascii")
    headers = {401: {"www-authenticate": "Bearer"}, 503: {"retry-after": "1"}}.get(status, {})
    return Response(body, status, headers, media_type="application/problem+json")


def from_error(error: Exception) -> Response:
    """The response to an exception; one that is no problem of the caller says nothing more."""
    status = status_of(error)
    if isinstance(error, ValidationError):
        return _invalid_body(error)
    if status == 500:
        return problem(500, "The service failed: its log has the name of the error.")
    name = None if isinstance(error, RefusedRequest) else type(error).__name__
    row = {"row": error.row} if isinstance(error, errors.BadRow) else {}
    return problem(status, str(error), name, **row)


def _invalid_body(error: ValidationError) -> Response:
    """Which parts of a body cannot be used, without their values."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    parts = [{"at": _place(each["loc"]), "problem": _text(each)} for each in found[:_SHOWN]]
    first = parts[0]
    detail = f"'{first['at'] or 'body'}' cannot be used: {first['problem']}."
    return problem(422, detail, "InvalidValue", problems=parts)


def _text(found: Mapping[str, Any]) -> str:
    text = str(found["msg"])
    return "it is no JSON" if found["type"] == "json_invalid" else text


def _place(path: tuple[int | str, ...]) -> str:
    """A place in a body: names that the caller made up are not repeated."""
    known = [str(part) if isinstance(part, int) or part in FIELDS else "?" for part in path]
    return ".".join(known)
