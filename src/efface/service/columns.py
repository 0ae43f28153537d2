"""Rows of a request as columns: what the store learns from and a model predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from efface.errors import InvalidValue, invalid
from efface.inputs.arrays import LARGEST, as_matrix
from efface.inputs.ids import Id
from efface.inputs.times import calendar_time
from efface.inputs.types import Matrix
from efface.service.bodies import NewRows
from efface.store.learning import LearnRequest

_OPTIONAL = ("id", "owner", "at", "until", "weight", "key")


def feature_matrix(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Matrix:
    """The features of rows, one column each, checked.

    >>> feature_matrix([{"x": [1.0, 2.0]}, {"x": {"hum": 4.0, "temp": 3.0}}], ["temp", "hum"])
    array([[1., 2.],
           [3., 4.]])
    """
    values = [row["x"] for row in rows]
    if dict in set(map(type, values)):
        values = [_ordered(each, names) for each in values]
    width = len(names)
    if set(map(len, values)) != {width}:
        at = next(at for at, each in enumerate(values) if len(each) != width)
        expected = f"{width} features ({', '.join(names[:20])})"
        raise invalid(f"rows.{at}.x", f"{len(values[at])} long", expected, "pass one per feature")
    flat = np.fromiter(chain.from_iterable(values), np.float64, width * len(values))
    X = flat.reshape(len(values), width)
    return X if np.abs(X).max() <= LARGEST else as_matrix(X)  # which says what is wrong


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
    given = set().union(*rows)
    optional = {name: _some(rows, name) if name in given else None for name in _OPTIONAL}
    weights = optional["weight"]
    if weights is not None:
        weights = [1.0 if each is None else each for each in weights]
    return LearnRequest(
        model,
        X,
        y,
        weights,
        ids=_all_or_none(optional["id"], "id"),
        owners=optional["owner"],
        at=_times(_all_or_none(optional["at"], "at"), "at"),
        until=_times(optional["until"], "until"),
        skip_left=body.left == "skip",
        keys=_all_or_none(optional["key"], "key"),
    )


def keys_of(rows: Sequence[Mapping[str, Any]]) -> list[Id] | None:
    """The keys of rows; None if they have none."""
    return _all_or_none(_some(rows, "key"), "key")


def _times(given: list[Any] | None, name: str) -> list[Any] | None:
    """Times, with texts in ISO 8601 as calendar times."""
    if given is None:
        return None
    return [calendar_time(each, name) if isinstance(each, str) else each for each in given]


def _some(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any] | None:
    """One value per row, None where a row has none; None if no row has one."""
    found = [row.get(name) for row in rows]
    return None if found.count(None) == len(found) else found


def _all_or_none(found: list[Any] | None, name: str) -> list[Any] | None:
    if found is not None and None in found:
        have = len(found) - found.count(None)
        expected = "all rows or none of them"
        raise invalid(name, f"given for {have} of {len(found)} rows", expected, "complete the rows")
    return found
