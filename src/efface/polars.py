"""A Polars expression: the rolling regression as a column of structs, also ``.over`` groups.

It needs no compiled plugin: Polars hands whole columns to ``efface.rolling``.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from efface.batch.rolling import rolling
from efface.errors import invalid

_Y, _AT, _WEIGHT = "efface:y", "efface:at", "efface:weight"  # fields beside the features


def rolling_regression(
    y: str | pl.Expr,
    *x: str | pl.Expr,
    window: Any,
    at: str | pl.Expr | None = None,
    sample_weight: str | pl.Expr | None = None,
    **options: Any,
) -> pl.Expr:
    """The regression of ``y`` on ``x`` over the window that ends at each row, as a struct.

    ``options`` are those of ``efface.rolling``; the fields of the struct are the columns of its
    ``to_frame()``.

    >>> days = pl.DataFrame({"x": [1.0, 1.0, 2.0], "y": [1.0, 3.0, 5.0], "asset": ["a", "a", "b"]})
    >>> plain = {"fit_intercept": False, "outputs": "coef"}
    >>> fit = rolling_regression("y", "x", window=1, **plain).over("asset")
    >>> days.select(fit.alias("fit")).unnest("fit")["coef_x"].to_list()
    [1.0, 3.0, 2.5]
    """
    features = [_expression(each) for each in x]
    names = [each.meta.output_name() for each in features]
    if not names:
        raise invalid("x", x, "at least one feature", "name it after y")
    extra = {_Y: y, _AT: at, _WEIGHT: sample_weight}
    others = [_expression(each).alias(name) for name, each in extra.items() if each is not None]

    def run(column: pl.Series) -> pl.Series:
        frame = column.struct.unnest()
        given = {name: frame[name] if name in frame.columns else None for name in extra}
        rows, times, weights = frame.select(names), given[_AT], given[_WEIGHT]
        result = rolling(rows, given[_Y], window, at=times, sample_weight=weights, **options)
        return pl.DataFrame(result.to_frame()).to_struct(column.name)

    whole = pl.struct(*features, *others)
    return whole.map_batches(run, return_dtype=_fields(names, options))


def _expression(column: str | pl.Expr) -> pl.Expr:
    return pl.col(column) if isinstance(column, str) else column


def _fields(names: list[str], options: dict[str, Any]) -> pl.Struct:
    """The fields of the result, which depend on the options alone."""
    frame = pl.DataFrame({name: [0.0] for name in names})
    result = rolling(frame, pl.Series([0.0]), 1, **options | {"min_rows": 1})
    return pl.Struct(dict(pl.DataFrame(result.to_frame()).schema))
