"""``WindowScaler``: standardisation by the mean and the deviation of the live rows alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.blas import dasum
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from efface.errors import invalid
from efface.inputs.arrays import LARGEST, as_matrix, as_row, is_row, refuse_no_row
from efface.inputs.ids import AnyId
from efface.inputs.parameters import boolean
from efface.inputs.types import Matrix, Vector
from efface.live.arrivals import Arrivals
from efface.live.feature_moments import FeatureMoments
from efface.live.live_rows import LiveRows
from efface.live.policies import Policy, Schedule, as_policy
from efface.models.base import Batch, Keys, LiveEstimator, NotFittedModel
from efface.models.held import Held


@final
class ScaledRows(LiveRows):
    """Live rows that need a mean and a variance only, no regression."""

    solver: Any  # a FeatureMoments: it has the methods of a Solver that change rows

    def __init__(self, width: int, policy: Policy, *, with_mean: bool, with_std: bool) -> None:
        self.with_mean = with_mean
        self.with_std = with_std
        fresh: Any = partial(FeatureMoments, width, shrinks=policy.shrinks)
        self._begin(fresh, width, policy)
        self.moments: FeatureMoments = self.solver

    def scaled(self, X: Matrix) -> Matrix:
        """Rows scaled by the live rows; NaN if there is no live row."""
        if not self.moments.n_rows:
            return np.full_like(X, np.nan)
        X = X - self.moments.mean if self.with_mean else X.copy()
        return np.asarray(X / self.moments.scale if self.with_std else X)

    def unscaled(self, X: Matrix) -> Matrix:
        """The inverse of ``scaled``."""
        X = X * self.moments.scale if self.with_std else X.copy()
        return X + self.moments.mean if self.with_mean else X

    def roll(self, new: Arrivals, joined: bool) -> Matrix:
        """Scale each row by the live rows, then learn it; with ``joined`` learn it first."""
        return np.concatenate([self._roll_run(*run, joined) for run in self.runs(new)])

    def _roll_run(self, new: Arrivals, plan: Schedule | None, joined: bool) -> Matrix:
        """Scale and learn one of ``runs``."""
        if plan is not None:
            options = self.with_mean, self.with_std, joined
            scaled = self.moments.scaled(new.X, plan.before, plan.after, options)
            self.settle(new, plan)
            return scaled
        scaled = self.scaled(new.X)
        self.learn_single(new)
        return self.scaled(new.X) if joined else scaled


@final
@dataclass(eq=False, repr=False)
class WindowScaler(OneToOneFeatureMixin, TransformerMixin, LiveEstimator[ScaledRows]):
    """Features minus the mean of the live rows, divided by their standard deviation.

    A StandardScaler keeps traces of rows that the model behind it has forgotten. This scaler
    forgets too: ``window``, ids and times work as in the models, and mean and variance are
    functions of the live rows alone, to the last bit. As in a StandardScaler, a feature that is
    constant up to rounding is not divided: its ``scale_`` is 1. The cost per row is O(features).

    >>> scaler = WindowScaler(window=2).fit([[1.0], [3.0], [7.0]])
    >>> scaler.mean_, scaler.scale_, scaler.transform_one([9.0])
    (array([5.]), array([2.]), array([2.]))
    >>> scaler.forget(1)
    1
    >>> scaler.mean_
    array([7.])
    """

    window: Any = None
    _: KW_ONLY
    with_mean: bool = True
    with_std: bool = True

    # -- rows enter ------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        ids: Iterable[AnyId] | None = None,
        at: Any = None,
        owners: Iterable[AnyId | None] | None = None,
        until: Any = None,
    ) -> Self:
        """Remove all rows, then learn those of X; the window applies. y is ignored."""
        batch = _batch(X)
        refuse_no_row(batch[0])
        return self._fit_batch(X, batch, Keys(ids, at, owners, until))

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        ids: Iterable[AnyId] | None = None,
        at: Any = None,
        owners: Iterable[AnyId | None] | None = None,
        until: Any = None,
    ) -> Self:
        """Learn the rows of X, with the same result as ``learn_one`` on each. y is ignored."""
        self._process_batch(ScaledRows.learn, X, _batch(X), Keys(ids, at, owners, until))
        return self

    def learn_one(
        self,
        x: ArrayLike,
        *,
        id: AnyId | None = None,
        at: Any = None,
        owner: AnyId | None = None,
        until: Any = None,
    ) -> None:
        """Learn one row; older rows leave according to the window."""
        keys = id, at, 1.0, owner, until
        if self._live is None:
            self._learn_first(as_row(x, None), 0.0, *keys)
        else:
            self._live.learn_one(_as_row(x, self._live.shape), 0.0, *keys)

    # -- rows are scaled -------------------------------------------------------------------------

    def transform(self, X: Any) -> Matrix:
        """The rows of X, scaled by the live rows; they are not learned."""
        live, rows = self._not_empty(), as_matrix(X)
        self._name_features(X, reset=False)
        return live.scaled(rows)

    def transform_one(self, x: ArrayLike) -> Vector:
        """One row, scaled by the live rows."""
        live = self._not_empty()
        row = _as_row(x, live.shape)
        return live.moments.scaled_one(row, live.with_mean, live.with_std)

    def inverse_transform(self, X: Any) -> Matrix:
        """The original rows of scaled ones."""
        live, rows = self._not_empty(), as_matrix(X)
        if rows.shape[1:] != live.shape:
            expected, advice = f"{live.shape[0]} features, one per column", "pass scaled rows"
            raise invalid("X", rows.shape, expected, advice)
        return live.unscaled(rows)

    def rolling_transform(
        self,
        X: Any,
        *,
        ids: Iterable[AnyId] | None = None,
        at: Any = None,
        include: bool = False,
        owners: Iterable[AnyId | None] | None = None,
        until: Any = None,
    ) -> Matrix:
        """Scale every row by the live rows before it, then learn it, in compiled code.

        With ``include`` a row is learned first: its window ends at the row itself. The result is
        NaN where there is no live row. The scaler ends as if it had learned the rows one by one.

        >>> scaler = WindowScaler(window=2)
        >>> scaler.rolling_transform([[1.0], [3.0], [6.0], [0.0]]).ravel()
        array([nan,  2.,  4., -3.])
        >>> scaler.ids_
        [2, 3]
        """
        joined, keys = boolean("include", include), Keys(ids, at, owners, until)
        return self._process_batch(lambda live, new: live.roll(new, joined), X, _batch(X), keys)

    # -- fitted attributes -----------------------------------------------------------------------

    @property
    def mean_(self) -> Vector:
        """The mean of each feature; NaN if there is no live row."""
        return self._alive().moments.mean

    @property
    def var_(self) -> Vector:
        """The population variance of each feature; NaN if there is no live row."""
        return self._alive().moments.variance

    @property
    def scale_(self) -> Vector | None:
        """The divisor of each feature; None if ``with_std`` is False."""
        live = self._alive()
        return live.moments.scale if live.with_std else None

    def held(self, owner: AnyId) -> Held:
        """All that the scaler holds about an owner; it has no responses and no weights."""
        return replace(super().held(owner), responses=None, weights=None)

    # -- checks ----------------------------------------------------------------------------------

    def _not_empty(self) -> ScaledRows:
        """The live rows; raises if there is none."""
        live = self._alive()
        if not len(live.index):
            raise NotFittedModel(
                "'WindowScaler' has no live row to scale by: learn one first, "
                "or use 'rolling_transform', which gives NaN."
            )
        return live

    def _start(self, width: int) -> ScaledRows:
        with_mean = boolean("with_mean", self.with_mean)
        with_std = boolean("with_std", self.with_std)
        return ScaledRows(width, as_policy(self.window), with_mean=with_mean, with_std=with_std)


def _batch(X: Any) -> Batch:
    """Checked rows, with responses of 0: the live rows of a scaler have none."""
    rows = as_matrix(X)
    return rows, np.zeros(len(rows)), None


def _as_row(x: Any, shape: tuple[int]) -> Vector:
    """``as_row``, which is skipped if x needs no conversion."""
    return x if is_row(x, shape) and dasum(x) <= LARGEST else as_row(x, shape[0])
