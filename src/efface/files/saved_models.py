"""``--from`` and ``--save``: a replay that goes on from a saved model, and the model at its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from efface.errors import InvalidValue
from efface.files.model_options import MODELS, flag
from efface.files.schema import Schema
from efface.files.window_options import WindowOptions, written
from efface.inputs.times import Times
from efface.live import snapshot as archive
from efface.models.linear import load
from efface.models.regression import Model
from efface.models.scaler import WindowScaler


@dataclass(frozen=True)
class SavedModel:
    """A model from a file, without the names of its features, and what a stream must know of it."""

    path: str
    model: Model
    features: list[str] | None
    times: Times | None
    next_id: int  # larger than all ids that are numbers
    phase: int  # of its policy

    @property
    def calendar(self) -> bool | None:
        """Whether its rows have calendar times rather than numbers; None without times."""
        return None if self.times is None else self.times.dtype.kind == "i"

    @property
    def newest(self) -> Any:
        """The newest time of its rows, as the rows of a table have it; None without times."""
        if self.times is None or not self.times.size:
            return None
        newest = self.times.max()
        return np.datetime64(int(newest), "ns") if self.calendar else float(newest)


def read_model(path: str) -> SavedModel:
    """The model in a file; a scaler is refused."""
    try:
        found, snapshot = load(path), archive.read(path)
    except OSError as error:
        text = f"'{path}' cannot be read: {error.strerror}; name a file that --save wrote."
        raise InvalidValue(text) from error
    if isinstance(found, WindowScaler):
        raise InvalidValue(f"'{path}' holds a WindowScaler: expected a model; name another --from.")
    if hasattr(found, "feature_names_in_"):
        del found.feature_names_in_  # batches are arrays; ``check_table`` compares the names
    last = max((id for id in snapshot.ids if isinstance(id, int)), default=-1)
    keys = snapshot.features, snapshot.times, last + 1, snapshot.phase
    return SavedModel(path, found, *keys)


def check_options(
    saved: SavedModel, name: str | None, window: WindowOptions, options: Mapping[str, Any]
) -> None:
    """Refuse options that contradict a saved model; those that agree with it may be repeated."""
    kind = type(saved.model).__name__
    if name is not None and MODELS.get(name) != kind:
        raise _contradiction(saved, "--model", name, f"it is a {kind}")
    policy, kept = window.chosen(), written(saved.model.window)
    if policy is not None and written(policy) != kept:
        given = {name: value for name, value in window._asdict().items() if value is not None}
        ((name, value),) = given.items()
        raise _contradiction(saved, f"--{name}", value, f"its policy is {kept}")
    parameters = saved.model.get_params(deep=False)
    for option, value in options.items():
        if value is not None and option not in parameters:
            raise _contradiction(saved, flag(option), value, f"a {kind} has no such parameter")
        if value is not None and parameters[option] != value:
            held = f"its {option} is {parameters[option]!r}"
            raise _contradiction(saved, flag(option), value, held)


def _contradiction(saved: SavedModel, option: str, value: object, held: str) -> InvalidValue:
    text = f"'{option}' is {value!r}, which contradicts the model in '{saved.path}': {held}"
    return InvalidValue(f"{text}; leave the option out.")


def check_table(saved: SavedModel, schema: Schema) -> None:
    """Refuse a table whose rows are not like those of a saved model."""
    if schema.group is not None:
        text = "'--group' makes one model per value, but '--from' goes on with a single one"
        raise InvalidValue(f"{text}: leave one of them out.")
    width = saved.model.n_features_in_
    if saved.features is not None and saved.features != schema.names:
        had, got = ", ".join(saved.features), ", ".join(schema.names)
        text = f"'{saved.path}' has the features {had}, but the table gives {got}"
        raise InvalidValue(f"{text}: name the same --features in the same order.")
    if width != len(schema.names):
        text = f"'{saved.path}' has {width} features, but the table gives {len(schema.names)}"
        raise InvalidValue(f"{text}: name the same --features in the same order.")
    if saved.model.n_rows_ and saved.calendar != schema.calendar:
        had, got = _KINDS[saved.calendar], _KINDS[schema.calendar]
        text = f"'{saved.path}' has rows with {had}, but the table gives {got}"
        raise InvalidValue(f"{text}: name a --time column of the same kind.")


_KINDS = {None: "no times", True: "calendar times", False: "times that are numbers"}


def check_target(path: str | None, *, grouped: bool, overwrite: bool) -> None:
    """Raise unless a model may be written to this path."""
    if path is None:
        return
    if grouped:
        text = "'--save' writes one model, but '--group' makes one per value"
        raise InvalidValue(f"{text}: leave one of them out.")
    target = Path(path)
    if not target.parent.is_dir():
        raise InvalidValue(f"'{target.parent}' is not a folder: name another --save.")
    if target.exists() and not overwrite:
        raise InvalidValue(f"'{path}' already exists: name another --save, or add --overwrite.")
    if target.exists():
        read_model(path)  # refuses to replace anything else


def write_model(path: str, model: Model, features: list[str]) -> None:
    """Save a model with the names of its features."""
    model.feature_names_in_ = np.array(features, dtype=object)
    try:
        model.save(path)
    except OSError as error:
        text = f"'{path}' cannot be written: {error.strerror}; name another --save."
        raise InvalidValue(text) from error
