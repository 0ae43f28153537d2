"""A regression that forgets, from outside: rows in, one by one or as arrays, and answers out.

What models have in common is here; ``models`` has the four that there are.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from math import isfinite
from typing import Any, Self, TypeVar

import numpy as np
from numpy import ndarray
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.blas import dasum
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d

from efface.errors import InvalidValue, unusable
from efface.inputs.arrays import (
    as_matrix,
    as_response,
    as_row,
    as_vector,
    as_weight,
    as_weights,
    refuse_no_row,
)
from efface.inputs.frames import FrameColumns, eager, values
from efface.inputs.parameters import choice, truth
from efface.live.index import Id
from efface.live.live_rows import Arrivals, LiveRows
from efface.live.memory import Penalty
from efface.live.policies import as_policy
from efface.models.base import LiveEstimator
from efface.models.intervals import Interval, MethodName, as_method

_FLOAT64 = np.dtype(np.float64)
T = TypeVar("T")


class Model(RegressorMixin, LiveEstimator[LiveRows]):
    """A linear regression on the rows that are alive.

    ``window`` says when rows leave by themselves: a number of rows, a duration ("90d", a timedelta;
    rows then need a time, ``at``), a policy, or None for never. A row is called by an ``id``, an
    int or a str; those not given are numbered on from the largest live int. Rows with times lie in
    the order of their times, however they arrive. A row counts as often as its weight says; one of
    weight 0 is alive and says nothing (docs/weights.md).

    With ``standardize`` the regression is on features less the mean of the live rows, over their
    standard deviation, at every step: as with a WindowScaler of the same window in front.
    ``penalty_`` and ``rank_`` are those of the standardised features, ``coef_`` and ``intercept_``
    those of the features as they are. A feature without spread has the coefficient 0.

    Parameters take effect when the first row comes, or at ``fit``; changing them later changes
    nothing until the next ``fit``. What is refused is refused before anything changed. One thread
    at a time.
    """

    fit_intercept: bool
    standardize: bool

    @abstractmethod
    def _penalty(self) -> Penalty:
        """How the penalty follows from the live rows, by the parameters, checked."""

    # -- one event -------------------------------------------------------------------------------

    def learn_one(
        self, x: ArrayLike, y: float, id: Id | None = None, at: Any = None, weight: float = 1.0
    ) -> None:
        """Learn one row; rows leave as the window asks.

        >>> from efface import OLS
        >>> model = OLS(window=2, fit_intercept=False)
        >>> for t in range(3):
        ...     model.learn_one([t + 1.0], 2.0 * t)
        >>> model.ids_
        [1, 2]
        """
        live = self._live
        if type(weight) is not float or weight != 1.0:
            weight = as_weight(weight)
        if live is None:
            self._learn_first(x, y, id, at, weight)
            return
        if not (
            type(x) is ndarray
            and x.dtype is _FLOAT64
            and x.shape == live.shape
            and x.flags.c_contiguous
            and isinstance(y, float)  # type: ignore[redundant-expr]
            and isfinite(dasum(x) + y)
        ):
            x, y = as_row(x, live.shape[0]), as_response(y)
        live.learn_one(x, y, id, at, weight)

    def _learn_first(self, x: ArrayLike, y: float, id: Id | None, at: Any, weight: float) -> None:
        row, response = as_row(x, None), as_response(y)
        live = self._start(row.size)
        live.learn_one(row, response, id, at, weight)
        self._install(live)
        self.n_features_in_ = row.size

    def predict_one(self, x: ArrayLike) -> float:
        """What the live rows say of one more row; 0.0 if none is left."""
        live = self._live
        if live is None:
            raise self._not_fitted()
        if not (
            type(x) is ndarray
            and x.dtype is _FLOAT64
            and x.shape == live.shape
            and x.flags.c_contiguous
        ):
            x = as_row(x, live.shape[0])
        prediction = live.memory.predict(x)
        if not isfinite(prediction):
            as_row(x, live.shape[0])  # refuses what is not finite; else the sum itself overflowed
        return prediction

    # -- arrays ----------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        ids: Iterable[Id] | None = None,
        at: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Forget everything, then learn the rows of X: those that are alive at their end.

        >>> from efface import OLS
        >>> OLS(fit_intercept=False).fit([[1.0], [2.0]], [2.0, 4.0]).coef_
        array([2.])
        """
        X = eager(X)
        rows, responses = self._checked(X, y)
        weights = as_weights(sample_weight, len(rows))
        refuse_no_row(rows)
        if weights is not None and not weights.any():
            advice = "fit rows that say something"
            text = unusable("sample_weight", "zero at every row", "some weight above 0", advice)
            raise InvalidValue(text)
        live = self._start(rows.shape[1])
        live.learn(live.arrivals(rows, responses, ids, at, weights))
        self._name_features(X, reset=True)
        self._install(live)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        ids: Iterable[Id] | None = None,
        at: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn the rows of X as if by ``learn_one``, one after the other."""
        self._feed(LiveRows.learn, X, y, ids, at, sample_weight)
        return self

    def predict(self, X: Any) -> Any:
        """What the live rows say of others: an array, unless ``set_output`` says otherwise."""
        live, X = self._alive(), eager(X)
        rows = as_matrix(X)
        self._name_features(X, reset=False)
        prediction = np.asarray(rows @ live.memory.coef + live.memory.intercept)
        table = FrameColumns.of(X) if self._output_kind() == "native" else None
        return prediction if table is None else table.series("prediction", prediction)

    def set_output(self, *, predict: str | None = None) -> Self:
        """Let ``predict`` return a column of its input's kind: "native", or "default", an array.

        An array is the default since what scikit-learn builds around a model, such as
        TransformedTargetRegressor, reshapes predictions. ``clone`` keeps the choice.

        >>> import pandas as pd
        >>> from efface import OLS
        >>> frame = pd.DataFrame({"a": [1.0, 2.0]}, index=["mon", "tue"])
        >>> model = OLS(fit_intercept=False).set_output(predict="native")
        >>> model.fit(frame, [2.0, 4.0]).predict(frame)
        mon    2.0
        tue    4.0
        Name: prediction, dtype: float64
        """
        if predict is not None:
            kind = choice("predict", predict, ("default", "native"))
            self._sklearn_output_config = {**self._output_config(), "predict": kind}
        return self

    def _output_config(self) -> dict[str, str]:
        """Under the name by which ``sklearn.base.clone`` looks for it."""
        return getattr(self, "_sklearn_output_config", {})

    def _output_kind(self) -> str:
        return self._output_config().get("predict", "default")

    def predict_interval(
        self, X: Any, level: float = 0.95, method: MethodName = "gaussian"
    ) -> Interval:
        """(prediction, lower, upper): where the responses of rows lie that come next.

        ``intervals`` says what each method assumes. Where the live rows are too few the interval is
        infinite, and its ``reason`` says why. It is a function of the live rows alone. For a frame
        the three are columns of its kind.

        >>> from efface import OLS
        >>> model = OLS().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 4.0])
        >>> prediction, lower, upper = model.predict_interval([[4.0]], level=0.9)
        >>> prediction.round(2), lower.round(2), upper.round(2)
        (array([5.]), array([3.21]), array([6.79]))
        >>> OLS().fit([[0.0]], [1.0]).predict_interval([[4.0]]).upper
        array([inf])
        """
        way = as_method(level, method)
        live, X = self._alive(), eager(X)
        rows, table = as_matrix(X), FrameColumns.of(X)
        self._name_features(X, reset=False)
        found = way.around(live, rows)
        return found if table is None else found.of_kind(table)

    def _feed(
        self,
        way: Callable[[LiveRows, Arrivals], T],
        X: Any,
        y: Any,
        ids: Any,
        at: Any,
        sample_weight: Any,
    ) -> T:
        """Hand checked rows to the live ones, which may be none yet."""
        X = eager(X)
        rows, responses = self._checked(X, y)
        weights = as_weights(sample_weight, len(rows))
        known = self._live
        if known is not None:
            self._name_features(X, reset=False)
        live = self._start(rows.shape[1]) if known is None else known
        result = way(live, live.arrivals(rows, responses, ids, at, weights))
        if known is None:
            self._name_features(X, reset=True)
            self._install(live)
        return result

    # -- what was learned ------------------------------------------------------------------------

    @property
    def coef_(self) -> NDArray[np.float64]:
        """One coefficient a feature."""
        return self._alive().memory.coef

    @property
    def intercept_(self) -> float:
        """The prediction where all features are zero."""
        return self._alive().memory.intercept

    @property
    def penalty_(self) -> float:
        """The penalty on the squared norm of the coefficients."""
        return self._alive().memory.penalty_value

    @property
    def rank_(self) -> int:
        """The rank of the live rows; with an intercept, of their deviations from the mean."""
        return self._alive().memory.rank

    # -- within ----------------------------------------------------------------------------------

    def _start(self, width: int) -> LiveRows:
        """No rows yet, under the parameters as they are now."""
        intercept = truth("fit_intercept", self.fit_intercept)
        policy, penalty = as_policy(self.window), self._penalty()
        standardize = truth("standardize", self.standardize)
        return LiveRows(width, penalty, intercept=intercept, policy=policy, standardize=standardize)

    def _checked(self, X: Any, y: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        rows = as_matrix(X)
        if y is None:
            advice = "pass one response a row"
            text = "requires y to be passed, but the target y is None"
            raise InvalidValue(
                unusable("y", None, f"numbers, since {type(self).__name__} {text}", advice)
            )
        return rows, as_vector(column_or_1d(values(eager(y)), warn=True), len(rows))
