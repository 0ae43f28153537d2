"""Loads the compiled code of a store's models, and compiles what never was, before requests come.

Code for rare rows, such as nearly collinear ones, is still compiled when they come first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from efface.models.base import Keys, given_parameters
from efface.models.intervals import IntervalChoice
from efface.models.linear import MODELS
from efface.store.opening import without_rows
from efface.store.stored_models import Definition

_ROWS = 5_000  # from 4,096 rows on other code sums them
_VALUES = 500_000  # of wider models there are fewer rows


def warm(models: Iterable[Mapping[str, Any]]) -> None:
    """Learn, predict and forget made-up rows with models like these, as ``Store.models`` has them.

    >>> warm([{"model": "Ridge", "parameters": {}, "features": ["temp"]}])
    """
    for about in {_compiled_alike(each): each for each in models}.values():
        parameters = given_parameters(about["parameters"])
        model, width = MODELS[about["model"]](**parameters), len(about["features"])
        definition = Definition.of(1, "warm", model, width, keyed=about.get("keyed", False))
        _use(definition, min(_ROWS, _VALUES // width + 2))


def _compiled_alike(about: Mapping[str, Any]) -> str:
    """The same text for models that the same compiled code serves."""
    return json.dumps([about["model"], about["parameters"], about.get("keyed", False)])


def _use(definition: Definition, count: int) -> None:
    stored, rng, first = without_rows(definition), np.random.default_rng(0), 0
    X, y = rng.normal(size=(count, definition.width)), rng.normal(size=count)
    now = np.datetime64("now", "ns")
    key = "a" if definition.keyed else None
    for start, stop in pairwise((0, 1, count // 2, count)):
        ids = list(range(start, stop))
        keys = None if key is None else [key] * len(ids)
        marks = Keys(ids, np.repeat(now, len(ids)), [str(id) for id in ids])
        planned = stored.plan(stored.checked(X[start:stop], y[start:stop], None, marks, keys))
        stored.learn(planned, first)
        first += planned.entries
        stored.coefficients(key)
    stored.predict_interval(X[:1], IntervalChoice(), key and [key], "raise")
    live = list(stored.seqs)
    leaving = (live[len(live) // 2], live[0]) if len(live) > 2 else ()
    for id in leaving:  # from among the others, and the oldest
        stored.forget([id])
        stored.coefficients(key)
    stored.audit([], [])
