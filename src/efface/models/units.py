"""A warning where the units of features decide how much a penalty shrinks each of them."""

from __future__ import annotations

import warnings

import numpy as np

from efface.errors import UnevenFeatures
from efface.inputs.types import Matrix

RATIO = 1e3  # of spreads, from which on a model warns
ROWS = 64  # rows that are looked at, the first of a stream


def warn_of_uneven_features(model: str, X: Matrix, depth: int = 4) -> bool:
    """Warn if the spreads of the first rows differ by ``RATIO``; whether it did.

    The warning names the line of the caller ``depth`` calls up. Rows with gaps do not count.

    >>> warn_of_uneven_features("Ridge", np.array([[1.0, 2.0], [2.0, 4.0]]))
    False
    """
    first = X[:ROWS]
    first = first[np.isfinite(first).all(axis=1)]
    spreads = np.ptp(first, axis=0) if len(first) else np.zeros(X.shape[1])
    varying = np.flatnonzero(spreads)
    if varying.size < 2:
        return False
    low, high = (int(varying[place(spreads[varying])]) for place in (np.argmin, np.argmax))
    if spreads[high] < RATIO * spreads[low]:
        return False
    times = float(spreads[high]) / float(spreads[low])  # may be beyond the range: infinite
    text = (
        f"'{model}' shrinks features by their units: the spread of feature {high} is "
        f"{times:.1g} times that of feature {low}; pass standardize=True, "
        "or use AutoRidge, which scales features by itself."
    )
    warnings.warn(text, UnevenFeatures, stacklevel=depth)
    return True
