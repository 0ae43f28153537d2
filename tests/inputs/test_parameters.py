"""Checked parameters: plain Python values, or an error that names the parameter."""

from __future__ import annotations

import math

import numpy as np
import pytest

from efface.errors import InvalidValue
from efface.inputs.parameters import boolean, choice, non_negative, positive, probability, whole


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


def test_positive_names_another_accepted_value():
    with pytest.raises(InvalidValue, match='expected a finite number above 0 or "auto"; '):
        positive("a", "car", 'or "auto"')
