"""Rows from outside: checked, and in the one layout that the kernels read.

Everything leaves here as C-ordered float64. A value that cannot be used is named by row and column.
Nothing here keeps or changes what it was given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import BadRow, InvalidValue, NotANumber, unusable
from efface.inputs.frames import FrameColumns, side_by_side, values

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_IMPUTE = "remove or impute it"
_WEIGHT = "a finite number of at least 0"
_MUTE = "give a row that is to say nothing the weight 0"


def as_matrix(X: Any, *, missing: bool = False) -> Matrix:
    """X as rows by columns, of finite numbers; with ``missing``, NaN may stand for a gap.

    >>> as_matrix([[1, 2], [3, "four"]])
    Traceback (most recent call last):
    ...
    efface.errors.NotANumber: 'X' at row 1, column 1 is 'four': expected a number; convert it \
(it is of type 'str').
    """
    if hasattr(X, "toarray"):  # scipy.sparse, which need not be loaded to be recognised
        raise TypeError(unusable("X", "sparse", "a dense array", "call its .toarray()"))
    table = FrameColumns.of(X)
    if table is not None:
        return _from_table(table, missing)
    raw = _array("X", X)
    if raw.ndim != 2:
        raise InvalidValue(
            f"'X' is of shape {raw.shape}: expected 2D array, got {raw.ndim}D array instead. "
            "Reshape your data: X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row."
        )
    _refuse_no_column(raw.shape)
    rows = _settled(_numbers("X", raw, X))
    _check("X", rows, missing)
    return rows


def _from_table(table: FrameColumns, missing: bool) -> Matrix:
    """The same for a frame, which the columns of each kind leave only here as one block."""
    _refuse_no_column((len(table), len(table.names)))
    columns = [_column(raw, j, table.names) for j, raw in enumerate(table.columns())]
    rows, finite = side_by_side(columns)
    if not finite:
        _check("X", rows, missing, table.names)
    return rows


def _column(raw: NDArray[Any], column: int, names: Sequence[Any]) -> Vector:
    if raw.dtype == np.float64:
        return raw
    return _numbers("X", _array("X", raw)[:, np.newaxis], None, names, column)[:, 0]


def refuse_no_row(X: Matrix) -> None:
    """Raise if there is none, in the words that scikit-learn expects."""
    if not len(X):
        text = f"0 sample(s) (shape={X.shape}) while a minimum of 1 is required"
        raise InvalidValue(unusable("X", text, "at least one row", "pass some"))


def _refuse_no_column(shape: tuple[int, ...]) -> None:
    if shape[1] == 0:
        text = f"0 feature(s) (shape={shape}) while a minimum of 1 is required"
        raise InvalidValue(unusable("X", text, "at least one column", "pass some"))


def as_vector(y: Any, count: int, *, missing: bool = False, name: Any = None) -> Vector:
    """y as one finite number for each of ``count`` rows; ``name`` is that of its column."""
    raw = _array("y", values(y))
    if raw.shape != (count,):
        advice = "pass as many responses as rows"
        raise InvalidValue(unusable("y", raw.shape, f"the shape ({count},)", advice))
    names = None if name is None else [name]
    responses = _settled(_numbers("y", raw, y, names))
    _check("y", responses, missing, names)
    return responses


def as_row(x: Any, width: int | None) -> Vector:
    """One row, of ``width`` finite numbers if that is known."""
    raw = _array("x", x)
    if raw.ndim != 1 or raw.size != (raw.size if width is None else width) or raw.size == 0:
        expected = "one row of at least one number" if width is None else f"the shape ({width},)"
        raise InvalidValue(unusable("x", raw.shape, expected, "pass one number a feature"))
    row = _settled(_numbers("x", raw, x))
    _check("x", row, False)
    return row


def as_response(y: Any) -> float:
    """One finite number."""
    raw = _array("y", y)
    if raw.ndim != 0:
        raise InvalidValue(unusable("y", y, "one number", "learn many rows with 'partial_fit'"))
    value = float(_numbers("y", raw, y))
    if not math.isfinite(value):
        raise BadRow(unusable("y", value, "a finite number", _IMPUTE))
    return value


def as_weight(weight: Any) -> float:
    """The weight of one row: a finite number of at least 0."""
    raw = _array("weight", weight)
    if raw.ndim != 0:
        advice = "weigh many rows with the 'sample_weight' of 'partial_fit'"
        raise InvalidValue(unusable("weight", weight, "one number", advice))
    value = float(_numbers("weight", raw, weight))
    if not (math.isfinite(value) and value >= 0.0):
        raise BadRow(unusable("weight", value, _WEIGHT, _MUTE))
    return value


def as_weights(sample_weight: Any, count: int) -> Vector | None:
    """One weight for each of ``count`` rows, or one for all; None is a weight of 1.

    >>> as_weights([1, -2], 2)
    Traceback (most recent call last):
    ...
    efface.errors.BadRow: 'sample_weight' at row 1 is -2.0: expected a finite number of at least \
