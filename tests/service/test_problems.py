"""Tests of efface.service.problems."""

from __future__ import annotations

import json
import pickle

import pytest
from pydantic import ValidationError

from efface import errors
from efface.service.bodies import BODIES, NewRows
from efface.service.problems import FIELDS, RefusedRequest, from_error, status_of


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (errors.RepeatedId, 409),
        (errors.RefusedRow, 409),
        (errors.UnknownId, 404),
        (errors.UnknownOwner, 404),
        (errors.UnknownModel, 404),
        (errors.BadRow, 422),
        (errors.BadTime, 422),
        (errors.StoreStopped, 503),
        (errors.StorageFailure, 503),
        (RuntimeError, 500),
        (KeyError, 500),
    ],
)
def test_each_error_has_its_status(kind, status):
    assert status_of(kind("text")) == status


def test_the_text_of_the_library_goes_to_the_caller_and_that_of_other_errors_does_not():
    found = json.loads(from_error(errors.BadRow("'x' is 1: expected 2", row=3)).body)
    assert found["detail"] == "'x' is 1: expected 2"
    assert (found["error"], found["row"]) == ("BadRow", 3)
    hidden = from_error(RuntimeError("Ada Lovelace"))
    assert hidden.status_code == 500
    assert b"Ada" not in hidden.body


def test_problems_of_a_body_have_places_but_no_values_and_no_made_up_names():
    with pytest.raises(ValidationError) as raised:
        NewRows.model_validate_json('{"rows": [{"x": {"Ada": "Eve"}, "y": "Bob", "Zoe": 1}]}')
    found = from_error(raised.value)
    assert found.status_code == 422
    assert not [name for name in ("Ada", "Eve", "Bob", "Zoe") if name in found.body.decode()]
    places = [each["at"] for each in json.loads(found.body)["problems"]]
    assert "rows.0.y" in places


def test_every_field_of_every_body_is_named():
    assert {name for body in BODIES for name in body.model_fields} <= FIELDS


def test_a_problem_can_be_pickled():
    found = pickle.loads(pickle.dumps(RefusedRequest(503, "later")))
    assert (found.status, str(found)) == (503, "later")


def test_a_full_queue_says_when_to_try_again_and_a_missing_token_which_scheme():
    assert from_error(RefusedRequest(503, "later")).headers["retry-after"] == "1"
    assert from_error(RefusedRequest(401, "who?")).headers["www-authenticate"] == "Bearer"
