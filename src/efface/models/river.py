"""The models for River: rows are dicts, features come and go.

A feature that a row does not name is 0 in it, as everywhere in River. A feature is known as long as
a live row names it: with the last such row even its name is forgotten.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray
from river import base

from efface.errors import UnknownId
from efface.inputs.arrays import as_matrix, as_response, as_row, as_vector, as_weight, as_weights
from efface.models.linear import OLS, AdaptiveRidge, Ridge
from efface.models.regression import Model

if TYPE_CHECKING:
    import pandas as pd

    from efface.inputs.ids import Id
    from efface.live.live_rows import LiveRows

Kind = frozenset[Hashable]  # the features that a row names


@final
class Regressor(base.MiniBatchRegressor):
    """A linear regression that forgets, one dict at a time.

    Parameters
    ----------
    model
        The regression, not fitted: ``OLS``, ``Ridge``, ``AdaptiveRidge`` or ``SwitchingRidge`` with
        its window. It is a template and stays as it is.

    Examples
    --------
    >>> from efface import OLS
    >>> model = Regressor(OLS(window=2, fit_intercept=False))
    >>> for t in range(3):
    ...     model.learn_one({"a": t + 1.0}, 2.0 * t)
    >>> model.ids
    [1, 2]
    >>> round(model.predict_one({"a": 1.0, "b": 5.0}), 6)
    1.230769

    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._live: LiveRows | None = None
        self._features: list[Hashable] = []
        self._rows: deque[tuple[Id, Kind]] = deque()  # that are alive, in order of arrival
        self._kinds: Counter[Kind] = Counter()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Model]]:
        yield {"model": OLS(window=30)}
        yield {"model": Ridge(window=30, alpha=1.0, fit_intercept=False)}
        yield {"model": AdaptiveRidge(window=30)}

    # -- one event -------------------------------------------------------------------------------

    def learn_one(
        self,
        x: Mapping[Hashable, float],
        y: float,
        w: float = 1.0,
        *,
        id: Id | None = None,
        at: Any = None,
    ) -> None:
        """Learn one row, of weight ``w``; rows leave as the model's window asks."""
        names, response, weight = list(x), as_response(y), as_weight(w)
        row = as_row([x[name] for name in names], None) if names else np.zeros(0)
        features, live = self._wide_enough(names)
        name = live.index.next_id() if id is None else id
        wide = _spread(dict(zip(names, row, strict=True)), features)
        live.learn_one(wide, response, id, at, weight)
        self._install(features, live, [name], frozenset(names))

    def predict_one(self, x: Mapping[Hashable, float]) -> float:
        """What the live rows say of one more row; 0.0 if there are none."""
        if self._live is None:
            return 0.0
        return self._live.solver.predict(as_row(_spread(x, self._features), len(self._features)))

    # -- mini-batches ----------------------------------------------------------------------------

    def learn_many(
        self,
        X: pd.DataFrame,
        y: pd.Series,
        w: float | pd.Series = 1.0,
        *,
        ids: Iterable[Id] | None = None,
        at: Any = None,
    ) -> None:
        """Learn the rows of a frame, one by one; ``w`` are their weights, or that of all."""
        rows, names = as_matrix(X), list(X.columns)
        responses, weights = as_vector(y, len(rows)), as_weights(w, len(rows))
        features, live = self._wide_enough(names)
        new = live.arrivals(_arranged(rows, names, features), responses, ids, at, weights)
        live.learn(new)
        self._install(features, live, new.ids, frozenset(names))

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """What the live rows say of the rows of a frame."""
        import pandas as pd

        predictions = np.zeros(len(X))
        if self._live is not None:
            rows = _arranged(as_matrix(X), list(X.columns), self._features)
            predictions = rows @ self._live.solver.coef + self._live.solver.intercept
        return pd.Series(predictions, index=X.index)

    # -- rows leave ------------------------------------------------------------------------------

    def forget(self, ids: Id | Iterable[Id]) -> None:
        """Rows leave by id, and with them the features that no other row names."""
        self._alive().forget(ids)
        self._settle()

    def expire(self, now: Any) -> int:
        """Rows whose time is up at ``now`` leave; how many."""
        count = self._alive().expire(now)
        self._settle()
        return count

    def unlearn_one(self, x: Mapping[Hashable, float], y: float) -> None:
        """The oldest live row that is equal to this one leaves."""
        live = self._alive()
        X, responses, _ = live.values()
        same = (_spread(x, self._features) == X).all(axis=1) & (responses == as_response(y))
        if not same.any() or not set(self._features).issuperset(x):
            raise UnknownId(
                f"'{dict(x)}' with the response {y!r} equals no live row: pass a row that is alive."
            )
        self.forget(live.index.ids[int(same.argmax())])

    # -- what was learned ------------------------------------------------------------------------

    @property
    def weights(self) -> dict[Hashable, float]:
        """One coefficient a feature that a live row names."""
        if self._live is None:
            return {}
        return dict(zip(self._features, self._live.solver.coef.tolist(), strict=True))

    @property
    def intercept(self) -> float:
        return 0.0 if self._live is None else self._live.solver.intercept

    @property
    def ids(self) -> list[Id]:
        """The ids of the live rows, oldest first."""
        return [] if self._live is None else self._live.index.ids

    # -- within ----------------------------------------------------------------------------------

    def _alive(self) -> LiveRows:
        return self.model._start(0) if self._live is None else self._live

    def _wide_enough(self, names: Iterable[Hashable]) -> tuple[list[Hashable], LiveRows]:
        """Features and live rows with these columns too; ours are untouched."""
        if self._live is not None and set(self._features).issuperset(names):
            return self._features, self._live
        features = sorted({*self._features, *names}, key=str)
        return features, self._reshaped(features)

    def _reshaped(self, features: list[Hashable]) -> LiveRows:
        """The same rows with other columns."""
        live, old = self.model._start(len(features)), self._live
        if old is not None:
            X, y, weights = old.values()
            wide = _arranged(X, self._features, features)
            live.restore(wide, y, old.index.ids, old.index.times, old.phase, weights)
        return live

    def _install(
        self, features: list[Hashable], live: LiveRows, ids: Iterable[Id], kind: Kind
    ) -> None:
        """Take over rows of this kind that were just learned."""
        if self._live is not None and live is not self._live:
            self._live.wipe()
        self._features, self._live = features, live
        before = len(self._rows)
        self._rows.extend((id, kind) for id in ids)
        self._kinds[kind] += len(self._rows) - before
        self._settle()

    def _settle(self) -> None:
        """Forget the features that only rows that left have named."""
        live, kinds = self._alive(), len(self._kinds)
        while self._rows and self._rows[0][0] not in live.index:
            self._kinds[self._rows.popleft()[1]] -= 1
        if len(self._rows) != len(live.index):  # some left from the middle
            self._rows = deque(row for row in self._rows if row[0] in live.index)
            self._kinds = Counter(kind for _, kind in self._rows)
        if not all(self._kinds.values()):
            self._kinds = +self._kinds
        if len(self._kinds) < kinds:
            features = sorted(set().union(*self._kinds), key=str)
            if features != self._features:
                live = self._reshaped(features)
                self._alive().wipe()
                self._features, self._live = features, live


def _spread(x: Mapping[Hashable, float], features: list[Hashable]) -> NDArray[np.float64]:
    return np.fromiter((x.get(name, 0.0) for name in features), np.float64, len(features))


def _arranged(
    X: NDArray[np.float64], names: list[Hashable], features: list[Hashable]
) -> NDArray[np.float64]:
    """Rows with columns ``names`` as rows with columns ``features``: others are 0."""
    places = {name: j for j, name in enumerate(names)}
    arranged = np.zeros((len(X), len(features)))
    for j, name in enumerate(features):
        if name in places:
            arranged[:, j] = X[:, places[name]]
    return arranged
