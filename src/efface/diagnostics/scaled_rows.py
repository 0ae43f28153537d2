"""At which scale a model regresses on its features, and so what its penalty and rank refer to."""

from __future__ import annotations

import numpy as np

from efface.diagnostics.deviations import StandardizedRows, divided_by_length, standardized
from efface.live.snapshot import Snapshot
from efface.theory.geometry import Array


def is_selected(live: Snapshot) -> bool:
    """Does the model select its penalty by the rows, and scale them by itself?"""
    return live.model == "AutoRidge"


def scaled_rows(live: Snapshot, X: Array, weights: Array) -> StandardizedRows | None:
    """Rows of positive weight at the scale of a model; None if that is the scale that they have.

    AutoRidge divides features by the roots of their deviations, or of their root mean squares
    without an intercept; averaged coefficients have a penalty on standardised features.
    """
    standardize = bool(live.parameters["standardize"])
    if not is_selected(live):
        return standardized(X, weights) if standardize else None
    centred = standardize or live.parameters["fit_intercept"]
    z = standardized(X, weights) if centred else divided_by_length(X, weights)
    if standardize or live.parameters["average"]:
        return z
    root = np.sqrt(z.deviation)
    return z._replace(rows=z.rows * root, deviation=root)
