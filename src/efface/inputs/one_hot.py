"""Categories of a frame as 0/1 columns: one per level after the first, which is the reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from efface.errors import invalid
from efface.inputs.frames import FrameColumns

Levels = dict[Any, list[Any] | None]  # None for those that occur in the column

MOST_LEVELS = 100


def requested_levels(one_hot: Any, features: Sequence[Any]) -> Levels:
    """The columns to encode, and their levels where these were given.

    >>> requested_levels({"sky": ["clear", "rain"]}, ["sky", "hum"]), requested_levels("a", ["a"])
    ({'sky': ['clear', 'rain']}, {'a': None})
    """
    named = one_hot if isinstance(one_hot, Mapping) else _names(one_hot)
    found = {name: None if levels is None else list(levels) for name, levels in named.items()}
    for name, levels in found.items():
        if name not in features:
            raise invalid("one_hot", name, "the name of a feature", "name it in x too")
        if levels is not None and len(set(levels)) < max(len(levels), 2):
            expected = "at least two different levels"
            raise invalid(f"one_hot[{name!r}]", levels, expected, "name each level once")
    return found


def _names(one_hot: Any) -> dict[Any, None]:
    several = isinstance(one_hot, Iterable) and not isinstance(one_hot, str | tuple)
    return dict.fromkeys(one_hot if several else [one_hot])


def encoded(columns: FrameColumns, levels: Levels) -> FrameColumns:
    """The columns, of which those in ``levels`` become 0/1 columns; a gap stays a gap in each.

    >>> import polars as pl
    >>> sky = FrameColumns.of(pl.DataFrame({"sky": ["rain", None, "clear"], "hum": [1, 2, 3]}))
    >>> encoded(sky, {"sky": None}).native.to_dict(as_series=False)
    {'sky=rain': [1.0, nan, 0.0], 'hum': [1, 2, 3]}
    """
    import narwhals.stable.v2 as nw

    parts: list[Any] = []
    for name in columns.names:
        column: Any = nw.from_native(columns.column(name), series_only=True)
        if name in levels:
            known = _sorted_levels(name, column) if levels[name] is None else levels[name] or []
            parts += _indicators(columns, name, column, known)
        else:
            parts.append(column.alias(name))
    return FrameColumns(nw.concat([each.to_frame() for each in parts], how="horizontal"))


def _indicators(columns: FrameColumns, name: Any, column: Any, known: list[Any]) -> list[Any]:
    """A 0/1 column for each level after the first."""
    import narwhals.stable.v2 as nw

    gaps, values = column.is_null().to_numpy(), column.to_numpy()
    unknown = ~gaps & ~np.isin(values.astype(object), np.array(known, dtype=object))
    if unknown.any():
        row = int(unknown.argmax())
        subject, advice = f"X at row {row}, column {name!r}", "add it to the levels of one_hot"
        raise invalid(subject, column[row], f"one of {known}", advice)
    found = {f"{name}={level}": np.where(gaps, np.nan, values == level) for level in known[1:]}
    series = [nw.from_native(columns.series(*each), series_only=True) for each in found.items()]
    return [each.alias(new) for each, new in zip(series, found, strict=True)]


def _sorted_levels(name: Any, column: Any) -> list[Any]:
    found = sorted(column.drop_nulls().unique().to_list())
    if not 2 <= len(found) <= MOST_LEVELS:
        expected = f"2 to {MOST_LEVELS} different values"
        subject, advice = f"one_hot[{name!r}]", "leave the column out of x"
        raise invalid(subject, f"{len(found)} different values", expected, advice)
    return found
