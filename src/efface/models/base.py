"""The base class of models and scalers: how rows enter, leave, and are saved."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from efface.errors import InvalidValue, NotFitted
from efface.inputs.ids import AnyId, Id, as_id, as_ids, as_owners, requested
from efface.inputs.parameters import choice
from efface.inputs.types import Matrix, Vector
from efface.live import snapshot as archive
from efface.live.arrivals import Arrivals
from efface.live.live_rows import LiveRows
from efface.live.policies import from_plain, to_plain
from efface.models.held import Held, held_rows

L = TypeVar("L", bound=LiveRows)
T = TypeVar("T")
Batch = tuple[Matrix, Vector, Vector | None]  # checked rows, responses and weights


class Keys(NamedTuple):
    """What identifies the rows of a batch, as given: one entry per row, or None."""

    ids: Iterable[AnyId] | None = None
    at: Any = None
    owners: Iterable[AnyId | None] | None = None
    until: Any = None


class NotFittedModel(NotFitted, NotFittedError):
    """The exception that scikit-learn expects from an estimator that is not fitted."""


class LiveEstimator(BaseEstimator, ABC, Generic[L]):
    """An estimator whose results are a function of its live rows."""

    _live: L | None = None
    _parameters: dict[str, Any]  # those of the last fit, which may differ from the attributes

    @abstractmethod
    def _start(self, width: int) -> L:
        """New, empty live rows for ``width`` features, under the current parameters."""

    # -- rows enter ------------------------------------------------------------------------------

    def _fit_batch(self, X: Any, batch: Batch, keys: Keys) -> Self:
        """Replace all live rows by those of a batch; X is the batch as given, with its names."""
        live = self._start(batch[0].shape[1])
        live.learn(checked_arrivals(live, batch, keys))
        self._name_features(X, reset=True)
        self._install(live)
        return self

    def _process_batch(
        self, process: Callable[[L, Arrivals], T], X: Any, batch: Batch, keys: Keys
    ) -> T:
        """Call ``process`` on the live rows and a batch; the first batch creates the live rows."""
        known = self._live
        if known is not None:
            self._name_features(X, reset=False)
        live = self._start(batch[0].shape[1]) if known is None else known
        result = process(live, checked_arrivals(live, batch, keys))
        if known is None:
            self._name_features(X, reset=True)
            self._install(live)
        return result

    def _learn_first(self, row: Vector, y: float, *keys: Any) -> None:
        """Learn the first row; ``keys`` are the further arguments of ``LiveRows.learn_one``."""
        live = self._start(row.size)
        live.learn_one(row, y, *keys)
        self._install(live)
        self.n_features_in_ = row.size

    def empty(self, width: int) -> Self:
        """A new estimator with the same parameters and no row, for ``width`` features.

        >>> from efface import OLS
        >>> OLS(window=3).empty(2).n_rows_
        0
        """
        estimator = type(self)(**self.get_params(deep=False))
        estimator._install(estimator._start(width))
        estimator.n_features_in_ = width
        return estimator

    # -- rows leave ------------------------------------------------------------------------------

    def forget(
        self,
        ids: AnyId | Iterable[AnyId] | None = None,
        *,
        owner: AnyId | None = None,
        owners: Iterable[AnyId] | None = None,
        missing: str = "raise",
    ) -> int:
        """Remove rows by id and by owner, all in one step, and return how many.

        Afterwards the state is a function of the remaining rows, to the last bit. An id or an owner
        without a live row is an error, before anything changes, unless ``missing`` is "ok".

        >>> from efface import OLS
        >>> model = OLS(fit_intercept=False).fit([[1.0], [1.0]], [2.0, 4.0], owners=["ann", "bob"])
        >>> model.forget(owner="ann")
        1
        >>> model.coef_
        array([4.])
        """
        if owner is None and owners is None and ids is not None and missing == "raise":
            return self._alive().forget(ids)
        lenient = choice("missing", missing, ("raise", "ok")) == "ok"
        return self._alive().forget(*requested(ids, owner, owners), lenient=lenient)

    def expire(self, now: Any) -> int:
        """Remove the rows that are too old or due at ``now``, and return their number.

        A row is too old if the window is a duration and the row is that old. It is due if it has an
        ``until`` and that time has come.
        """
        return self._alive().expire(now)

    def held(self, owner: AnyId) -> Held:
        """All that the model holds about an owner: the answer to an access request.

        >>> from efface import OLS
        >>> model = OLS().fit([[1.0], [2.0]], [2.0, 4.0], owners=["ann", "bob"])
        >>> model.held("bob").ids, model.held("bob").features
        ([1], {'x0': array([2.])})
        """
        return held_rows(self._alive(), as_id(owner, "owner"), self._feature_names())

    def __contains__(self, id: object) -> bool:
        """Whether a live row has this id.

        >>> from efface import OLS
        >>> model = OLS(window=2).fit([[1.0], [2.0], [3.0]], [2.0, 4.0, 6.0])
        >>> 0 in model, 2 in model
        (False, True)
        """
        return self._live is not None and as_id(id) in self._live.index

    def _feature_names(self) -> list[str]:
        """The names of the features: "x0", "x1", ... if they have none."""
        names = getattr(self, "feature_names_in_", range(self._alive().shape[0]))
        return [f"x{name}" if isinstance(name, int) else str(name) for name in names]

    @property
    def n_rows_(self) -> int:
        """The number of live rows."""
        return len(self._alive().index)

    @property
    def ids_(self) -> list[Id]:
        """The ids of the live rows, oldest first."""
        return self._alive().index.ids

    @property
    def owners_(self) -> list[Id]:
        """The owners of live rows, each once, in the order of their first live row."""
        live = self._alive()
        found = live.marks.owner_of_each(live.index.ids) or []
        return list(dict.fromkeys(owner for owner in found if owner is not None))

    # -- files and copies ------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the live rows and the parameters to a file that ``load`` reads.

        The model is rebuilt from its live rows, as ``load`` does it: the model and its loaded copy
        continue with the same bits.
        """
        self._alive().rebuild()
        archive.write(path, self._snapshot())

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copy: the content of the file that ``save`` writes."""
        state = dict(super().__getstate__())
        if state.pop("_live", None) is not None:
            self._alive().rebuild()
            state["snapshot"] = self._snapshot()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        snapshot = state.pop("snapshot", None)
        super().__setstate__(state)
        if snapshot is not None:
            self._live = type(self)(**self._parameters)._restored(snapshot)

    def _snapshot(self) -> archive.Snapshot:
        """The live rows and the parameters."""
        live, names = self._alive(), getattr(self, "feature_names_in_", None)
        rows = live.as_arrivals()
        return archive.Snapshot(
            model=type(self).__name__,
            parameters=plain_parameters(self._parameters),
            phase=live.phase,
            features=None if names is None else [str(name) for name in names],
            ids=list(rows.ids),
            times=rows.times,
            X=rows.X,
            y=rows.y,
            weights=None if (rows.weights == 1.0).all() else rows.weights,
            owners=None if rows.owners is None else list(rows.owners),
            until=rows.untils,
        )

    @classmethod
    def _from_snapshot(cls, snapshot: archive.Snapshot) -> Self:
        """A new estimator with the live rows of a snapshot."""
        estimator = cls(**given_parameters(snapshot.parameters))
        estimator._install(estimator._restored(snapshot))
        estimator.n_features_in_ = snapshot.X.shape[1]
        if snapshot.features is not None:
            estimator.feature_names_in_ = np.array(snapshot.features, dtype=object)
        return estimator

    def _restored(self, snapshot: archive.Snapshot) -> L:
        """The live rows of a snapshot, under the current parameters."""
        n, width = snapshot.X.shape
        live, s = self._start(width), snapshot
        marks = as_owners(s.owners, n), s.until
        ids = as_ids(s.ids, n)
        live.restore(Arrivals(s.X, s.y, ids, s.times, False, s.weighed, *marks), s.phase)
        return live

    # -- state -----------------------------------------------------------------------------------

    @property
    def live_rows(self) -> L:
        """The live rows, for code that plans a change before it is made."""
        return self._alive()

    def __sklearn_is_fitted__(self) -> bool:
        return self._live is not None

    def _alive(self) -> L:
        if self._live is None:
            raise self._not_fitted()
        return self._live

    def _not_fitted(self) -> NotFittedModel:
        name = type(self).__name__
        return NotFittedModel(f"'{name}' is not fitted: call 'fit' or 'learn_one' first.")

    def _install(self, live: L) -> None:
        if self._live is not None:
            self._live.wipe()
        self._live = live
        self._parameters = self.get_params(deep=False)

    def _name_features(self, X: Any, *, reset: bool) -> None:
        """Set or check ``n_features_in_`` and ``feature_names_in_``, as scikit-learn does."""
        try:
            validate_data(self, X, reset=reset, skip_check_array=True)
        except ValueError as error:
            raise InvalidValue(str(error)) from error


def checked_arrivals(live: LiveRows, batch: Batch, keys: Keys) -> Arrivals:
    """The rows of a checked batch with their ids, times, owners and ends, checked."""
    X, y, weights = batch
    ids, at, owners, until = keys
    return live.arrivals(X, y, ids, at, weights, owners=owners, until=until)


_DURATIONS = ("window", "halflife")  # parameters that may be durations


def plain_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as values that JSON can hold; without a half-life, if there is none.

    >>> plain_parameters({"window": 30, "halflife": None, "alpha": np.float64(0.5)})
    {'window': 30, 'alpha': 0.5}
    """
    found = {}
    for name, value in parameters.items():
        if name in _DURATIONS:
            value = to_plain(value)
        if name != "halflife" or value is not None:
            found[name] = value.item() if isinstance(value, np.generic) else value
    return found


def given_parameters(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters back."""
    return {
        name: from_plain(value) if name in _DURATIONS else value for name, value in plain.items()
    }