0; give a row that is to say nothing the weight 0.
    """
    if sample_weight is None:
        return None
    raw = _array("sample_weight", values(sample_weight))
    if raw.shape not in ((), (count,)):
        advice = "pass one weight a row, or one number for all"
        raise InvalidValue(unusable("sample_weight", raw.shape, f"the shape ({count},)", advice))
    weights = np.array(np.broadcast_to(_numbers("sample_weight", raw, sample_weight), (count,)))
    good = np.isfinite(weights) & (weights >= 0.0)
    if not good.all():
        row = int(good.argmin())
        text = f"'sample_weight' at row {row} is {weights[row]}: expected {_WEIGHT}; {_MUTE}."
        raise BadRow(text, row, None)
    return weights


def _array(subject: str, data: Any) -> NDArray[Any]:
    try:
        raw = np.asarray(data)
    except ValueError as error:
        advice = "give every row the same number of values"
        raise InvalidValue(unusable(subject, "ragged", "a rectangular array", advice)) from error
    if raw.dtype.kind == "c":
        advice = "Complex data not supported: pass its real and imaginary parts as columns"
        raise InvalidValue(unusable(subject, "complex", "real numbers", advice))
    return raw


def _numbers(
    subject: str,
    raw: NDArray[Any],
    source: Any,
    names: Sequence[Any] | None = None,
    column: int = 0,
) -> NDArray[np.float64]:
    """As float64; ``column`` is the place of the first, ``names`` are those of all columns."""
    if raw.dtype.kind in "fiub":
        with np.errstate(over="ignore"):  # too large for float64 is infinite, and refused as such
            return raw.astype(np.float64, copy=False)
    numbers = np.empty(raw.shape)
    for at, value in np.ndenumerate(_sources(raw, source)):
        try:
            numbers[at] = _number(value)
        except (TypeError, ValueError) as error:
            where, row, place = _where(subject, (*at[:-1], at[-1] + column) if at else at, names)
            text = f"{where} is {value!r}: expected a number; convert it ({error})."
            raise NotANumber(text, row, place) from error
    return numbers


def _settled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """In one piece, and not read-only: for such arrays kernels would be compiled once more."""
    return np.require(values, requirements=("C", "W"))


def _sources(raw: NDArray[Any], source: Any) -> NDArray[Any]:
    """The values as they were given: a text among numbers makes texts of them all."""
    return np.asarray(source, dtype=object) if raw.dtype.kind in "US" else raw


def _number(value: Any) -> float:
    """A number as a float, a gap (None, pandas.NA) as NaN; a text is not a number."""
    if value is None or type(value).__name__ == "NAType":
        return math.nan
    if isinstance(value, str | bytes | np.datetime64 | np.timedelta64):
        raise TypeError(f"it is of type {type(value).__name__!r}")
    return float(value)


def _check(
    subject: str, numbers: Matrix | Vector, missing: bool, names: Sequence[Any] | None = None
) -> None:
    good = np.isfinite(numbers)
    if missing and not good.all():
        good |= np.isnan(numbers)
    if not good.all():
        at = np.unravel_index(int(good.argmin()), numbers.shape)
        where, row, column = _where(subject, at, names)
        value = "NaN" if np.isnan(numbers[at]) else "infinity"
        text = f"{where} is {value}: expected a finite number; {_IMPUTE}."
        raise BadRow(text, row, column)


def _where(
    subject: str, at: tuple[Any, ...], names: Sequence[Any] | None
) -> tuple[str, int | None, int | None]:
    """Where a value sits, in words and in numbers; a column of a frame by its name too."""
    if not at:
        return f"'{subject}'", None, None
    row = None if subject == "x" else int(at[0])
    column = None if subject in ("y", "sample_weight") else int(at[-1])
    name = "" if names is None else f" ({names[column or 0]!r})"
    places = [] if row is None else [f"row {row}"]
    if column is not None:
        places.append(f"column {column}{name}")
    whose = name if column is None else ""
    return f"'{subject}'{whose} at {', '.join(places)}", row, column
