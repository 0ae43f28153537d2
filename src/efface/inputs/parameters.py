"""Checked parameters: each function returns a plain Python value or raises ``InvalidValue``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from efface.errors import invalid

_MOST = 2**62


def whole(subject: str, value: object, least: int) -> int:
    """A whole number of at least ``least``.

    >>> whole("rows", np.int64(3), 1)
    3
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        expected = f"a whole number of at least {least}"
        raise invalid(subject, value, expected, "check its type and sign")
    if value > _MOST:  # sums of two such numbers fit 64 bits
        raise invalid(subject, value, f"at most {_MOST}", "lower it")
    return int(value)


def non_negative(subject: str, value: object, otherwise: str = "") -> float:
    """A finite number of at least 0; ``otherwise`` names another accepted value in the error."""
    expected = f"a finite number of at least 0 {otherwise}".rstrip()
    return _number(subject, value, lambda n: 0 <= n < math.inf, expected, "check its sign")


def positive(subject: str, value: object, otherwise: str = "") -> float:
    """A finite number above 0; ``otherwise`` names another accepted value in the error."""
    expected = f"a finite number above 0 {otherwise}".rstrip()
    return _number(subject, value, lambda n: 0 < n < math.inf, expected, "check its sign and scale")


def finite(subject: str, value: object) -> float:
    """A finite number.

    >>> finite("lower", 0)
    0.0
    """
    advice = "check its type, or leave it out"
    return _number(subject, value, math.isfinite, "a finite number", advice)


def choice(subject: str, value: object, options: tuple[str, ...]) -> str:
    """One of the strings in ``options``.

    >>> choice("missing", "skip", ("raise", "skip"))
    'skip'
    """
    if not (isinstance(value, str) and value in options):
        expected = " or ".join(repr(option) for option in options)
        raise invalid(subject, value, expected, "choose one")
    return value


def probability(subject: str, value: object, advice: str = "use 0.95 for 95 %") -> float:
    """A number strictly between 0 and 1, such as the level of an interval."""
    return _number(subject, value, lambda n: 0 < n < 1, "a number between 0 and 1", advice)


def error_probability(subject: str, value: object) -> float:
    """The probability of an error, strictly between 0 and 1: one minus a confidence."""
    return probability(subject, value, "use 0.05 for 95 % confidence")


def boolean(subject: str, value: object) -> bool:
    """True or False; other values that Python treats as true or false are refused."""
    if not isinstance(value, bool | np.bool):
        raise invalid(subject, value, "True or False", "pass one of the two")
    return bool(value)


def vector(subject: str, value: ArrayLike, size: int) -> NDArray[np.float64]:
    """``size`` finite numbers as a float64 vector.

    >>> vector("theta", [1, 2], 2)
    array([1., 2.])
    """
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise invalid(subject, value, f"{size} finite numbers", "convert it") from error
    if numbers.shape != (size,):
        expected = f"the shape ({size},)"
        raise invalid(subject, numbers.shape, expected, f"pass {size} numbers")
    finite = np.isfinite(numbers)
    if not finite.all():
        at = int(finite.argmin())
        value = float(numbers[at])
        raise invalid(f"{subject}[{at}]", value, "a finite number", "replace it")
    return numbers


def _number(
    subject: str, value: object, fits: Callable[[float], bool], expected: str, advice: str
) -> float:
    """A number that fits, as a float; no condition here accepts NaN."""
    known = isinstance(value, int | float | np.integer | np.floating)
    number = to_float(value) if known and not isinstance(value, bool) else math.nan
    if not fits(number):
        raise invalid(subject, value, expected, advice)
    return number


def to_float(number: Any) -> float:
    """A number as a float; infinite for an int that is beyond all floats.

    >>> to_float(3), to_float(-(10**400))
    (3.0, -inf)
    """
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
