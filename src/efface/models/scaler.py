"""Scaling that forgets: mean and spread of the live rows, and of no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from math import isfinite
from typing import Any, Self, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.blas import dasum
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from efface.errors import InvalidValue, unusable
from efface.inputs.arrays import Matrix, Vector, as_matrix, as_row, refuse_no_row
from efface.inputs.parameters import truth
from efface.live.index import Id
from efface.live.live_rows import Arrivals, LiveRows
from efface.live.policies import Policy, as_policy
from efface.live.spread import Spread
from efface.models.base import LiveEstimator, NotFittedModel

T = TypeVar("T")


@final
class ScaledRows(LiveRows):
    """Live rows of which only the spread is wanted."""

    memory: Any  # a Spread, which keeps rows just as a Memory does

    def __init__(self, width: int, policy: Policy, *, with_mean: bool, with_std: bool) -> None:
        self.with_mean = with_mean
        self.with_std = with_std
        fresh: Any = partial(Spread, width, shrinks=policy.shrinks)
        self._begin(fresh, width, True, policy)

    @property
    def spread(self) -> Spread:
        spread: Spread = self.memory
        return spread

    def scaled(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows scaled by the live ones; NaN if there are none."""
        if not self.spread.n_rows:
            return np.full_like(X, np.nan)
        X = X - self.spread.mean if self.with_mean else X.copy()
        return np.asarray(X / self.spread.scale if self.with_std else X)

    def unscaled(self, X: Matrix) -> Matrix:
        """The rows whose scaled ones these are."""
        X = X * self.spread.scale if self.with_std else X.copy()
        return X + self.spread.mean if self.with_mean else X

    def roll(self, new: Arrivals, joined: bool) -> Matrix:
        """Each row scaled by the live ones, then learned; ``joined``: learned, then scaled."""
        options = self.with_mean, self.with_std, joined
        scaled = self.walk(
            new, lambda plan: self.spread.scaled(new.X, plan.before, plan.after, options)
        )
        if scaled is None:
            scaled = np.array([self._roll_one(new.since(t), joined) for t in range(len(new))])
        return scaled

    def _roll_one(self, new: Arrivals, joined: bool) -> Vector:
        """The first of some rows, wherever its time belongs."""
        x, (name, time) = new.X[0], self._welcome(new)
        scaled = self.scaled(x)
        self.learn_one(x, 0.0, name, time)
        return self.scaled(x) if joined else scaled


