"""Numbers are read as written, or refused; a hint names the options that read them."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from efface.errors import InvalidValue
from efface.files.number_text import NumberFormat, hint

MARKS = [(".", ","), (",", "."), (",", " "), (".", "'"), (",", None), (".", None)]


def written(value, decimal, thousands):
    text = f"{value:,.6f}".replace(",", "_").replace(".", decimal)
    return text.replace("_", thousands or "")


@given(
    st.lists(st.integers(-(10**14), 10**14).map(lambda k: k / 1e6), min_size=1),
    st.sampled_from(MARKS),
)
def test_numbers_are_read_back(values, marks):
    form = NumberFormat(*marks)
    texts = [written(value, *marks) for value in values]
    numbers, wrong = form.parse(pa.array(texts))
    assert numbers.to_pylist() == values
    assert not any(wrong.to_pylist())
    assert all(form.is_number(text) for text in texts)


def test_missing_values_become_null_and_other_texts_are_wrong():
    numbers, wrong = NumberFormat(",", ".").parse(pa.array(["", "NA", None, "x", "1.5", " 2,5 "]))
    assert numbers.to_pylist() == [None] * 5 + [2.5]
    assert wrong.to_pylist() == [False] * 3 + [True, True, False]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("1,5", "add --decimal ','"),
        ("-1.234,5", "add --decimal ',' --thousands '.'"),
        ("1.234.567", "add --decimal ',' --thousands '.'"),
        ("1,234.5", "add --thousands ','"),
        ("1,234", "add --thousands ',', or --decimal ',' if it is a decimal comma"),
        ("1\u202f234,5", "add --decimal ',' --thousands ' '"),
        ("12 345", "add --thousands ' '"),
        ("1'234.50", 'add --thousands "\'"'),
        ("1,2,3", None),
        ("rain", None),
        ("2011-01-31", None),
    ],
)
def test_hints(text, options):
    assert hint(text) == options


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (NumberFormat(",,"), "'--decimal' is ',,': expected one character"),
        (NumberFormat("."), None),
        (NumberFormat(".", "."), "'--thousands' is '.', which is the decimal mark too"),
        (NumberFormat(".", "3"), "'--thousands' is '3'"),
        (NumberFormat("-", None), "'--decimal' is '-'"),
    ],
)
def test_marks_are_checked(form, message):
    if message is None:
        form.check()
        return
    with pytest.raises(InvalidValue, match=message.replace(".", "[.]")):
        form.check()
