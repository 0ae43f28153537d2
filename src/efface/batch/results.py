"""What whole-array jobs give, row by row: arrays for arrays, for a frame columns of its kind."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np

from efface.errors import InvalidValue
from efface.inputs.frames import joined


@dataclass(frozen=True, eq=False)
class Outcome:
    """Values of each row; None where one was not asked for."""

    keys: tuple[tuple[Any, Any], ...] = field(default=(), repr=False, kw_only=True)

    def to_frame(self) -> Any:
        """Everything in one frame of the input's kind: keys, then values.

        Keys are the columns that were named as groups, time or ids. What has a value a feature
        becomes a column each: ``coef_mkt``.

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


def _parts(outcome: Any) -> list[tuple[str, Any]]:
    parts = []
    for each in fields(outcome):
        value = getattr(outcome, each.name)
        if is_dataclass(value):
            parts += _parts(value)
        elif each.name != "keys" and value is not None:
            parts.append((each.name, value))
    return parts


@dataclass(frozen=True, eq=False)
class Rolling(Outcome):
    """Regressions on the window that ends at each row; None where an output was not asked for.

    Before a window has ``min_rows`` rows there is no regression: NaN, and a rank of -1. What has
    one value a feature is (n, d), or a frame with the features' columns; the rest is (n,), or a
    column.
    """

    coef: Any
    intercept: Any
    rank: Any
    fitted: Any  # of row t by the window that ends at it
    prediction: Any  # of row t by the window that ends before it
    stats: Any = None  # significance.Statistics
    residual: Any = None  # y less what was fitted
    error: Any = None  # y less what was predicted
    lower: Any = None  # the interval around the prediction
    upper: Any = None
    singular: Any = None  # where the rank is below the number of features; None without the rank


@dataclass(frozen=True, eq=False)
class Replay(Outcome):
    """A stream, row by row: entry t is the state that predicted row t, before it was learned.

    ``rank`` is None for models with a penalty, and what follows ``coef`` always, without
    ``diagnostics=True``; ``coef`` without ``coef=True``; the interval without ``interval``. Phi is
    of the live rows, around their mean if there is an intercept; its eigenvalues are those of every
    m-th row, m = 20 d but at least 500, and of the last: NaN between.
    """

    prediction: Any
    penalty: Any
    intercept: Any
    n_rows: Any
    rank: Any
    coef: Any
    leverage_new: Any  # of row t among the rows that predicted it
    leverage_old: Any  # of the oldest of those rows
    frt: Any  # the forgetting regret term of the two
    phi2: Any  # lambda_min(Phi) / n
    condition: Any  # sqrt(lambda_max(Phi) / lambda_min(Phi))
    lower: Any  # what ``predict_interval`` says of row t
    upper: Any
