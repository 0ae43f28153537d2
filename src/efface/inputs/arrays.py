"""Checked arrays: rows, responses and weights as C-ordered float64.

Values are at most ``LARGEST`` in absolute value, and so is a value times the square root of its
weight: sums of their squares stay finite. An error names the row and the column of the value that
cannot be used. No function here changes its argument.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np
from numpy import ndarray
from numpy.typing import NDArray

from efface.errors import BadRow, InvalidValue, NotANumber, invalid, unusable
from efface.inputs.frames import FrameColumns, side_by_side, values
from efface.inputs.masks import first_masked
from efface.inputs.parameters import to_float
from efface.inputs.types import Matrix, Vector

LARGEST = 1e150
HEAVIEST = 1e300  # LARGEST squared

_FEW = 1_000
_FLOAT64 = np.dtype(np.float64)
_IMPUTE = "remove or impute it"
_WEIGHT = f"a number from 0 to {HEAVIEST}"
_ZERO_WEIGHT = "use weight 0 for a row that must not count"


def as_matrix(X: Any, *, missing: bool = False) -> Matrix:
    """X as a matrix of finite numbers, one row per observation; ``missing`` allows NaN.

    >>> as_matrix([[1, 2], [3, "four"]])
    Traceback (most recent call last):
    ...
    efface.errors.NotANumber: 'X' at row 1, column 1 is 'four': expected a number; convert it \
(it is of type 'str').
    """
    if type(X) is not np.ndarray:
        if hasattr(X, "toarray"):  # of scipy.sparse, recognised without importing it
            raise TypeError(unusable("X", "sparse", "a dense array", "call its .toarray()"))
        frame = FrameColumns.of(X)
        if frame is not None:
            return _from_frame(frame, missing)
    raw = _array("X", X)
    if raw.ndim != 2:
        raise InvalidValue(
            f"'X' is of shape {raw.shape}: expected 2D array, got {raw.ndim}D array instead. "
            "Reshape your data: X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row."
        )
    _refuse_no_column(raw.shape)
    rows = _writeable(_numbers("X", raw, X))
    _check("X", rows, missing)
    return rows


def _from_frame(frame: FrameColumns, missing: bool) -> Matrix:
    _refuse_no_column((len(frame), len(frame.names)))
    columns = [_column(raw, j, frame.names) for j, raw in enumerate(frame.columns())]
    rows, largest = side_by_side(columns)
    if not largest <= LARGEST:
        _check("X", rows, missing, frame.names)
    return rows


def _column(raw: NDArray[Any], column: int, names: Sequence[Any]) -> Vector:
    if raw.dtype == np.float64:
        return raw
    return _numbers("X", _array("X", raw)[:, np.newaxis], None, names, column)[:, 0]


def refuse_no_row(X: Matrix) -> None:
    """Raise if X has no row; scikit-learn's checks require this text."""
    if not len(X):
        text = f"0 sample(s) (shape={X.shape}) while a minimum of 1 is required"
        raise invalid("X", text, "at least one row", "pass at least one")


def _refuse_no_column(shape: tuple[int, ...]) -> None:
    if shape[1] == 0:
        text = f"0 feature(s) (shape={shape}) while a minimum of 1 is required"
        raise invalid("X", text, "at least one column", "pass at least one")


def as_vector(y: Any, count: int, *, missing: bool = False, name: Any = None) -> Vector:
    """y as ``count`` finite numbers, from a vector or a single column.

    ``name`` is the name of its column, for error messages.
    """
    raw = _array("y", y if type(y) is np.ndarray else values(y))
    if raw.shape not in ((count,), (count, 1)):
        advice = "pass one response per row"
        raise invalid("y", raw.shape, f"the shape ({count},)", advice)
    names = None if name is None else [name]
    numbers = _numbers("y", raw, y, names)
    responses = _writeable(numbers if numbers.ndim == 1 else numbers[:, 0])
    _check("y", responses, missing, names)
    return responses


def as_row(x: Any, width: int | None) -> Vector:
    """One row of finite numbers: of ``width`` numbers, or of any number if it is None."""
    raw = _array("x", x)
    if raw.ndim != 1 or raw.size != (raw.size if width is None else width) or raw.size == 0:
        expected = "one row of at least one number" if width is None else f"the shape ({width},)"
        raise invalid("x", raw.shape, expected, "pass one number per feature")
    row = _writeable(_numbers("x", raw, x))
    _check("x", row, False)
    return row


