"""What a model and a scaler have in common: they keep rows, and let them go."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from efface.errors import InvalidValue, NotFitted
from efface.live import snapshot as archive
from efface.live.index import Id
from efface.live.live_rows import LiveRows
from efface.live.policies import from_plain, to_plain

L = TypeVar("L", bound=LiveRows)


class NotFittedModel(NotFitted, NotFittedError):
    """What scikit-learn expects of an estimator that has not seen a row yet."""


class LiveEstimator(BaseEstimator, ABC, Generic[L]):
    """An estimator that is a function of the rows that are alive."""

    window: Any

    _live: L | None = None
    _parameters: dict[str, Any]  # those in force

    @abstractmethod
    def _start(self, width: int) -> L:
        """No rows yet, under the parameters as they are now."""

    # -- rows leave ------------------------------------------------------------------------------

    def forget(self, ids: Id | Iterable[Id]) -> None:
        """Rows leave by name: one id or many, naming one twice is naming it once.

        What remains is a function of the remaining rows, to the last bit.

        >>> from efface import OLS
        >>> model = OLS(fit_intercept=False).fit([[1.0], [1.0]], [2.0, 4.0], ids=["ann", "bob"])
        >>> model.forget("ann")
        >>> model.coef_
        array([4.])
        """
        self._alive().forget(ids)

    def expire(self, now: Any) -> int:
        """Rows whose time is up at ``now`` leave; returns how many. For windows with a duration."""
        return self._alive().expire(now)

    @property
    def n_rows_(self) -> int:
        """How many rows are alive."""
        return len(self._alive().ledger)

    @property
    def ids_(self) -> list[Id]:
        """The ids of the live rows, oldest first."""
        return self._alive().ledger.ids

    # -- files and copies ------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the live rows and what is needed to go on with them; ``archive`` has the format.

        The model itself is brought to the state that ``load`` gives, so both continue alike, bit
        for bit.
        """
        self._alive().rebuild()
        archive.write(path, self._snapshot())

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copy: like a file, the live rows and nothing of any other."""
        state = dict(super().__getstate__())
        if state.pop("_live", None) is not None:
            self._alive().rebuild()
            state["snapshot"] = self._snapshot()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        snapshot = state.pop("snapshot", None)
        super().__setstate__(state)
        if snapshot is not None:
            self._live = type(self)(**self._parameters)._revived(snapshot)

    def _snapshot(self) -> archive.Snapshot:
        """The live rows and what is needed to go on with them."""
        live = self._alive()
        (X, y), weights = live.memory.rows(), live.memory.weights
        names = getattr(self, "feature_names_in_", None)
        return archive.Snapshot(
            model=type(self).__name__,
            parameters={name: _plain(name, value) for name, value in self._parameters.items()},
            phase=live.phase,
            features=None if names is None else [str(name) for name in names],
            ids=live.ledger.ids,
            times=live.ledger.times,
            X=X,
            y=y,
            weights=None if (weights == 1.0).all() else weights,
        )

    @classmethod
    def _from_snapshot(cls, snapshot: archive.Snapshot) -> Self:
        """A fresh one that was given these live rows and has seen no other."""
        window = from_plain(snapshot.parameters["window"])
        keeper = cls(**{**snapshot.parameters, "window": window})
        keeper._install(keeper._revived(snapshot))
        keeper.n_features_in_ = snapshot.X.shape[1]
        if snapshot.features is not None:
            keeper.feature_names_in_ = np.array(snapshot.features, dtype=object)
        return keeper

    def _revived(self, snapshot: archive.Snapshot) -> L:
        """The live rows of a snapshot, under the parameters as they are now."""
        live = self._start(snapshot.X.shape[1])
        rows = snapshot.X, snapshot.y, snapshot.ids, snapshot.times
        live.restore(*rows, snapshot.phase, snapshot.weights)
        return live

    # -- within ----------------------------------------------------------------------------------

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


def _plain(name: str, value: Any) -> Any:
    """A parameter as JSON knows it."""
    if name == "window":
        return to_plain(value)
    return value.item() if isinstance(value, np.generic) else value
