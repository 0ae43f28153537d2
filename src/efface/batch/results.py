"""The results of ``rolling`` and ``replay``: arrays for arrays, columns of its kind for a frame."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np

from efface.errors import InvalidValue, invalid
from efface.inputs.frames import joined
from efface.inputs.roles import ColumnRoles
from efface.inputs.types import Vector
from efface.live.trace import Trace
from efface.models.coefficient_plots import COLOURS, axes, plot_path, tidy
from efface.models.intervals import Limits
from efface.models.summary_tables import SummaryTable


@dataclass(frozen=True, eq=False)
class BatchResult(ABC):
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

    def __repr__(self) -> str:
        return repr(self.summary())

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    @abstractmethod
    def summary(self) -> SummaryTable:
        """What the result contains, as a table for a terminal or a notebook."""


def _paths(names: Sequence[str], coef: Any, title: str, facts: dict[str, str]) -> SummaryTable:
    """How coefficients moved: the last one, the mean and the extremes of each feature."""
    lines = {}
    for name, path in zip(names, np.asarray(coef, dtype=float).T, strict=True):
        known = path[~np.isnan(path)]
        if known.size:
            lines[name] = known[-1], known.mean(), known.min(), known.max()
    return SummaryTable(title, facts, ("last", "mean", "min", "max"), lines)


def _feature_names(coef: Any) -> list[str]:
    """The columns of a frame of coefficients; "x0", "x1", ... for an array."""
    if isinstance(coef, np.ndarray):
        return [f"x{j}" for j in range(coef.shape[1])]
    names = coef.column_names if hasattr(coef, "column_names") else coef.columns
    return [str(name) for name in names]


def _chosen(features: Any, names: list[str]) -> list[int]:
    """The positions of the named features; the first six by default."""
    if features is None:
        return list(range(min(len(names), 6)))
    given = [features] if isinstance(features, str) else list(features)
    for name in given:
        if name not in names:
            raise invalid("features", name, f"some of {names}", "choose among them")
    return [names.index(name) for name in given]


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


@dataclass(frozen=True, eq=False, repr=False)
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

    def summary(self) -> SummaryTable:
        """How the coefficients moved.

        >>> from efface import rolling
        >>> X, y = [[1.0], [1.0], [2.0]], [1.0, 3.0, 5.0]
        >>> rolling(X, y, window=2, fit_intercept=False).summary()
        Rolling
          rows         3
          regressions  2
          singular     0
              last  mean  min  max
          x0   2.6   2.3    2  2.6
        """
        facts = {"rows": f"{len(_parts(self)[0][1]):,}"}
        if self.coef is None:
            return SummaryTable("Rolling", facts, (), {})
        found = ~np.isnan(np.asarray(self.coef, dtype=float)).any(axis=1)
        facts["regressions"] = f"{int(found.sum()):,}"
        if self.singular is not None:
            facts["singular"] = f"{int(np.asarray(self.singular).sum()):,}"
        return _paths(_feature_names(self.coef), self.coef, "Rolling", facts)

    def plot(self, features: Any = None, *, x: Any = None, ax: Any = None) -> Any:
        """Draw coefficients over the rows; with ``stats`` a band of 1.96 standard errors.

        ``features`` names some of them (default: the first six), ``x`` holds positions on the axis,
        such as dates. Returns the axes of matplotlib.
        """
        if self.coef is None:
            raise invalid("outputs", "without 'coef'", "coefficients", "call rolling with 'coef'")
        errors = None if self.stats is None else np.asarray(self.stats.bse, dtype=float)
        return _plot_coefficients(self.coef, errors, features, x, ax)


@dataclass(frozen=True, eq=False, repr=False)
class Replay(BatchResult):
    """A stream, row by row: entry t is the state that predicted row t, before row t was learned.

    ``coef`` is None without ``coef=True``, ``lower`` and ``upper`` without ``interval``. ``rank``
    (for models with a penalty) and the fields from ``leverage_new`` to ``condition`` are None
    without ``diagnostics=True``. ``deletion_cost`` is the exact change of the variance of
    predictions, for new rows like the live ones, h / (n (1 - h)) with the leverage h of the oldest
    row; NaN where the rank would fall, a penalty is positive or rows have weights, for which
    ``diagnose`` has both variance and bias. Phi is the Gram matrix of the live rows, centred if
    there is an intercept. Its eigenvalues, hence ``phi2`` and ``condition``, are computed for every
    m-th row, m = max(20 d, 500), and for the last; they are NaN for all others.
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
    deletion_cost: Any = None  # over sigma^2, if the oldest of those rows left

    def summary(self) -> SummaryTable:
        """What happened on the way: live rows, penalties, falls of the rank, costly deletions.

        >>> from efface import OLS, replay
        >>> replay(OLS(window=2), [[1.0], [2.0], [4.0]], [2.0, 4.0, 9.0]).summary()
        Replay
          rows       3
          live rows  0 to 2
          penalty    0 to 0
        """
        penalty, alive = np.asarray(self.penalty), np.asarray(self.n_rows)
        facts = {"rows": f"{len(alive):,}"}
        if len(alive):
            facts["live rows"] = f"{alive.min():,} to {alive.max():,}"
            facts["penalty"] = f"{penalty.min():.4g} to {penalty.max():.4g}"
        if self.frt is not None and len(alive):
            facts["rank falls"] = f"{int((np.diff(np.asarray(self.rank)) < 0).sum()):,}"
            facts["largest FRT"] = f"{np.nanmax(np.append(self.frt, 0.0)):.4g}"
            costs = np.asarray(self.deletion_cost)
            if not np.isnan(costs).all():
                facts["costliest deletion"] = f"{np.nanmax(costs):.4g} of the noise variance"
        if self.coef is None:
            return SummaryTable("Replay", facts, (), {})
        return _paths(_feature_names(self.coef), self.coef, "Replay", facts)

    def plot(self, features: Any = None, *, y: Any = None, x: Any = None, ax: Any = None) -> Any:
        """Draw the predictions with their intervals, or the coefficients of ``features``.

        ``y`` are the observed values, ``x`` positions on the axis, such as dates. Returns the axes
        of matplotlib.
        """
        if features is not None:
            if self.coef is None:
                raise invalid("features", features, "None without coef=True", "pass coef=True")
            return _plot_coefficients(self.coef, None, features, x, ax)
        prediction = np.asarray(self.prediction, dtype=float)
        places, ax = np.arange(len(prediction)) if x is None else x, axes(ax)
        if self.lower is not None:
            band = (np.asarray(each, dtype=float) for each in (self.lower, self.upper))
            low, high = (np.where(np.isfinite(each), each, np.nan) for each in band)
            ax.fill_between(places, low, high, color=COLOURS[0], alpha=0.2, label="interval")
        ax.plot(places, prediction, color=COLOURS[0], linewidth=1.2, label="prediction")
        if y is not None:
            ax.plot(
                places, np.asarray(y, dtype=float), ".", color="#39424f", ms=3, label="observed"
            )
        ax.legend(frameon=False)
        return tidy(ax)


