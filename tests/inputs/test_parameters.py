"""Checked parameters: plain Python values, or an error that names the parameter."""

from __future__ import annotations

import math

import numpy as np
import pytest

from efface.errors import InvalidValue
from efface.inputs.parameters import (
    boolean,
    choice,
    non_negative,
    positive,
    probability,
    to_float,
    vector,
    whole,
)


@pytest.mark.parametrize(
    ("check", "value", "plain"),
    [
        (lambda v: whole("n", v, 1), np.int32(4), 4),
        (lambda v: non_negative("a", v), 0, 0.0),
        (lambda v: non_negative("a", v), np.float32(0.5), 0.5),
        (lambda v: positive("a", v), 3, 3.0),
        (lambda v: probability("p", v), 0.05, 0.05),
        (lambda v: boolean("t", v), np.True_, True),
    ],
)
def test_valid_values_become_plain_python_values(check, value, plain):
    assert check(value) == plain
    assert type(check(value)) is type(plain)


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "3", None, math.nan])
def test_whole_refuses(value):
    with pytest.raises(InvalidValue, match=r"'n' is .*: expected a whole number of at least 1; "):
        whole("n", value, 1)


@pytest.mark.parametrize("value", [-1e-300, math.nan, math.inf, True, "1", None, 1j])
def test_non_negative_refuses(value):
    with pytest.raises(InvalidValue, match=r"'a' is .*: expected a finite number of at least 0; "):
        non_negative("a", value)


@pytest.mark.parametrize("value", [0, -1.0, math.inf])
def test_positive_refuses(value):
    with pytest.raises(InvalidValue, match=r"'a' is .*: expected a finite number above 0; "):
        positive("a", value)


@pytest.mark.parametrize("value", [0, 1, 1.5, math.nan, "0.05"])
def test_probability_refuses(value):
    with pytest.raises(InvalidValue, match=r"'p' is .*: expected a number between 0 and 1; "):
        probability("p", value)


@pytest.mark.parametrize("value", [1, 0, None, "yes"])
def test_boolean_refuses(value):
    with pytest.raises(InvalidValue, match=r"'t' is .*: expected True or False; "):
        boolean("t", value)


@pytest.mark.parametrize("value", ["Skip", "", None, 1, ["skip"], np.array(["raise"])])
def test_choice_refuses(value):
    with pytest.raises(InvalidValue, match=r"'m' is .*: expected 'raise' or 'skip'; choose one"):
        choice("m", value, ("raise", "skip"))


BEYOND = 10**400


def test_integers_beyond_all_floats_are_refused():
    for check in (non_negative, positive, probability):
        for value in (BEYOND, -BEYOND):
            with pytest.raises(InvalidValue, match=r"'a' is -?1000"):
                check("a", value)
    with pytest.raises(InvalidValue, match=f"'n' is 1000.*: expected at most {2**62}; lower it"):
        whole("n", BEYOND, 1)
    assert whole("n", 2**62, 1) == 2**62
    assert (to_float(BEYOND), to_float(-BEYOND)) == (math.inf, -math.inf)


def test_a_vector_of_numbers():
    assert vector("v", [1, 2], 2).tolist() == [1.0, 2.0]
    for value in ([1, BEYOND], ["a", "b"], [[1], [2, 3]], [1, {}]):
        with pytest.raises(InvalidValue, match=r"'v' is .*: expected 2 finite numbers; convert it"):
            vector("v", value, 2)
    with pytest.raises(InvalidValue, match=r"'v\[1\]' is nan: expected a finite number"):
        vector("v", [1, math.nan], 2)


def test_positive_names_another_accepted_value():
    with pytest.raises(InvalidValue, match='expected a finite number above 0 or "auto"; '):
        positive("a", "car", 'or "auto"')
