"""The models with River's interface: rows are dicts, and the set of features may change.

A feature that a row does not name is 0 in that row, as everywhere in River. The model keeps a
feature as long as a live row names it; when the last such row leaves, its name is removed too.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, final

import numpy as np
from river import base

from efface.errors import UnknownId
from efface.inputs.arrays import (
    as_matrix,
    as_response,
    as_row,
    as_vector,
    as_weight,
    as_weights,
    refuse_heavy,
)
from efface.inputs.ids import AnyId, Id, as_id, requested
from efface.inputs.parameters import choice
from efface.inputs.types import Matrix, Vector
from efface.models.held import Held, held_rows
from efface.models.linear import OLS, AdaptiveRidge, AutoRidge, Ridge
from efface.models.regression import Model

if TYPE_CHECKING:
    import pandas as pd

    from efface.live.live_rows import LiveRows

Names = frozenset[Hashable]  # the features that a row names


@final
class Regressor(base.MiniBatchRegressor):
    """A linear regression on the live rows, for rows that are dicts.

    Parameters
    ----------
    model
        An ``AutoRidge`` or another linear model that is not fitted, with its window. It is a
        template and is not changed.

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
        self._rows: deque[tuple[Id, Names]] = deque()  # the live rows, in order of arrival
        self._counts: Counter[Names] = Counter()  # live rows by the features they name

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Model]]:
        yield {"model": OLS(window=30)}
        yield {"model": Ridge(window=30, alpha=1.0, fit_intercept=False)}
        yield {"model": AdaptiveRidge(window=30)}
        yield {"model": AutoRidge(window=30)}

    # -- single rows -----------------------------------------------------------------------------

    def learn_one(
        self,
        x: Mapping[Hashable, float],
        y: float,
        w: float = 1.0,
        *,
        id: AnyId | None = None,
        at: Any = None,
        owner: AnyId | None = None,
        until: Any = None,
    ) -> None:
        """Learn one row of weight ``w``; older rows leave according to the model's window."""
        names, response, weight = list(x), as_response(y), as_weight(w)
        row = _row(x, names)
        refuse_heavy(row[np.newaxis], np.array([response]), np.array([weight]), "weight")
        features, live = self._wide_enough(names)
        name = live.index.next_id() if id is None else as_id(id)
        wide = _with_columns(row[np.newaxis], names, features)[0]
        live.learn_one(wide, response, id, at, weight, owner, until)
        self._install(features, live, [name], frozenset(names))

    def predict_one(self, x: Mapping[Hashable, float]) -> float:
        """The prediction for one row; 0.0 if there is no live row."""
        row = _row(x, self._features)
        return 0.0 if self._live is None else self._live.solver.predict(row)

    # -- mini-batches ----------------------------------------------------------------------------

    def learn_many(
        self,
        X: pd.DataFrame,
        y: pd.Series,
        w: float | pd.Series = 1.0,
        *,
        ids: Iterable[AnyId] | None = None,
        at: Any = None,
        owners: Iterable[AnyId | None] | None = None,
        until: Any = None,
    ) -> None:
        """Learn the rows of a frame in turn; ``w`` holds their weights, or one weight for all."""
        rows, names = as_matrix(X), list(X.columns)
        responses, weights = as_vector(y, len(rows)), as_weights(w, len(rows))
        if weights is not None:
            refuse_heavy(rows, responses, weights)
        features, live = self._wide_enough(names)
        wide = _with_columns(rows, names, features)
        new = live.arrivals(wide, responses, ids, at, weights, owners=owners, until=until)
        live.learn(new)
        self._install(features, live, new.ids, frozenset(names))

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """The predictions for the rows of a frame."""
        import pandas as pd

        predictions = np.zeros(len(X))
        if self._live is not None:
            rows = _with_columns(as_matrix(X), list(X.columns), self._features)
            predictions = rows @ self._live.solver.coef + self._live.solver.intercept
        return pd.Series(predictions, index=X.index)

    # -- rows leave ------------------------------------------------------------------------------

    def forget(
        self,
        ids: AnyId | Iterable[AnyId] | None = None,
        *,
        owner: AnyId | None = None,
        owners: Iterable[AnyId] | None = None,
        missing: str = "raise",
    ) -> int:
        """Remove rows by id and by owner, and the features that no other row names.

        Returns the number of rows. An id or an owner without a live row is an error, unless
        ``missing`` is "ok".
        """
        lenient = choice("missing", missing, ("raise", "ok")) == "ok"
        count = self._alive().forget(*requested(ids, owner, owners), lenient=lenient)
        self._drop_unnamed()
        return count

    def expire(self, now: Any) -> int:
        """Remove the rows that are too old or due at ``now``, and return their number."""
        count = self._alive().expire(now)
        self._drop_unnamed()
        return count

    def held(self, owner: AnyId) -> Held:
        """All that the model holds about an owner; a feature that a row does not name is 0."""
        return held_rows(self._alive(), as_id(owner, "owner"), [str(x) for x in self._features])

    def unlearn_one(self, x: Mapping[Hashable, float], y: float) -> None:
        """Remove the oldest live row that equals this one."""
        live = self._alive()
        X, responses, _ = live.values()
        same = (_row(x, self._features) == X).all(axis=1) & (responses == as_response(y))
        if not same.any() or not set(self._features).issuperset(x):
            raise UnknownId(
                f"'{dict(x)}' with the response {y!r} equals no live row: pass a row that is alive."
            )
        self.forget(live.index.ids[int(same.argmax())])

    # -- fitted attributes -----------------------------------------------------------------------

    @property
    def weights(self) -> dict[Hashable, float]:
        """One coefficient per feature that a live row names."""
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

    # -- columns ---------------------------------------------------------------------------------

    def _alive(self) -> LiveRows:
        return self.model._start(0) if self._live is None else self._live

    def _wide_enough(self, names: Iterable[Hashable]) -> tuple[list[Hashable], LiveRows]:
        """Features and live rows that include these columns; copies if a column is new."""
        if self._live is not None and set(self._features).issuperset(names):
            return self._features, self._live
        features = sorted({*self._features, *names}, key=str)
        return features, self._reshaped(features)

    def _reshaped(self, features: list[Hashable]) -> LiveRows:
        """A copy of the live rows with these columns."""
        live, old = self.model._start(len(features)), self._live
        if old is not None:
            rows = old.as_arrivals()
            wide = _with_columns(rows.X, self._features, features)
            live.restore(replace(rows, X=wide), old.phase)
        return live

    def _install(
        self, features: list[Hashable], live: LiveRows, ids: Iterable[Id], names: Names
    ) -> None:
        """Keep live rows that have just learned the rows ``ids``, which name ``names``."""
        self._replace(features, live)
        before = len(self._rows)
        self._rows.extend((id, names) for id in ids)
        self._counts[names] += len(self._rows) - before
        self._drop_unnamed()

    def _replace(self, features: list[Hashable], live: LiveRows) -> None:
        if self._live is not None and live is not self._live:
            self._live.wipe()
        self._features, self._live = features, live

    def _drop_unnamed(self) -> None:
        """Remove the features that no live row names."""
        live, kinds = self._alive(), len(self._counts)
        while self._rows and self._rows[0][0] not in live.index:
            self._counts[self._rows.popleft()[1]] -= 1
        if len(self._rows) != len(live.index):  # rows other than the oldest have left
            latest = dict(self._rows)  # an id may have come again
            self._rows = deque(row for row in latest.items() if row[0] in live.index)
            self._counts = Counter(names for _, names in self._rows)
        if not all(self._counts.values()):
            self._counts = +self._counts
        if len(self._counts) < kinds:
            features = sorted(set().union(*self._counts), key=str)
            if features != self._features:
                self._replace(features, self._reshaped(features))


def _row(x: Mapping[Hashable, float], features: list[Hashable]) -> Vector:
    """The values of these features, checked; 0 for a feature that x does not name."""
    return as_row([x.get(name, 0.0) for name in features], None) if features else np.zeros(0)


def _with_columns(X: Matrix, names: list[Hashable], features: list[Hashable]) -> Matrix:
    """Rows with the columns ``names`` as rows with the columns ``features``; new ones are 0."""
    position = {name: j for j, name in enumerate(names)}
    out = np.zeros((len(X), len(features)))
    for j, name in enumerate(features):
        if name in position:
            out[:, j] = X[:, position[name]]
    return out