@final
class WindowScaler(OneToOneFeatureMixin, TransformerMixin, LiveEstimator[ScaledRows]):
    """Features less the mean of the live rows, over their standard deviation.

    A StandardScaler in front of a model that forgets remembers what the model has forgotten. This
    one forgets too: ``window``, ids and times are those of the models, and mean and variance are
    functions of the live rows alone, to the last bit. A feature that is constant but for rounding
    is not divided, as in a StandardScaler; ``scale_`` is 1 there. A row costs O(features).

    >>> scaler = WindowScaler(window=2).fit([[1.0], [3.0], [7.0]])
    >>> scaler.mean_, scaler.scale_, scaler.transform_one([9.0])
    (array([5.]), array([2.]), array([2.]))
    >>> scaler.forget(1)
    >>> scaler.mean_
    array([7.])
    """

    def __init__(
        self, window: Any = None, *, with_mean: bool = True, with_std: bool = True
    ) -> None:
        self.window = window
        self.with_mean = with_mean
        self.with_std = with_std

    # -- rows come -------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, ids: Iterable[Id] | None = None, at: Any = None) -> Self:
        """Forget everything, then learn the rows of X: those that are alive at their end."""
        rows = as_matrix(X)
        refuse_no_row(rows)
        live = self._start(rows.shape[1])
        live.learn(live.arrivals(rows, np.zeros(len(rows)), ids, at))
        self._name_features(X, reset=True)
        self._install(live)
        return self

    def partial_fit(
        self, X: Any, y: Any = None, ids: Iterable[Id] | None = None, at: Any = None
    ) -> Self:
        """Learn the rows of X as if by ``learn_one``, one after the other; y is ignored."""
        self._feed(ScaledRows.learn, X, ids, at)
        return self

    def learn_one(self, x: ArrayLike, id: Id | None = None, at: Any = None) -> None:
        """Learn one row; rows leave as the window asks."""
        if self._live is not None:
            self._live.learn_one(_as_row(x, self._live.shape), 0.0, id, at)
            return
        row = as_row(x, None)
        live = self._start(row.size)
        live.learn_one(row, 0.0, id, at)
        self.n_features_in_ = row.size
        self._install(live)

    def _feed(self, way: Callable[[ScaledRows, Arrivals], T], X: Any, ids: Any, at: Any) -> T:
        """Hand checked rows to the live ones, which may be none yet."""
        rows, known = as_matrix(X), self._live
        if known is not None:
            self._name_features(X, reset=False)
        live = self._start(rows.shape[1]) if known is None else known
        result = way(live, live.arrivals(rows, np.zeros(len(rows)), ids, at))
        if known is None:
            self._name_features(X, reset=True)
            self._install(live)
        return result

    # -- rows are scaled -------------------------------------------------------------------------

    def transform(self, X: Any) -> Matrix:
        """The rows of X, scaled by the live rows; none of them is learned."""
        live, rows = self._some(), as_matrix(X)
        self._name_features(X, reset=False)
        return live.scaled(rows)

    def transform_one(self, x: ArrayLike) -> Vector:
        """One row, scaled by the live rows."""
        live = self._some()
        row = _as_row(x, live.shape)
        return live.spread.scaled_one(row, live.with_mean, live.with_std)

    def inverse_transform(self, X: Any) -> Matrix:
        """The rows whose scaled ones these are."""
        live, rows = self._some(), as_matrix(X)
        if rows.shape[1:] != live.shape:
            advice = "pass what 'transform' gives"
            raise InvalidValue(
                unusable("X", rows.shape, f"{live.shape[0]} features, one a column", advice)
            )
        return live.unscaled(rows)

    def rolling_transform(
        self, X: Any, ids: Iterable[Id] | None = None, at: Any = None, *, include: bool = False
    ) -> Matrix:
        """Every row scaled by the live rows before it, then learned, compiled.

        With ``include``, learned first, then scaled: the window ends at the row. A row that finds
        no live row is NaN. The scaler ends as if it had learned the rows one by one.

        >>> scaler = WindowScaler(window=2)
        >>> scaler.rolling_transform([[1.0], [3.0], [6.0], [0.0]]).ravel()
        array([nan,  2.,  4., -3.])
        >>> scaler.ids_
        [2, 3]
        """
        joined = truth("include", include)
        return self._feed(lambda live, new: live.roll(new, joined), X, ids, at)

    # -- what was learned ------------------------------------------------------------------------

    @property
    def mean_(self) -> Vector:
        """The mean of each feature; NaN if no row is alive."""
        return self._alive().spread.mean

    @property
    def var_(self) -> Vector:
        """The variance of each feature, that of a population; NaN if no row is alive."""
        return self._alive().spread.variance

    @property
    def scale_(self) -> Vector | None:
        """What each feature is divided by; None if it is not."""
        live = self._alive()
        return live.spread.scale if live.with_std else None

    # -- within ----------------------------------------------------------------------------------

    def _some(self) -> ScaledRows:
        """The live rows, of which there is at least one."""
        live = self._alive()
        if not len(live.ledger):
            raise NotFittedModel(
                "'WindowScaler' has no live row to scale by: learn one first, "
                "or use 'rolling_transform', which gives NaN."
            )
        return live

    def _start(self, width: int) -> ScaledRows:
        """No rows yet, under the parameters as they are now."""
        with_mean, with_std = (
            truth(name, getattr(self, name)) for name in ("with_mean", "with_std")
        )
        policy = as_policy(self.window)
        return ScaledRows(width, policy, with_mean=with_mean, with_std=with_std)


def _as_row(x: Any, shape: tuple[int]) -> Vector:
    """``as_row``, without the ado where it is one already."""
    if (
        type(x) is np.ndarray
        and x.dtype == np.float64
        and x.shape == shape
        and x.flags.c_contiguous
        and isfinite(dasum(x))
    ):
        return x
    return as_row(x, shape[0])