def replay_result(
    trace: Trace, roles: ColumnRoles, limits: Limits, *, weighted: bool = True
) -> Replay:
    """What a replay traced, as columns of the kind of the frame that was passed."""
    values = trace._replace(prediction=limits.bound(trace.prediction))._asdict()
    del values["gauges"]
    cost = _deletion_costs(trace, weighted)
    result = Replay(**values, deletion_cost=cost, keys=roles.keys)
    return result if roles.features is None else roles.features.convert(result)


def _deletion_costs(trace: Trace, weighted: bool) -> Vector | None:
    """h / (n (1 - h)) of the oldest row, where least squares keeps its rank without it."""
    if trace.leverage_old is None:
        return None
    h, n = trace.leverage_old, trace.n_rows
    known = (trace.penalty == 0.0) & (n > 0) & (h < 1.0 - 1e-9) & (not weighted)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(known, h / (n * (1.0 - h)), np.nan))


def _plot_coefficients(coef: Any, errors: Any, features: Any, x: Any, ax: Any) -> Any:
    names, values = _feature_names(coef), np.asarray(coef, dtype=float)
    places, ax = np.arange(len(values)) if x is None else x, axes(ax)
    for k, j in enumerate(_chosen(features, names)):
        band = None if errors is None else errors[:, j]
        plot_path(ax, places, values[:, j], band, names[j], k)
    ax.axhline(0.0, color="#5b6675", linewidth=0.8)
    ax.set_ylabel("coefficient")
    ax.legend(frameon=False)
    return tidy(ax)
