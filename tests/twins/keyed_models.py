"""The slow twin of a fleet: a dict of models, one row at a time."""

from __future__ import annotations

import copy

import numpy as np
from sklearn.base import clone

from efface.errors import EffaceError, RepeatedId, UnknownId, UnknownOwner


class DictOfModels:
    """One model per key, in a dict; a key without a live row is deleted at the end of a call."""

    def __init__(self, model):
        self.model = model
        self.models = {}

    @property
    def ids(self):
        return [id for model in self.models.values() for id in model.ids_]

    def next_id(self):
        return max([id for id in self.ids if isinstance(id, int)], default=-1) + 1

    def replay(self, rows):
        """Predict and learn rows, all or none of them; returns what predicted each row."""
        before, first = copy.deepcopy(self.models), self.next_id()
        try:
            shown = [self._row(row, first + number) for number, row in enumerate(rows)]
        except EffaceError:
            self.models = before
            raise
        self._clean()
        return shown

    def _row(self, row, number):
        key, x, y = row["key"], row["x"], row["y"]
        id = number if row.get("id") is None else row["id"]
        model = self.models.get(key)
        fresh = model is None
        if fresh:
            model = clone(self.model)
        for other, each in self.models.items():
            if other != key and id in each.ids_:
                raise RepeatedId(f"{id}")
        shown = predicted(model, row, fresh)
        model.learn_one(
            x,
            y,
            id=id,
            at=row.get("at"),
            weight=row.get("weight", 1.0),
            owner=row.get("owner"),
            until=row.get("until"),
        )
        self.models[key] = model
        return shown

    def forget(self, ids=(), owners=()):
        wanted = set(ids)
        if wanted - set(self.ids):
            raise UnknownId("")
        for owner in owners:
            if not any(owner in model.owners_ for model in self.models.values()):
                raise UnknownOwner("")
        count = 0
        for model in self.models.values():
            mine = [id for id in ids if id in model.ids_]
            count += model.forget(mine, owners=owners, missing="ok")
        self._clean()
        return count

    def expire(self, now):
        count = sum(model.expire(now) for model in self.models.values())
        self._clean()
        return count

    def _clean(self):
        self.models = {key: model for key, model in self.models.items() if model.n_rows_}


def predicted(model, row, fresh):
    """What predicts a row: (prediction, number of live rows), once expired rows have left."""
    if fresh:
        return 0.0, 0
    old = copy.deepcopy(model)
    at = row.get("at")
    if at is not None:
        newest = old._live.index.newest
        now = at if newest is None else max(at, newest)
        old.expire(now)
    return old.predict_one(np.asarray(row["x"], float)), old.n_rows_
