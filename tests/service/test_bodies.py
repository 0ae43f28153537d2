"""Tests of efface.service.bodies."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from efface.service.bodies import Erasure, NewModel, NewRows, Questions

GOOD = {
    NewRows: [
        '{"rows": [{"x": [1, 2.5], "y": -1e10}]}',
        '{"rows": [{"x": {"a": 1}, "y": 0, "id": 7, "owner": "ann", "at": 1.5, "weight": 2}]}',
        '{"rows": [{"x": [], "y": 0, "at": "2026-01-31T10:00:00.123456789Z", "until": null}]}',
        '{"rows": [{"x": [1], "y": 0, "at": "2026-01-31 10:00+02:00"}], "left": "skip"}',
    ],
    Questions: ['{"rows": [{"x": [1]}], "interval": 0.9, "method": "conformal"}'],
    Erasure: ['{"owner": 3}', '{"ids": [1, "a"], "model": "m", "missing": "ok"}'],
    NewModel: ['{"features": 3}', '{"kind": "OLS", "features": ["a"], "parameters": {}}'],
}
BAD = {
    NewRows: [
        '{"rows": [{"x": [1], "y": NaN}]}',
        '{"rows": [{"x": [1], "y": 1e400}]}',
        '{"rows": [{"x": "1", "y": 1}]}',
        '{"rows": [{"x": [1], "y": 1, "id": 1.5}]}',
        '{"rows": [{"x": [1], "y": 1, "id": true}]}',
        '{"rows": [{"x": [1], "y": 1, "at": "NaT"}]}',
        '{"rows": [{"x": [1], "y": 1, "at": "now"}]}',
        '{"rows": [{"x": [1], "y": 1}], "more": 1}',
    ],
    Questions: ['{"rows": [{"x": [1], "y": 1}]}', '{"rows": [{"x": [1]}], "interval": 0}'],
    Erasure: [
        '{"secret": "AB"}',
        '{"owner": ""' + " " * 5 + "}x",
        '{"owner": "' + "a" * 1_001 + '"}',
    ],
    NewModel: ["{}", '{"features": 0}', '{"features": [1]}', '{"features": true}'],
}


def cases(table):
    return [(body, text) for body, texts in table.items() for text in texts]


@pytest.mark.parametrize(("body", "text"), cases(GOOD))
def test_good_bodies_are_accepted(body, text):
    body.model_validate_json(text)


@pytest.mark.parametrize(("body", "text"), cases(BAD))
def test_bad_bodies_are_refused(body, text):
    with pytest.raises(ValidationError):
        body.model_validate_json(text)
