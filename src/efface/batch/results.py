"""The results of ``rolling`` and ``replay``: arrays for arrays, columns of its kind for a frame."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np

from efface.errors import InvalidValue
from efface.inputs.frames import joined


@dataclass(frozen=True, eq=False)
class BatchResult:
    """One value per row in each field; None for what was not requested."""

    keys: tuple[tuple[Any, Any], ...] = field(default=(), repr=False, kw_only=True)

    def to_frame(self) -> Any:
        """Everything in one frame of the input's kind: keys first, then values.

        Keys are the columns that were named as groups, time or ids. A field with one value per
        feature becomes one column per feature, such as ``coef_mkt``.

        >>> import polars as pl
        >>> from efface import rolling
        >>> days = pl.DataFrame({"day": [1, 2, 3], "x": [1.0, 1.0, 2.0], "y": [1.0, 3.0, 5.0]})
        >>> result = rolling(days, y="y", at="day", window=2, outputs=["coef", "prediction"])
        >>> result.to_frame().columns
        ['day', 'coef_x', 'prediction']
        """
        parts = _parts(self)
        if any(isinstance(value, np.ndarray) for _, value in parts):
            text = "'X' was an array: expected a frame, to know which kind of frame to make"
            raise InvalidValue(f"{text}; pass a frame, or use the arrays of the result.")
        return joined([*((str(name), column) for name, column in self.keys), *parts])


def _parts(result: Any) -> list[tuple[str, Any]]:
    """(name, values) of each field that has values."""
    parts = []
    for each in fields(result):
        value = getattr(result, each.name)
        if is_dataclass(value):
            parts += _parts(value)
        elif each.name != "keys" and value is not None:
            parts.append((each.name, value))
    return parts


@dataclass(frozen=True, eq=False)
class Rolling(BatchResult):
    """Regressions on the window that ends at each row; None for outputs that were not requested.

    While a window has fewer than ``min_rows`` rows there is no regression: NaN, and a rank of -1.
    A field with one value per feature has the shape (n, d), or is a frame with the features'
    columns. All others have the shape (n,), or are a column.
    """

    coef: Any
    intercept: Any
    rank: Any
    fitted: Any  # row t by the window that ends at row t
    prediction: Any  # row t by the window that ends at row t - 1
    stats: Any = None  # a Statistics
    residual: Any = None  # y - fitted
    error: Any = None  # y - prediction
    lower: Any = None  # the interval around the prediction
    upper: Any = None
    singular: Any = None  # whether the rank is below the number of features; None without the rank


@dataclass(frozen=True, eq=False)
class Replay(BatchResult):
    """A stream, row by row: entry t is the state that predicted row t, before row t was learned.

    ``coef`` is None without ``coef=True``, ``lower`` and ``upper`` without ``interval``. ``rank``
    (for models with a penalty) and the fields from ``leverage_new`` to ``condition`` are None
    without ``diagnostics=True``. Phi is the Gram matrix of the live rows, centred if there is an
    intercept. Its eigenvalues, hence ``phi2`` and ``condition``, are computed for every m-th row,
    m = max(20 d, 500), and for the last; they are NaN for all others.
    """

    prediction: Any
    penalty: Any
    intercept: Any
    n_rows: Any
    rank: Any
    coef: Any
    leverage_new: Any  # of row t among the rows that predicted it
    leverage_old: Any  # of the oldest of those rows
    frt: Any  # the forgetting regret term of these two rows
    phi2: Any  # lambda_min(Phi) / n
    condition: Any  # sqrt(lambda_max(Phi) / lambda_min(Phi))
    lower: Any  # as ``predict_interval`` gives for row t
    upper: Any
