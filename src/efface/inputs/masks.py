"""Masked values: NumPy's conversions drop the mask and use the hidden numbers."""

from __future__ import annotations

from typing import Any

import numpy as np


def first_masked(data: Any) -> tuple[int, ...] | None:
    """The indices of the first masked value of an array, or of a list of arrays; None if none is.

    >>> first_masked(np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 0], [1, 0]]))
    (1, 0)
    >>> first_masked([1.0, np.ma.masked])
    (1,)
    """
    if isinstance(data, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(data)
        return tuple(int(i) for i in np.argwhere(mask)[0]) if mask.any() else None
    if isinstance(data, list | tuple):
        for row, part in enumerate(data):
            found = first_masked(part) if isinstance(part, np.ma.MaskedArray) else None
            if found is not None:
                return row, *found
    return None