def is_row(x: Any, shape: tuple[int]) -> TypeGuard[Vector]:
    """Whether x needs no conversion by ``as_row``; its values are not checked."""
    return type(x) is ndarray and x.dtype is _FLOAT64 and x.shape == shape and x.flags.c_contiguous


def as_response(y: Any) -> float:
    """The response of one row: a finite number."""
    value = _scalar("y", y, "learn many rows with 'partial_fit'")
    if not abs(value) <= LARGEST:
        raise BadRow(f"'y' is {_unusable(value)}")
    return value


def as_weight(weight: Any) -> float:
    """The weight of one row: a number from 0 to ``HEAVIEST``."""
    value = _scalar("weight", weight, "pass many weights as 'sample_weight' of 'partial_fit'")
    if not 0.0 <= value <= HEAVIEST:
        raise BadRow(unusable("weight", value, _WEIGHT, _ZERO_WEIGHT))
    return value


def _scalar(subject: str, value: Any, advice: str) -> float:
    raw = _array(subject, value)
    if raw.ndim != 0:
        raise invalid(subject, value, "one number", advice)
    return float(_numbers(subject, raw, value))


def as_weights(sample_weight: Any, count: int) -> Vector | None:
    """``count`` weights, from one per row or one for all rows; None stays None.

    >>> as_weights([1, -2], 2)
    Traceback (most recent call last):
    ...
    efface.errors.BadRow: 'sample_weight' at row 1 is -2.0: expected a number from 0 to 1e+300; \
use weight 0 for a row that must not count.
    """
    if sample_weight is None:
        return None
    raw = _array("sample_weight", values(sample_weight))
    if raw.shape not in ((), (count,)):
        advice = "pass one weight per row, or one number for all"
        raise invalid("sample_weight", raw.shape, f"the shape ({count},)", advice)
    weights = np.array(np.broadcast_to(_numbers("sample_weight", raw, sample_weight), (count,)))
    good = (weights >= 0.0) & (weights <= HEAVIEST)
    if not good.all():
        row = int(good.argmin())
        text = f"'sample_weight' at row {row} is {weights[row]}: expected {_WEIGHT}"
        raise BadRow(f"{text}; {_ZERO_WEIGHT}.", row, None)
    return weights


def refuse_heavy(X: Matrix, y: Vector, weights: Vector, subject: str = "sample_weight") -> None:
    """Raise if the square of a value of a row, times its weight, is above ``HEAVIEST``.

    >>> refuse_heavy(np.array([[1e120]]), np.zeros(1), np.array([1e80]))
    Traceback (most recent call last):
    ...
    efface.errors.BadRow: 'sample_weight' at row 0 is 1e+80: expected at most 1e+60, since the row \
has the value 1e+120; rescale the weights or the values.
    """
    heavy = heavy_rows(X, y, weights)
    if heavy.any():
        row = int(heavy.argmax())
        where = f"'{subject}'" if subject == "weight" else f"'{subject}' at row {row}"
        value = max(np.abs(X[row]).max(initial=0.0), abs(y[row]))
        most = f"at most {(LARGEST / value) ** 2:.6g}, since the row has the value {value:.6g}"
        advice = "rescale the weights or the values"
        raise BadRow(f"{where} is {weights[row]:.6g}: expected {most}; {advice}.", row, None)


def heavy_rows(X: Matrix, y: Vector, weights: Vector) -> NDArray[np.bool_]:
    """Which rows have a value whose square, times the weight, is above ``HEAVIEST``."""
    largest = np.fmax(np.fmax.reduce(np.abs(X), axis=1, initial=1.0), np.abs(y))  # ignores NaN
    return np.asarray(np.sqrt(weights) > LARGEST / largest)


def as_weighted_row(x: Any, y: Any, width: int | None, weight: float) -> tuple[Vector, float]:
    """One row and its response, which may have the checked weight."""
    row, response = as_row(x, width), as_response(y)
    refuse_heavy(row[np.newaxis], np.array([response]), np.array([weight]), "weight")
    return row, response


