"""What a fleet holds, as others see it: its file, the rows of a key, the rows of an owner."""

from __future__ import annotations

from typing import Any

import numpy as np

from efface.errors import DamagedFile
from efface.inputs.ids import Id
from efface.inputs.types import Ints
from efface.live.fleet_file import FleetSnapshot
from efface.live.keyed_models import KeyedModels
from efface.live.keyed_rows import KeyedRows
from efface.live.snapshot import Snapshot
from efface.models.base import given_parameters, plain_parameters
from efface.models.held import Held, readable_ends, readable_times
from efface.models.linear import MODELS
from efface.models.regression import Model


def known(names: list[Id | None]) -> list[Id]:
    """Names that are all there."""
    return [name for name in names if name is not None]


def fleet_snapshot(model: Model, rows: KeyedRows) -> FleetSnapshot:
    """The rows of all keys, and the parameters of their models."""
    return FleetSnapshot(type(model).__name__, _parameters(model), _features(model), rows)


def restored(snapshot: FleetSnapshot, source: str) -> tuple[Model, KeyedModels]:
    """A model with the parameters of a snapshot, and the rows of all keys."""
    try:
        model = MODELS[snapshot.model](**given_parameters(snapshot.parameters))
        held = KeyedModels(model._start(snapshot.rows.width))
    except (KeyError, TypeError, ValueError) as error:
        text = f"'{source}' is damaged: it describes no model ({error}); restore a backup."
        raise DamagedFile(text) from error
    held.rows = snapshot.rows
    model.n_features_in_ = snapshot.rows.width
    if snapshot.features is not None:
        model.feature_names_in_ = np.array(snapshot.features, dtype=object)
    return model, held


def key_snapshot(model: Model, held: KeyedModels, slots: Ints) -> Snapshot:
    """The rows of one key, as a model has them."""
    rows = held.rows.table.take(held.rows.places(slots))
    marks = held.marks(rows)
    return Snapshot(
        model=type(model).__name__,
        parameters=_parameters(model),
        phase=int(held.rows.phases(slots)[0]),
        features=_features(model),
        ids=known(held.rows.ids.decode(rows.ids)),
        times=rows.times,
        X=rows.X,
        y=rows.y,
        weights=None if (rows.weights == 1.0).all() else rows.weights,
        owners=marks[0],
        until=marks[1],
    )


def held_by_keys(model: Model, held: KeyedModels, owner: Id) -> Held:
    """All rows of an owner, key by key."""
    found, rows = held.rows_of(owner)
    names = _features(model)
    labels = [f"x{j}" for j in range(rows.X.shape[1])] if names is None else names
    return Held(
        owner=owner,
        ids=known(held.rows.ids.decode(rows.ids)),
        times=readable_times(rows.times),
        until=readable_ends(rows.untils),
        features={label: rows.X[:, j] for j, label in enumerate(labels)},
        responses=rows.y,
        weights=rows.weights,
        keys=known(held.rows.keys.decode(found)),
    )


def _parameters(model: Model) -> dict[str, Any]:
    return plain_parameters(model.get_params(deep=False))


def _features(model: Model) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]
