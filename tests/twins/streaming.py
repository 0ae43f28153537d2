"""The slow twin of a stream run: one row at a time, one dict per row."""

from __future__ import annotations


def row_by_row(make, rows, requests=(), *, timed=False):
    """Predict and learn rows one by one; ``requests`` are triples of a row number, id and owner.

    Every row is a dict with x, y, id, at and group, and perhaps owner and until. Returns
    predictions, the numbers of live rows, the outcome of each request, and the models by group.
    """
    models, predictions, alive, outcomes = {}, [], [], []
    for number, row in enumerate(rows):
        for place, *named in requests:
            if place == number:
                outcomes.append(forget(models, rows[:number], *named))
        model = models.setdefault(row["group"], make())
        if timed and hasattr(model, "n_features_in_"):
            model.expire(row["at"])
        fresh = not hasattr(model, "n_features_in_")
        predictions.append(0.0 if fresh else model.predict_one(row["x"]))
        alive.append(0 if fresh else model.n_rows_)
        keys = {name: row.get(name) for name in ("owner", "until")}
        model.learn_one(row["x"], row["y"], id=row["id"], at=row["at"] if timed else None, **keys)
    for place, *named in requests:
        if place >= len(rows):
            outcomes.append(forget(models, rows, *named))
    return predictions, alive, outcomes, models


def forget(models, seen, id, owner=None):
    """The status of a request, and how many rows were removed."""
    if owner is None:
        named = [row for row in seen if row["id"] == id][-1:]
    else:
        named = [row for row in seen if row["owner"] == owner]
    if not named:
        return "unknown", 0
    removed = 0
    for row in named:
        model = models[row["group"]]
        if row["id"] in model.ids_:
            model.forget(row["id"])
            removed += 1
    return ("forgotten" if removed else "already gone"), removed
