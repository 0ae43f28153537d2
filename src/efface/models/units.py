"""A warning where the units of features decide how much a penalty shrinks each of them."""

from __future__ import annotations

import warnings

import numpy as np

from efface.errors import UnevenFeatures
from efface.inputs.types import Matrix

RATIO = 1e3  # of spreads, from which on a model warns
ROWS = 64  # rows that are looked at, the first of a stream


def warn_of_uneven_features(model: str, X: Matrix) -> bool:
    """Warn if the spreads of the first rows differ by ``RATIO``; whether it did.

    >>> warn_of_uneven_features("Ridge", np.array([[1.0, 2.0], [2.0, 4.0]]))
    False
    """
    spreads = np.ptp(X[:ROWS], axis=0)
    varying = np.flatnonzero(spreads)
    if varying.size < 2:
        return False
    low, high = (int(varying[place(spreads[varying])]) for place in (np.argmin, np.argmax))
    if spreads[high] < RATIO * spreads[low]:
        return False
    text = (
        f"'{model}' shrinks features by their units: the spread of feature {high} is "
        f"{spreads[high] / spreads[low]:.1g} times that of feature {low}; pass standardize=True, "
        "or use AutoRidge, which scales features by itself."
    )
    warnings.warn(text, UnevenFeatures, stacklevel=4)
    return True
