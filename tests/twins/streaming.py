"""The slow twin of a stream run: one row at a time, one dict per row."""

from __future__ import annotations


def row_by_row(make, rows, requests=(), *, timed=False):
    """Predict and learn rows one by one; ``requests`` are pairs of a row number and an id.

    Every row is a dict with x, y, id, at and group. Returns predictions, the numbers of live rows,
    the outcome of each request, and the models by group.
    """
    models, known, predictions, alive, outcomes = {}, {}, [], [], []
    for number, row in enumerate(rows):
        for place, id in requests:
            if place == number:
                outcomes.append(forget(models, known, id))
        model = models.setdefault(row["group"], make())
        if timed and hasattr(model, "n_features_in_"):
            model.expire(row["at"])
        fresh = not hasattr(model, "n_features_in_")
        predictions.append(0.0 if fresh else model.predict_one(row["x"]))
        alive.append(0 if fresh else model.n_rows_)
        model.learn_one(row["x"], row["y"], id=row["id"], at=row["at"] if timed else None)
        known[row["id"]] = row["group"]
    for place, id in requests:
        if place >= len(rows):
            outcomes.append(forget(models, known, id))
    return predictions, alive, outcomes, models


def forget(models, known, id):
    if id not in known:
        return "unknown"
    model = models[known[id]]
    if id not in model.ids_:
        return "already gone"
    model.forget(id)
    return "forgotten"
