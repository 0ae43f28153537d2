"""Rows of a request as columns: what the store learns from and a model predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from efface.errors import BadTime, InvalidValue, invalid, unusable
from efface.inputs.arrays import as_matrix
from efface.inputs.types import Matrix
from efface.service.bodies import NewRows
from efface.store.learning import LearnRequest


def feature_matrix(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Matrix:
    """The features of rows, one column each, checked.

    >>> feature_matrix([{"x": [1.0, 2.0]}, {"x": {"hum": 4.0, "temp": 3.0}}], ["temp", "hum"])
    array([[1., 2.],
           [3., 4.]])
    """
    values = [_ordered(row["x"], names) for row in rows]
    width = len(names)
    for at, each in enumerate(values):
        if len(each) != width:
            expected = f"{width} features ({', '.join(names[:20])})"
            raise invalid(f"rows.{at}.x", f"{len(each)} long", expected, "pass one per feature")
    return as_matrix(np.array(values, dtype=np.float64).reshape(len(rows), width))


def _ordered(x: Any, names: Sequence[str]) -> Any:
    if not isinstance(x, dict):
        return x
    if any(name not in x for name in names):
        lacking = ", ".join(name for name in names if name not in x)
        raise InvalidValue(f"'x' lacks {lacking}: expected every feature; add them.")
    return [x[name] for name in names]


def learn_request(model: str, body: NewRows, names: Sequence[str]) -> LearnRequest:
    """The rows of a body as a request to the store; nothing changes."""
    rows = body.rows
    X = feature_matrix(rows, names)
    y = np.array([row["y"] for row in rows], dtype=np.float64)
    ids, at = _all_or_none(rows, "id"), _times(_all_or_none(rows, "at"), "at")
    weights = _some(rows, "weight")
    if weights is not None:
        weights = [1.0 if each is None else each for each in weights]
    owners, until = _some(rows, "owner"), _times(_some(rows, "until"), "until")
    return LearnRequest(model, X, y, weights, ids, owners, at, until, body.left == "skip")


def _times(given: list[Any] | None, name: str) -> list[Any] | None:
    """Times, with texts in ISO 8601 as calendar times."""
    if given is None:
        return None
    return [calendar_time(each, name) if isinstance(each, str) else each for each in given]


def calendar_time(text: str, name: str) -> np.datetime64 | datetime:
    """A time in ISO 8601; UTC if it has no zone.

    >>> calendar_time("2026-01-31T12:00:00.000000001Z", "at")
    np.datetime64('2026-01-31T12:00:00.000000001')
    """
    zoned = text[-6:-5] in ("+", "-") and ":" in text
    try:
        if zoned:
            return datetime.fromisoformat(text)
        return np.datetime64(text.removesuffix("Z"), "ns")
    except ValueError:
        raise BadTime(unusable(name, text, "a time in ISO 8601", "correct it")) from None


def _some(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any] | None:
    """One value per row, None where a row has none; None if no row has one."""
    found = [row.get(name) for row in rows]
    return None if all(each is None for each in found) else found


def _all_or_none(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any] | None:
    found = _some(rows, name)
    if found is not None and None in found:
        have = sum(each is not None for each in found)
        expected = "all rows or none of them"
        raise invalid(name, f"given for {have} of {len(rows)} rows", expected, "complete the rows")
    return found
