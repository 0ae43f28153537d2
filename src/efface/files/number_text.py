"""Numbers as people write them: a decimal comma, separators between thousands."""

from __future__ import annotations

import re
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv

from efface.errors import InvalidValue

MISSING = frozenset(pyarrow.csv.ConvertOptions().null_values)  # texts that mean no value
_NULLS = pa.array(sorted(MISSING))
_HINTS = {  # how a text looks, and the options that read it
    r"\d{1,3}(,\d{3})+\.\d*": "add --thousands ','",
    r"\d{1,3}(\.\d{3})+,\d*|\d{1,3}(\.\d{3}){2,}": "add --decimal ',' --thousands '.'",
    r"\d{1,3}(,\d{3})+": "add --thousands ',', or --decimal ',' if it is a decimal comma",
    r"\d+,\d*|,\d+": "add --decimal ','",
    r"\d{1,3}( \d{3})+(\.\d*)?": "add --thousands ' '",
    r"\d{1,3}( \d{3})+,\d*": "add --decimal ',' --thousands ' '",
    r"\d{1,3}('\d{3})+(\.\d*)?": 'add --thousands "\'"',
}


class NumberFormat(NamedTuple):
    """The decimal mark, and the separator of thousands if there is one.

    >>> NumberFormat(",", ".").is_number("1.234,5"), NumberFormat().is_number("1.234,5")
    (True, False)
    """

    decimal: str = "."
    thousands: str | None = None

    def check(self) -> None:
        """Raise unless the two are different single characters."""
        for option, mark in (("--decimal", self.decimal), ("--thousands", self.thousands)):
            if mark is not None and (len(mark) != 1 or mark.isalnum() or mark in "+-"):
                raise InvalidValue(f"'{option}' is {mark!r}: expected one character, such as ','.")
        if self.decimal == self.thousands:
            text = f"'--thousands' is {self.thousands!r}, which is the decimal mark too"
            raise InvalidValue(f"{text}: name another --decimal.")

    def is_number(self, text: str) -> bool:
        """Whether a text is a number."""
        return re.fullmatch(self._pattern, _plain_spaces(text.strip())) is not None

    def parse(self, values: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Texts as numbers, and which texts are no numbers; missing values become null."""
        compute = pyarrow.compute
        texts = compute.utf8_trim_whitespace(values)
        texts = compute.if_else(compute.is_in(texts, value_set=_NULLS), None, texts)
        texts = compute.replace_substring_regex(texts, pattern="[\u00a0\u202f]", replacement=" ")
        fits = compute.match_substring_regex(texts, pattern=f"^(?:{self._pattern})$")
        wrong = compute.invert(fits).fill_null(False)
        texts = compute.if_else(wrong, None, texts)
        if self.thousands is not None:
            texts = compute.replace_substring(texts, pattern=self.thousands, replacement="")
        texts = compute.replace_substring(texts, pattern=self.decimal, replacement=".")
        return texts.cast(pa.float64()), wrong

    @property
    def _pattern(self) -> str:
        point = re.escape(self.decimal)
        whole = r"\d+"
        if self.thousands is not None:  # in groups of three digits, or not at all
            whole = rf"(?:\d{{1,3}}(?:{re.escape(self.thousands)}\d{{3}})+|\d+)"
        return rf"[+-]?(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?"


def _plain_spaces(text: str) -> str:
    """Spaces that do not break lines, which separate thousands in French, as plain spaces."""
    return text.replace("\u00a0", " ").replace("\u202f", " ")


def hint(text: str) -> str | None:
    """The options that would read a text as a number; None if it does not look like one.

    >>> hint("1.234,5"), hint("clear")
    ("add --decimal ',' --thousands '.'", None)
    """
    digits = _plain_spaces(text.strip().lstrip("+-"))
    return next((way for look, way in _HINTS.items() if re.fullmatch(look, digits)), None)
