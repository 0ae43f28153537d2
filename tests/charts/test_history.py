"""A history keeps three resolutions of the same rows."""

from __future__ import annotations

import numpy as np

from efface.charts.history import DIAGNOSTICS, PREDICTED, History


def test_all_resolutions_have_all_rows():
    history, rng = History(), np.random.default_rng(0)
    for count in (700, 1, 299):
        columns = {name: rng.normal(size=count) for name in (*PREDICTED, *DIAGNOSTICS)}
        covered, errors = np.ones(count), {"model": rng.random(count)}
        history.add(np.arange(count), columns, covered, errors)
    assert history.rows == history.medium.rows == history.coarse.rows == 1000
    assert (history.fine.width, history.medium.width, history.coarse.width) == (1, 2, 8)
    assert (history.coarse.mean("covered") == 1.0).all()
