"""``Fleet``: one model per key, a million of them in one process."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Self, final

import numpy as np
from sklearn.base import clone

from efface.batch.fleet_content import fleet_snapshot, held_by_keys, key_snapshot, known, restored
from efface.batch.results import Replay, replay_result
from efface.errors import UnknownKey, invalid
from efface.inputs.arrays import as_matrix
from efface.inputs.ids import AnyId, Id, as_id, id_column, requested
from efface.inputs.parameters import choice, whole
from efface.inputs.roles import ColumnRoles, column_roles
from efface.inputs.types import Ints, Matrix
from efface.live import fleet_file
from efface.live.fleet_file import FleetSnapshot
from efface.live.hash_table import ABSENT
from efface.live.keyed_arrivals import RowMarksGiven
from efface.live.keyed_models import KeyedModels, Plan, Wanted
from efface.live.range_replay import KeyFits
from efface.live.trace import Asked
from efface.models.held import Held
from efface.models.intervals import DEFAULT_METHOD, Interval, MethodName, as_limits, as_method
from efface.models.linear import MODELS
from efface.models.regression import Model


@final
class Fleet:
    """One model per key, all with the parameters of ``model``.

    A key is an int or a str. Its model has the rows that were learned under the key, and none
    beside them: ``window`` holds per key. A key without a live row does not exist once a call has
    ended. Ids are unique across all keys, so that ``forget`` needs no key; rows without an id are
    numbered on from the largest live int, in the order of a call. Times are of one kind for all
    keys.

    The rows of all keys lie in shared arrays, and nothing else is kept between calls. Every result
    is computed from the live rows, for all keys of a call at once, on ``threads`` threads (default:
    one per core). It equals that of a dict of models. Calls with many rows are fast; a model of
    its own is faster where a single key gets one row at a time.

    In each method ``keys`` has one key per row. If X is a frame, ``by`` names the column of the
    keys instead, other arguments may be column names, and ``x`` and ``one_hot`` name the features,
    as in ``efface.replay``.

    >>> from efface import Ridge
    >>> fleet = Fleet(Ridge(window=20, alpha=1.0))
    >>> fleet.learn(["a", "b", "a"], [[1.0], [2.0], [3.0]], [2.0, 4.0, 6.0], owners=["u", "v", "v"])
    >>> fleet.keys(), fleet.coef(["a"])
    (['a', 'b'], array([[1.33333333]]))
    >>> fleet.forget(owner="v")
    2
    >>> fleet.keys()
    ['a']
    """

    def __init__(self, model: Any, *, threads: int | None = None) -> None:
        if not isinstance(model, Model):
            names = ", ".join(MODELS)
            raise invalid("model", model, f"a model: one of {names}", "pass Fleet(Ridge())")
        self._model: Model = clone(model)
        self._model._start(1)  # checks its parameters
        if self._model.halflife is not None:
            advice = "give the models a window instead, or keep a dict of models"
            raise invalid("halflife", self._model.halflife, "None in a Fleet", advice)
        self._threads = (os.cpu_count() or 1) if threads is None else whole("threads", threads, 1)
        self._held: KeyedModels | None = None

    def __repr__(self) -> str:
        return f"Fleet({self._model!r})"

    # -- rows come -------------------------------------------------------------------------------

    def learn(self, keys: Any = None, X: Any = None, y: Any = None, **given: Any) -> None:
        """Learn rows, each under its key, as if one by one.

        ``ids``, ``at``, ``sample_weight``, ``owners``, ``until`` are as in ``partial_fit`` of the
        models.
        """
        self.apply(self.plan(keys, X, y, **given))

    def plan(
        self,
        keys: Any = None,
        X: Any = None,
        y: Any = None,
        *,
        by: Any = None,
        ids: Any = None,
        at: Any = None,
        sample_weight: Any = None,
        owners: Any = None,
        until: Any = None,
        x: Any = None,
        one_hot: Any = None,
    ) -> Plan:
        """Check rows and say what happens when they are learned; nothing changes yet.

        ``apply`` learns them. A plan is outdated once other rows have come or left.
        """
        given = {"ids": ids, "at": at, "owners": owners, "until": until}
        roles = _roles(keys, by, X, (x, one_hot), y=y, sample_weight=sample_weight, **given)
        return self._plan(roles, None)

    def apply(self, plan: Plan) -> None:
        """Learn the rows of a plan."""
        self._alive().apply(plan)

    def replay(
        self,
        keys: Any = None,
        X: Any = None,
        y: Any = None,
        *,
        by: Any = None,
        ids: Any = None,
        at: Any = None,
        coef: bool = False,
        diagnostics: bool = False,
        interval: float | None = None,
        method: MethodName = DEFAULT_METHOD,
        lower: float | None = None,
        upper: float | None = None,
        x: Any = None,
        sample_weight: Any = None,
        owners: Any = None,
        until: Any = None,
        one_hot: Any = None,
    ) -> Replay:
        """Predict each row by the model of its key, then learn it; see ``efface.replay``.

        With ``diagnostics``, phi2 and condition are computed for every m-th row of the call,
        whatever its key.

        >>> from efface import OLS
        >>> fleet = Fleet(OLS(window=2, fit_intercept=False))
        >>> fleet.replay([7, 8, 7], [[1.0], [1.0], [1.0]], [2.0, 4.0, 9.0]).prediction
        array([0., 0., 2.])
        """
        given = {"ids": ids, "at": at, "owners": owners, "until": until}
        roles = _roles(keys, by, X, (x, one_hot), y=y, sample_weight=sample_weight, **given)
        limits, about = as_limits(lower, upper), (interval, method, lower, upper)
        chosen = None if interval is None else as_method(*about, subject="interval")
        asked = Asked(bool(coef), bool(diagnostics), chosen is not None)
        plan = self._plan(roles, Wanted(asked, chosen, self._threads))
        assert plan.trace is not None
        self.apply(plan)
        return replay_result(plan.trace, roles, limits)

    def _plan(self, roles: ColumnRoles, wanted: Wanted | None) -> Plan:
        X = roles.X if roles.features is None else roles.features.native
        batch = self._model._batch(X, roles.one("y"), roles.one("sample_weight"))
        first = self._held is None
        self._model._name_features(X, reset=first)
        if self._held is None:
            self._held = KeyedModels(self._model._start(batch[0].shape[1]))
        held = self._held
        try:
            given = RowMarksGiven(*(roles.one(role) for role in RowMarksGiven._fields))
            return held.plan(held.arrivals(roles.one("keys"), batch, given), wanted)
        except Exception:
            if first:  # nothing was learned: the next rows decide the number of features
                self._held, self._model = None, clone(self._model)
            raise

    # -- rows leave ------------------------------------------------------------------------------

    def forget(
        self,
        ids: AnyId | Iterable[AnyId] | None = None,
        *,
        owner: AnyId | None = None,
        owners: Iterable[AnyId] | None = None,
        missing: str = "raise",
    ) -> int:
        """Remove rows by id and by owner, whatever their keys, in one step; return how many.

        An id or an owner without a live row is an error, before anything changes, unless
        ``missing`` is "ok".
        """
        lenient = choice("missing", missing, ("raise", "ok")) == "ok"
        return self._alive().forget(*requested(ids, owner, owners), lenient=lenient)

    def expire(self, now: Any) -> int:
        """Remove the rows of all keys that are too old or due at ``now``; return their number."""
        return self._alive().expire(now)

    def held(self, owner: AnyId) -> Held:
        """All that the fleet holds about an owner, key by key: the answer to an access request.

        >>> from efface import OLS
        >>> fleet = Fleet(OLS())
        >>> fleet.learn(["a", "b"], [[1.0], [2.0]], [2.0, 4.0], owners=["ann", "ann"])
        >>> fleet.held("ann").keys, fleet.held("ann").features
        (['a', 'b'], {'x0': array([1., 2.])})
        """
        return held_by_keys(self._model, self._alive(), as_id(owner, "owner"))

    # -- results ---------------------------------------------------------------------------------

    def predict(
        self,
        keys: Any = None,
        X: Any = None,
        *,
        by: Any = None,
        x: Any = None,
        one_hot: Any = None,
        missing: str = "raise",
    ) -> Any:
        """The prediction for each row of X by the model of its key.

        A key without live rows is an error, unless ``missing`` is "ok": then the prediction is 0.0,
        as for a model without rows. For a frame the predictions are a column of its kind.
        """
        roles, rows, slots = self._asked(keys, X, by, (x, one_hot), missing)
        known, inverse = np.unique(slots, return_inverse=True)
        fits = self._alive().fit(known, self._threads)
        prediction = np.einsum("ij,ij->i", rows, fits.coef[inverse]) + fits.intercept[inverse]
        frame = roles.features
        return prediction if frame is None else frame.series("prediction", prediction)

    def predict_interval(
        self,
        keys: Any = None,
        X: Any = None,
        level: float = 0.95,
        method: MethodName = DEFAULT_METHOD,
        *,
        lower: float | None = None,
        upper: float | None = None,
        by: Any = None,
        x: Any = None,
        one_hot: Any = None,
        missing: str = "raise",
    ) -> Interval:
        """Prediction intervals for new rows, each by the model of its key.

        See ``predict_interval`` of the models. If some key has too few live rows, its interval is
        infinite, and ``reason`` says so.
        """
        chosen = as_method(level, method, lower, upper)
        roles, rows, slots = self._asked(keys, X, by, (x, one_hot), missing)
        held = self._alive()
        prediction, half = held.intervals(slots, rows, chosen, self._threads)
        wide = np.flatnonzero(np.isinf(half))
        reason = None
        if wide.size:
            text = f"The live rows of {wide.size} keys or rows are too few, row {wide[0]} first"
            reason = f"{text}: predict_interval of fleet[key] says why."
        found = chosen.interval(prediction, half, reason)
        return found if roles.features is None else found.as_columns(roles.features)

    def fits(self, keys: Any = None) -> KeyFits:
        """Coefficients, intercept and penalty of each key; of all if no keys are given."""
        slots = self._alive().rows.slots() if keys is None else self._slots(keys)
        return self._alive().fit(slots, self._threads)

    def coef(self, keys: Any = None) -> Matrix:
        """The coefficients, one row per key; of all keys if none are given."""
        return self.fits(keys).coef

    def _asked(
        self, keys: Any, X: Any, by: Any, features: tuple[Any, Any], missing: str
    ) -> tuple[ColumnRoles, Matrix, Ints]:
        roles = _roles(keys, by, X, features, y=None)
        rows = as_matrix(roles.X)
        self._alive()
        self._model._name_features(
            X if roles.features is None else roles.features.native, reset=False
        )
        lenient = choice("missing", missing, ("raise", "ok")) == "ok"
        return roles, rows, self._slots(roles.one("keys"), len(rows), lenient=lenient)

    def _slots(self, keys: Any, count: int | None = None, *, lenient: bool = False) -> Ints:
        """The slots of keys, ABSENT for one without rows if ``lenient``."""
        held = self._alive().rows
        names = id_column(keys, len(keys) if count is None else count, "key")
        slots = held.slots_of(held.keys.find(names))
        absent = np.flatnonzero(slots == ABSENT)
        if absent.size and not lenient:
            text = "no live row has it; 'keys()' lists the keys of live rows"
            raise UnknownKey(f"'key' is {names[int(absent[0])]!r}: {text}.")
        return slots

    # -- keys ------------------------------------------------------------------------------------

    def keys(self) -> list[Id]:
        """The keys that have live rows: the numbers in their order, then the texts in theirs."""
        if self._held is None:
            return []
        held = self._held.rows
        return known(held.keys.decode(held.codes(held.slots())))

    def __len__(self) -> int:
        """The number of keys."""
        return 0 if self._held is None else len(self._held.rows)

    def __contains__(self, key: AnyId) -> bool:
        return len(self) > 0 and self._slots([key], lenient=True)[0] != ABSENT

    def __getitem__(self, key: AnyId) -> Model:
        """A model with the rows of one key; it is a copy, and the fleet does not follow it.

        >>> from efface import OLS
        >>> fleet = Fleet(OLS(fit_intercept=False))
        >>> fleet.learn(["a", "b"], [[1.0], [2.0]], [2.0, 4.0])
        >>> fleet["b"].ids_, fleet["b"].coef_
        ([1], array([2.]))
        """
        snapshot = key_snapshot(self._model, self._alive(), self._slots([key]))
        model: Model = type(self._model)._from_snapshot(snapshot)
        return model

    @property
    def n_rows_(self) -> int:
        """The number of live rows of all keys."""
        return 0 if self._held is None else self._held.rows.n_rows

    @property
    def ids_(self) -> list[Id]:
        """The ids of the live rows, key by key in the order of ``keys()``, each oldest first."""
        held = self._alive().rows
        return known(held.ids.decode(held.table.ids[held.places(held.slots())]))

    @property
    def owners_(self) -> list[Id]:
        """The owners of live rows, each once, in the order of ``ids_``."""
        held = self._alive().rows
        if held.table.owners is None:
            return []
        codes = held.table.owners[held.places(held.slots())]
        return [name for name in dict.fromkeys(held.owners.decode(codes)) if name is not None]

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return self._alive().rows.width

    def residues(self) -> list[str]:
        """The names of arrays that hold more than the live rows: none, if sound.

        Every array of the fleet is looked at. ``audit(fleet[key])`` compares the coefficients of a
        key with a refit.
        """
        return self._alive().residues()

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays that hold rows, keys and ids; texts are not counted."""
        return 0 if self._held is None else self._held.rows.nbytes

    @property
    def keyed_models(self) -> KeyedModels:
        """The rows of all keys, for code that plans a change before it is made."""
        return self._alive()

    def _alive(self) -> KeyedModels:
        if self._held is None:
            raise self._model._not_fitted()
        return self._held

    # -- files -----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the live rows and the parameters to a file that ``Fleet.load`` reads."""
        fleet_file.write(path, fleet_snapshot(self._model, self._alive().rows))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a fleet that ``save`` wrote; it continues with the same results."""
        return cls._from_snapshot(fleet_file.read(path), os.fspath(path))

    @classmethod
    def _from_snapshot(cls, snapshot: FleetSnapshot, source: str) -> Self:
        model, held = restored(snapshot, source)
        fleet = cls(model)
        fleet._model, fleet._held = model, held
        return fleet

    def __reduce__(self) -> Any:
        """For pickle and copy: the content of the file that ``save`` writes."""
        if self._held is None:
            return Fleet, (self._model,)
        snapshot = fleet_snapshot(self._model, self._held.rows)
        return _from_bytes, (b"".join(fleet_file.encode(snapshot)),)


def _from_bytes(content: bytes) -> Fleet:
    return Fleet._from_snapshot(fleet_file.decode(content, "pickle"), "pickle")


def _roles(keys: Any, by: Any, X: Any, features: tuple[Any, Any], **given: Any) -> ColumnRoles:
    """The columns of a call; the keys are ``keys``, or the column ``by``."""
    if (keys is None) == (by is None):
        advice = "pass one key per row, or by= with a frame"
        raise invalid("keys", keys, "keys or 'by', one of them", advice)
    return column_roles(X, *features, keys=keys if by is None else by, **given)
