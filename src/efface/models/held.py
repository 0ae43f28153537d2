"""``held``: what a model holds about a person, for the answer to an access request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from efface.inputs.ids import Id
from efface.inputs.parameters import choice
from efface.inputs.times import Times, never
from efface.inputs.types import Vector
from efface.live.live_rows import LiveRows

_BACKENDS = ("pandas", "polars", "pyarrow")


@final
@dataclass(frozen=True, eq=False)
class Held:
    """All that a model holds about an owner: one entry per live row, oldest first.

    ``times`` and ``until`` are numpy.datetime64 for calendar times, in UTC, and None if no live row
    has one. A row without an end has NaT or infinity as its ``until``. ``responses`` and
    ``weights`` are None for a scaler, which has none.
    """

    owner: Id
    ids: list[Id]
    times: NDArray[Any] | None
    until: NDArray[Any] | None
    features: dict[str, Vector]  # by name: "x0", "x1", ... if the features have no names
    responses: Vector | None
    weights: Vector | None
    keys: list[Id] | None = None  # of a fleet: the key of each row

    def __len__(self) -> int:
        return len(self.ids)

    def to_frame(self, backend: str = "pandas") -> Any:
        """One row per live row, as a frame of pandas, Polars or Arrow.

        A feature with the name of another column is called "feature " and its name.

        >>> from efface import OLS
        >>> model = OLS().fit([[1.0], [2.0]], [2.0, 4.0], owners=["ann", "bob"])
        >>> model.held("bob").to_frame()
           id  response  weight   x0
        0   1       4.0     1.0  2.0
        """
        import narwhals.stable.v2 as nw

        chosen = choice("backend", backend, _BACKENDS)
        return nw.from_dict(self._columns(), backend=chosen).to_native()  # type: ignore[arg-type]

    def to_columns(self) -> dict[str, list[Any]]:
        """The same columns as lists of plain values; times are texts of ISO 8601.

        >>> from efface import OLS
        >>> OLS().fit([[1.0]], [2.0], owners=["ann"]).held("ann").to_columns()
        {'id': [0], 'response': [2.0], 'weight': [1.0], 'x0': [1.0]}
        """
        return {name: _plain(values) for name, values in self._columns().items()}

    def _columns(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "key": None if self.keys is None else _column(self.keys),
            "id": _column(self.ids),
            "at": self.times,
            "until": self.until,
            "response": self.responses,
            "weight": self.weights,
        }
        columns = {name: values for name, values in found.items() if values is not None}
        for name, values in self.features.items():
            columns[f"feature {name}" if name in found else name] = values
        return columns


def _column(ids: list[Id]) -> list[Any]:
    """Ids of one type: texts if some are."""
    return [str(id) for id in ids] if any(isinstance(id, str) for id in ids) else list(ids)


def held_rows(live: LiveRows, owner: Id, names: list[str]) -> Held:
    """What live rows with the features ``names`` hold about an owner."""
    places = live.index.positions(live.marks.owners.ids_of(owner))
    mine, times = live.index.ids_at(places), live.index.times_at(places)
    X, y, weights = live.solver.values(places)
    return Held(
        owner=owner,
        ids=mine,
        times=readable_times(times),
        until=readable_ends(live.marks.until_of_each(mine)),
        features={name: X[:, j] for j, name in enumerate(names)},
        responses=y,
        weights=weights,
    )


def _plain(values: Any) -> list[Any]:
    if not isinstance(values, np.ndarray):
        return list(values)
    if values.dtype.kind != "M":
        return [None if value == float("inf") else value for value in values.tolist()]
    texts = np.datetime_as_string(values).tolist()
    return [None if text == "NaT" else text for text in texts]


def readable_ends(ends: Times | None) -> NDArray[Any] | None:
    """Ends of rows as ``Held`` has them."""
    readable = readable_times(ends)
    if readable is not None and ends is not None and ends.dtype == np.int64:
        readable[ends == never(int)] = np.datetime64("NaT")
    return readable


def readable_times(times: Times | None) -> NDArray[Any] | None:
    """Times of rows as ``Held`` has them."""
    if times is None or times.dtype != np.int64:
        return times
    return times.view("datetime64[ns]")