def _array(subject: str, data: Any) -> NDArray[Any]:
    if type(data) is np.ndarray and data.dtype == _FLOAT64:  # in a fraction of the time
        return data
    masked = first_masked(data)
    if masked is not None:
        where, row, column = _where(subject, masked, None)
        raise BadRow(f"{where} is masked: expected a number; {_IMPUTE}.", row, column)
    try:
        raw = np.asarray(data)
    except ValueError as error:
        advice = "give every row the same number of values"
        raise invalid(subject, "ragged", "a rectangular array", advice) from error
    if raw.dtype.kind == "c":
        advice = "Complex data not supported: pass its real and imaginary parts as columns"
        raise invalid(subject, "complex", "real numbers", advice)
    return raw


def _numbers(
    subject: str,
    raw: NDArray[Any],
    source: Any,
    names: Sequence[Any] | None = None,
    column: int = 0,
) -> NDArray[np.float64]:
    """As float64. For errors: ``column`` is the index of the first column, ``names`` names all."""
    if raw.dtype == _FLOAT64:
        return raw
    if raw.dtype.kind in "fiub":
        with np.errstate(over="ignore"):  # too large for float64: infinite, and refused later
            return raw.astype(np.float64, copy=False)
    if raw.dtype.kind in "US":  # NumPy turns all values into strings if one of them is a string
        raw = np.asarray(source, dtype=object)
    numbers = np.empty(raw.shape)
    for at, value in np.ndenumerate(raw):
        try:
            numbers[at] = _number(value)
        except (TypeError, ValueError) as error:
            where, row, place = _where(subject, (*at[:-1], at[-1] + column) if at else at, names)
            text = f"{where} is {value!r}: expected a number; convert it ({error})."
            raise NotANumber(text, row, place) from error
    return numbers


def _writeable(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """C-ordered and writeable, as compiled code reads and models keep them."""
    flags = values.flags
    if flags.c_contiguous and flags.writeable:
        return values
    return np.require(values, requirements=("C", "W"))


def _number(value: Any) -> float:
    """A number as a float; None and pandas.NA as NaN. A string is not a number."""
    if value is None or type(value).__name__ == "NAType":
        return math.nan
    if isinstance(value, str | bytes | np.datetime64 | np.timedelta64):
        raise TypeError(f"it is of type {type(value).__name__!r}")
    return to_float(value)


def _check(
    subject: str, numbers: Matrix | Vector, missing: bool, names: Sequence[Any] | None = None
) -> None:
    if numbers.size <= _FEW and np.vdot(numbers, numbers) <= LARGEST:
        return  # so all are far smaller, in a fraction of the time
    if not numbers.size or (numbers.max() <= LARGEST and numbers.min() >= -LARGEST):
        return
    good = np.abs(numbers) <= LARGEST
    if missing:
        good |= np.isnan(numbers)
    if not good.all():
        at = np.unravel_index(int(good.argmin()), numbers.shape)
        where, row, column = _where(subject, at, names)
        raise BadRow(f"{where} is {_unusable(float(numbers[at]))}", row, column)


def _unusable(value: float) -> str:
    """A value that is not at most ``LARGEST``, what was expected, and what to do."""
    if math.isfinite(value):
        limit = f"at most {LARGEST} in absolute value"
        return f"{value}: expected {limit}, so that sums of squares are finite; rescale the values."
    name = "NaN" if math.isnan(value) else "infinity"
    return f"{name}: expected a finite number; {_IMPUTE}."


def _where(
    subject: str, at: tuple[Any, ...], names: Sequence[Any] | None
) -> tuple[str, int | None, int | None]:
    """The position of a value as text, and as (row, column); ``names`` adds the column name."""
    if not at:
        return f"'{subject}'", None, None
    row = None if subject == "x" else int(at[0])
    column = None if subject in ("y", "sample_weight") else int(at[-1])
    name = "" if names is None else f" ({names[column or 0]!r})"
    parts = [] if row is None else [f"row {row}"]
    if column is None:
        return f"'{subject}'{name} at {parts[0]}", row, column
    parts.append(f"column {column}{name}")
    return f"'{subject}' at {', '.join(parts)}", row, column
