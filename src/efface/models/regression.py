"""The base class of the linear models: learn, predict, intervals, for single rows and arrays."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from math import isfinite, sqrt
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.blas import dasum
from sklearn.base import RegressorMixin
from sklearn.exceptions import DataConversionWarning

from efface.errors import invalid
from efface.inputs.arrays import (
    LARGEST,
    as_matrix,
    as_row,
    as_vector,
    as_weight,
    as_weighted_row,
    as_weights,
    is_row,
    refuse_heavy,
    refuse_no_row,
)
from efface.inputs.frames import FrameColumns, eager
from efface.inputs.ids import AnyId
from efface.inputs.parameters import boolean, choice
from efface.inputs.types import Matrix, Vector
from efface.live.arrivals import Arrivals
from efface.live.half_life import remembering
from efface.live.live_rows import LiveRows
from efface.live.penalties import Penalty
from efface.models.base import Batch, Keys, LiveEstimator, checked_arrivals
from efface.models.coefficient_errors import CoefficientErrors, coefficient_errors
from efface.models.coefficient_plots import plot_coefficients
from efface.models.intervals import Interval, MethodName, as_method
from efface.models.summary_tables import SummaryTable
from efface.models.units import ROWS, warn_of_uneven_features

T = TypeVar("T")


@dataclass(eq=False, repr=False)
class Model(RegressorMixin, LiveEstimator[LiveRows]):
    """A linear regression on the live rows.

    ``window`` decides when rows leave by themselves: a number of rows, a duration ("90d", a
    timedelta; every row then needs a time, ``at``), a policy, or None for never. Every row has an
    ``id``, an int, a str or a UUID; rows without one are numbered from the largest live int on.
    Rows with times are kept in order of time, whatever the order of arrival. A row of weight k
    counts k times; a row of weight 0 is alive but has no influence (docs/weights.md).

    With ``halflife``, a number of rows or a duration ("30d"), older rows count less, beside or
    instead of a window: a row has the weight 2^(-age / halflife), times its own. Its age is the
    number of live rows after it, or the newest live time minus its own. Rows leave after 53
    half-lives, if the window does not remove them earlier (docs/windows.md).

    A row may have an ``owner``, which many rows may share: ``forget(owner=...)`` removes all of
    their rows. A row may have an end of its own, ``until``: it is kept while now < ``until``, where
    now is the latest time of a live or an arriving row, or the argument of ``expire``.

    With ``standardize`` the regression is on standardised features: minus the mean of the live
    rows, divided by their standard deviation, at every step. This is what a WindowScaler of the
    same window in front of the model gives. ``penalty_`` and ``rank_`` refer to the standardised
    features, ``coef_`` and ``intercept_`` to the original ones. A constant feature has the
    coefficient 0.

    Parameters take effect at ``fit`` or with the first row; later changes wait for the next
    ``fit``. Invalid input is refused before any state changes. A model is not thread-safe.
    """

    window: Any = None
    _: KW_ONLY
    fit_intercept: bool = True  #: Does the regression have an intercept?
    standardize: bool = False  #: Is the regression on standardised features?
    halflife: Any = None  #: The age at which a row counts half. Without one, rows do not fade.

    short_name: ClassVar[str]  # the value of the option --model
    _shrinks_by_units: ClassVar[bool] = True  # do units decide how much a feature is shrunk?
    _units_seen = False  # are the first rows looked at? See ``units``
    #: Features are penalised after division by this power of their standard deviation.
    scale_power: ClassVar[float] = 0.0

    @abstractmethod
    def _penalty(self) -> Penalty:
        """The rule of the penalty, from the checked parameters."""

    # -- single rows -----------------------------------------------------------------------------

    def learn_one(
        self,
        x: ArrayLike,
        y: float,
        *,
        id: AnyId | None = None,
        at: Any = None,
        weight: float = 1.0,
        owner: AnyId | None = None,
        until: Any = None,
    ) -> None:
        """Learn one row; older rows leave according to the window.

        >>> from efface import OLS
        >>> model = OLS(window=2, fit_intercept=False)
        >>> for t in range(3):
        ...     model.learn_one([t + 1.0], 2.0 * t)
        >>> model.ids_
        [1, 2]
        """
        live, limit = self._live, LARGEST
        if type(weight) is not float or weight != 1.0:
            weight = as_weight(weight)
            limit = LARGEST / max(1.0, sqrt(weight))
        if live is None:
            row = as_weighted_row(x, y, None, weight)
            self._learn_first(*row, id, at, weight, owner, until)
            return
        if not (
            is_row(x, live.shape)
            and isinstance(y, float)  # type: ignore[redundant-expr]
            and abs(y) <= limit
            and dasum(x) <= limit
        ):
            x, y = as_weighted_row(x, y, live.shape[0], weight)
        live.learn_one(x, y, id, at, weight, owner, until)
        if not self._units_seen:
            self._look_at_units(live.solver.features, ROWS)

    def predict_one(self, x: ArrayLike | Mapping[str, float]) -> float:
        """The prediction for one row; 0.0 if there is no live row.

        The row may be a dict by feature name, if the model was fitted to a frame.

        >>> import pandas as pd
        >>> from efface import OLS
        >>> days = pd.DataFrame({"temp": [1.0, 2.0, 3.0], "hum": [0.0, 1.0, 0.0]})
        >>> model = OLS(fit_intercept=False).fit(days, [2.0, 5.0, 6.0])
        >>> round(model.predict_one({"hum": 1.0, "temp": 4.0}), 6)
        9.0
        """
        live = self._live
        if live is None:
            raise self._not_fitted()
        row = x if is_row(x, live.shape) else self._checked_row(x)
        prediction = live.solver.predict(row)
        if not isfinite(prediction):
            self._checked_row(row)  # refuses a row that is not finite; else the sum overflowed
        return prediction

    def _checked_row(self, x: ArrayLike | Mapping[str, float]) -> Vector:
        """One row of the features, or of a dict by their names."""
        return as_row(self._named_row(x) if isinstance(x, Mapping) else x, self._alive().shape[0])

    # -- arrays ----------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        ids: Iterable[AnyId] | None = None,
        at: Any = None,
        sample_weight: Any = None,
        owners: Iterable[AnyId | None] | None = None,
        until: Any = None,
    ) -> Self:
        """Remove all rows, then learn those of X; the window applies.

        >>> from efface import OLS
        >>> OLS(fit_intercept=False).fit([[1.0], [2.0]], [2.0, 4.0]).coef_
        array([2.])
        """
        X = eager(X)
        batch = self._batch(X, y, sample_weight)
        rows, _, weights = batch
        refuse_no_row(rows)
        if weights is not None and not weights.any():
            expected, advice = "some weight above 0", "fit at least one row that counts"
            raise invalid("sample_weight", "zero at every row", expected, advice)
        self._units_seen = False
        self._look_at_units(rows)
        return self._fit_batch(X, batch, Keys(ids, at, owners, until))

    def partial_fit(
        self,
        X: Any,
        y: Any,
        *,
        ids: Iterable[AnyId] | None = None,
        at: Any = None,
        sample_weight: Any = None,
        owners: Iterable[AnyId | None] | None = None,
        until: Any = None,
    ) -> Self:
        """Learn the rows of X, with the same result as ``learn_one`` on each in turn."""
        self._process(LiveRows.learn, X, y, sample_weight, Keys(ids, at, owners, until))
        return self

    def arrivals(self, X: Any, y: Any, sample_weight: Any, keys: Keys) -> Arrivals:
        """The checked rows of a batch, which ``live_rows.learn`` accepts; nothing changes."""
        live, batch = self._alive(), self._batch(X, y, sample_weight)
        if batch[0].shape[1:] != live.shape:
            expected = f"{live.shape[0]} columns"
            raise invalid("X", batch[0].shape, expected, "pass one column per feature")
        return checked_arrivals(live, batch, keys)

    def predict(self, X: Any) -> Any:
        """The predictions for the rows of X: an array, unless ``set_output`` changes that."""
        live, X = self._alive(), eager(X)
        rows = as_matrix(X)
        self._name_features(X, reset=False)
        prediction = np.asarray(rows @ live.solver.coef + live.solver.intercept)
        kind = self._output_config().get("predict", "default")
        frame = FrameColumns.of(X) if kind == "native" else None
        return prediction if frame is None else frame.series("prediction", prediction)

    def set_output(self, *, predict: str | None = None) -> Self:
        """Choose what ``predict`` returns: "native", a column of its input's kind, or "default".

        The default is an array, because scikit-learn's meta-estimators, such as
        TransformedTargetRegressor, reshape predictions. ``clone`` keeps the choice.

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
        """Stored under the name that ``sklearn.base.clone`` copies."""
        return getattr(self, "_sklearn_output_config", {})

    def predict_interval(
        self,
        X: Any,
        level: float = 0.95,
        method: MethodName = "gaussian",
        *,
        lower: float | None = None,
        upper: float | None = None,
    ) -> Interval:
        """Prediction intervals (prediction, lower, upper) for the responses of new rows.

        docs/intervals.md says what each method assumes. If there are too few live rows the interval
        is infinite, and its ``reason`` says why. It is a function of the live rows alone. For a
        frame the three are columns of its kind. Intervals end at ``lower`` and ``upper``, limits
        that no response can exceed, such as 0 for counts; the prediction is not limited.

        >>> from efface import OLS
        >>> model = OLS().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 4.0])
        >>> prediction, lower, upper = model.predict_interval([[4.0]], level=0.9)
        >>> prediction.round(2), lower.round(2), upper.round(2)
        (array([5.]), array([3.21]), array([6.79]))
        >>> OLS().fit([[0.0]], [1.0]).predict_interval([[4.0]]).upper
        array([inf])
        """
        chosen = as_method(level, method, lower, upper)
        live, X = self._alive(), eager(X)
        rows, frame = as_matrix(X), FrameColumns.of(X)
        self._name_features(X, reset=False)
        found = chosen.around(live, rows)
        return found if frame is None else found.as_columns(frame)

    def _process(
        self,
        process: Callable[[LiveRows, Arrivals], T],
        X: Any,
        y: Any,
        sample_weight: Any,
        keys: Keys,
    ) -> T:
        """Check a batch, then call ``process`` on the live rows and the batch."""
        X = eager(X)
        batch = self._batch(X, y, sample_weight)
        if not self._units_seen:
            self._look_at_units(batch[0])
        return self._process_batch(process, X, batch, keys)

    def _look_at_units(self, X: Matrix, least: int = 2) -> None:
        """Warn once of features whose units decide how much they are shrunk."""
        fixed = self.standardize or not self._shrinks_by_units
        if fixed or len(X) >= least:
            warned = not fixed and warn_of_uneven_features(type(self).__name__, X)
            self._units_seen = fixed or warned or len(X) >= ROWS

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("_units_seen", None)  # not a function of the live rows
        return state

    def _named_row(self, x: Mapping[str, Any]) -> list[Any]:
        """The values of a row in the order of the features."""
        if not hasattr(self, "feature_names_in_"):
            advice = "fit the model to a frame first, or pass numbers"
            raise invalid("x", "a dict", "a sequence, since the features have no names", advice)
        names = [str(name) for name in self.feature_names_in_]
        for name in {*names} ^ {*x}:
            advice = f"leave out {name!r}" if name in x else f"add {name!r}"
            raise invalid("x", f"a dict with {sorted(map(str, x))}", f"{names}", advice)
        return [x[name] for name in names]

    # -- for people ------------------------------------------------------------------------------

    def summary(self) -> SummaryTable:
        """The coefficients with their standard errors, as a table for a terminal or a notebook.

        >>> from efface import OLS
        >>> OLS(window=4).fit([[1.0], [2.0], [3.0], [4.0]], [2.0, 4.0, 6.0, 9.0]).summary()
        OLS(window=4)
          live rows  4
          penalty    0
          rank       1 of 1
                     coef  std err       t
          x0          2.3   0.1732   13.28
          intercept  -0.5   0.4743  -1.054
        """
        live, errors = self._alive(), self.standard_errors()
        coef, wide = [*self.coef_], [*errors.coef]
        names = self._feature_names()
        if live.intercept:
            names, coef, wide = [*names, "intercept"], [*coef, self.intercept_], [*wide, errors[1]]
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.divide(coef, wide)
        facts = {
            "live rows": f"{self.n_rows_:,}",
            "penalty": f"{self.penalty_:.4g}",
            "rank": f"{self.rank_} of {live.shape[0]}",
        }
        lines = {name: line for name, *line in zip(names, coef, wide, t, strict=True)}
        return SummaryTable(repr(self), facts, ("coef", "std err", "t"), lines)

    def plot(self, ax: Any = None) -> Any:
        """Draw the coefficients with 95% intervals; returns the axes of matplotlib."""
        errors = self.standard_errors().coef
        return plot_coefficients(self._feature_names(), self.coef_, errors, ax)

    def standard_errors(self) -> CoefficientErrors:
        """The standard errors of the coefficients and of the intercept, from the live rows.

        NaN where the rows do not determine the coefficients. With a penalty they are posterior
        standard deviations (``efface.models.coefficient_errors``).

        >>> from efface import OLS
        >>> model = OLS(fit_intercept=False).fit([[1.0], [1.0], [1.0]], [1.0, 2.0, 3.0])
        >>> model.standard_errors().coef.round(6)
        array([0.57735])
        """
        parameters = self._parameters
        whole = parameters["standardize"] or parameters.get("average", False)
        return coefficient_errors(self._alive(), power=1.0 if whole else self.scale_power)

    # -- fitted attributes -----------------------------------------------------------------------

    @property
    def coef_(self) -> Vector:
        """One coefficient per feature."""
        return self._alive().solver.coef

    @property
    def intercept_(self) -> float:
        """The prediction for a row of zeros."""
        return self._alive().solver.intercept

    @property
    def penalty_(self) -> float:
        """The penalty on the squared norm of the coefficients."""
        return self._alive().solver.penalty_value

    @property
    def rank_(self) -> int:
        """The exact rank of the live rows; with an intercept, of the centred rows."""
        return self._alive().solver.rank

    # -- checks ----------------------------------------------------------------------------------

    def _start(self, width: int) -> LiveRows:
        intercept = boolean("fit_intercept", self.fit_intercept)
        halflife, policy = remembering(self.window, self.halflife)
        penalty = self._penalty()
        return LiveRows(
            width,
            penalty,
            intercept=intercept,
            policy=policy,
            standardize=boolean("standardize", self.standardize),
            halflife=halflife,
        )

    def _batch(self, X: Any, y: Any, sample_weight: Any) -> Batch:
        rows = as_matrix(X)
        if y is None:  # scikit-learn's checks require the second half of this text
            text = "requires y to be passed, but the target y is None"
            expected = f"numbers, since {type(self).__name__} {text}"
            raise invalid("y", None, expected, "pass one response per row")
        responses = as_vector(eager(y), len(rows))
        if getattr(y, "ndim", 1) > 1:  # scikit-learn's checks require this text
            text = "A column-vector y was passed when a 1d array was expected: pass y.ravel()."
            warnings.warn(text, DataConversionWarning, stacklevel=2)
        weights = as_weights(sample_weight, len(rows))
        if weights is not None:
            refuse_heavy(rows, responses, weights)
        return rows, responses, weights
