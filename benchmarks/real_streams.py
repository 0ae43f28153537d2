"""Real streams from packages of the bench extra, in the order of their rows.

The list was fixed before any rule was tried on it. A series is predicted from its own past: its
``lags`` newest values. All other streams are predicted from the columns beside the response.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.workloads import Array

Rows = tuple[Array, Array]
MOST_ROWS = 3000


class RealStream(NamedTuple):
    """A name, the length of the window, and what reads the rows."""

    name: str
    window: int
    draw: Callable[[], Rows]


def real_streams() -> Iterator[RealStream]:
    """Thirty streams of statsmodels, River, vega_datasets and scikit-learn."""
    yield _series("sunspots", 11, 60, partial(_statsmodels, "sunspots", "SUNACTIVITY"))
    yield _series("sunspots, many lags", 40, 60, partial(_statsmodels, "sunspots", "SUNACTIVITY"))
    yield _series("CO2", 26, 104, partial(_statsmodels, "co2", "co2"))
    yield _series("CO2, differences", 52, 208, lambda: np.diff(_statsmodels("co2", "co2")))
    yield _series("El Nino", 12, 120, _elnino)
    yield _series("Nile", 5, 30, partial(_statsmodels, "nile", "volume"))
    yield _table("inflation", 40, partial(_macro, "infl"))
    yield _table("unemployment", 40, partial(_macro, "unemp"))
    yield _table("unemployment, short", 15, partial(_macro, "unemp"))
    yield _table("doctor visits", 250, partial(_columns, "randhie", "mdvis"))
    yield _table("doctor visits, short", 30, partial(_columns, "randhie", "mdvis"))
    yield _table("schools", 60, partial(_columns, "star98", "NABOVE"))
    yield _table("schools, short", 20, partial(_columns, "star98", "NABOVE"))
    yield _table("affairs", 100, partial(_columns, "fair", "affairs"))
    yield _table("credit cards", 20, partial(_columns, "ccard", "AVGEXP"))
    yield _table("investment", 40, partial(_columns, "grunfeld", "invest", ("firm", "year")))
    yield _table("elections", 50, partial(_columns, "anes96", "selfLR"))
    yield _table("approval", 60, _approval)
    yield _table("approval, short", 12, _approval)
    yield _series("water flow", 24, 168, partial(_river_responses, "WaterFlow"))
    yield _series("airline passengers", 12, 36, partial(_river_responses, "AirlinePassengers"))
    yield _table("chick weights", 60, _chicks)
    yield _table("image segments", 200, _segments)
    yield _series("Seattle temperatures", 48, 336, partial(_vega, "seattle_temps", "temp"))
    yield _series("San Francisco temperatures", 24, 72, partial(_vega, "sf_temps", "temp"))
    yield _table("Seattle weather", 90, _weather)
    yield _table("cars", 60, _cars)
    yield _table("cars, short", 12, _cars)
    yield _table("diabetes", 150, _diabetes)
    yield _table("diabetes, short", 20, _diabetes)


def _table(name: str, window: int, draw: Callable[[], Rows]) -> RealStream:
    return RealStream(name, window, partial(_first_rows, draw))


def _series(name: str, lags: int, window: int, read: Callable[[], Array]) -> RealStream:
    return RealStream(name, window, partial(_first_rows, partial(_lagged, read, lags)))


def _first_rows(draw: Callable[[], Rows]) -> Rows:
    """The first rows, without those that have gaps."""
    X, y = draw()
    known = np.isfinite(X).all(axis=1) & np.isfinite(y)
    return X[known][:MOST_ROWS], y[known][:MOST_ROWS]


def _lagged(read: Callable[[], Array], lags: int) -> Rows:
    values = np.asarray(read(), dtype=float)
    windows = np.lib.stride_tricks.sliding_window_view(values, lags + 1)
    return windows[:, :-1], windows[:, -1]


def _split(frame: Any, response: str, dropped: tuple[str, ...] = ()) -> Rows:
    features = frame.drop(columns=[response, *dropped])
    return features.to_numpy(dtype=float), frame[response].to_numpy(dtype=float)


# -- statsmodels ---------------------------------------------------------------------------------


def _frame(name: str) -> Any:
    import statsmodels.datasets

    return getattr(statsmodels.datasets, name).load_pandas().data


def _statsmodels(name: str, column: str) -> Array:
    values: Array = _frame(name)[column].dropna().to_numpy(dtype=float)
    return values


def _columns(name: str, response: str, dropped: tuple[str, ...] = ()) -> Rows:
    return _split(_frame(name), response, dropped)


def _elnino() -> Array:
    months: Array = _frame("elnino").drop(columns="YEAR").to_numpy(dtype=float).ravel()
    return months


def _macro(response: str) -> Rows:
    """The next quarter from all columns of this one."""
    frame = _frame("macrodata").drop(columns=["year", "quarter"])
    values = frame.to_numpy(dtype=float)
    return values[:-1], frame[response].to_numpy(dtype=float)[1:]


# -- River, vega_datasets and scikit-learn -------------------------------------------------------


def _river(name: str) -> list[tuple[dict[str, Any], Any]]:
    from river import datasets

    return list(getattr(datasets, name)())


def _river_responses(name: str) -> Array:
    return np.array([float(y) for _, y in _river(name)])


def _approval() -> Rows:
    rows = _river("TrumpApproval")
    return np.array([list(x.values()) for x, _ in rows]), np.array([y for _, y in rows])


def _chicks() -> Rows:
    """Weight by age, diet and the square of age, day by day."""
    rows = sorted(_river("ChickWeights"), key=lambda row: row[0]["time"])
    X = [
        [x["time"], x["time"] ** 2, *(float(x["diet"] == diet) for diet in (1, 2, 3))]
        for x, _ in rows
    ]
    return np.array(X, dtype=float), np.array([float(y) for _, y in rows])


def _segments() -> Rows:
    """The mean hue of a segment of an image from its other features."""
    rows = np.array([list(x.values()) for x, _ in _river("ImageSegments")], dtype=float)
    return rows[:, :-1], rows[:, -1]


def _vega(name: str, column: str) -> Array:
    from vega_datasets import local_data

    values: Array = getattr(local_data, name)()[column].to_numpy(dtype=float)
    return values


def _weather() -> Rows:
    """The next day's maximum from the weather of two days."""
    from vega_datasets import local_data

    names = ["precipitation", "temp_max", "temp_min", "wind"]
    values = local_data.seattle_weather()[names].to_numpy(dtype=float)
    return np.column_stack([values[:-2], values[1:-1]]), values[2:, 1]


def _cars() -> Rows:
    from vega_datasets import local_data

    frame = local_data.cars().select_dtypes("number")
    return _split(frame, "Miles_per_Gallon")


def _diabetes() -> Rows:
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=False)
    return np.asarray(data.data), np.asarray(data.target)
