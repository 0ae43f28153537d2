"""The weights of the live rows of a model with a half-life, for a refit by other code."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from efface.inputs.months import Months
from efface.inputs.times import as_duration
from efface.live.policies import KeepFor, from_plain
from efface.live.snapshot import Snapshot


def faded(live: Snapshot) -> Snapshot:
    """A snapshot with the weights that its rows have now; the same if it has no half-life.

    >>> from efface import OLS
    >>> model = OLS(halflife=1.0).fit([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0])
    >>> faded(model._snapshot()).weights
    array([0.25, 0.5 , 1.  ])
    """
    halflife = from_plain(live.parameters.get("halflife"))
    if halflife is None or not len(live.y):
        return live
    by_rows = isinstance(halflife, int | float | np.number)
    if by_rows and not isinstance(from_plain(live.parameters["window"]), KeepFor):
        ages = np.arange(len(live.y))[::-1] / float(halflife)
    else:
        length = as_duration(halflife)
        assert live.times is not None
        assert not isinstance(length, Months)
        ages = (live.times[-1] - live.times) / float(length)
    return replace(live, weights=live.weighed * 0.5**ages)
