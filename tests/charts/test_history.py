"""A history keeps three resolutions of the same rows."""

from __future__ import annotations

import numpy as np

from efface.charts.history import DIAGNOSTICS, PREDICTED, CoefficientPaths, History


def test_all_resolutions_have_all_rows():
    history, rng = History(), np.random.default_rng(0)
    for count in (700, 1, 299):
        columns = {name: rng.normal(size=count) for name in (*PREDICTED, *DIAGNOSTICS)}
        covered, errors = np.ones(count), {"model": rng.random(count)}
        columns |= {name: rng.normal(size=(count, 2)) for name in ("coef", "coef_error")}
        history.add(np.arange(count), columns, covered, errors)
    assert history.rows == history.medium.rows == history.coarse.rows == 1000
    assert (history.fine.width, history.medium.width, history.coarse.width) == (1, 2, 8)
    assert (history.coarse.mean("covered") == 1.0).all()


def test_paths_are_kept_for_the_first_groups_and_features():
    paths, rng = CoefficientPaths(), np.random.default_rng(0)
    for group in "abcdefgh":
        paths.add(group, np.arange(500.0), rng.normal(size=(500, 50)), np.ones((500, 50)))
    assert list(paths.groups) == ["a", "b", "c", "d"]
    assert paths.features == 40
    path = paths.path("b", 3)
    assert len(path["x"]) <= 128
    np.testing.assert_allclose(path["upper"] - path["lower"], 2 * 1.96)


def test_errors_of_very_many_groups_are_not_kept():
    history, n = History(), 200
    columns = {name: np.ones(n) for name in (*PREDICTED, *DIAGNOSTICS)}
    columns |= {name: np.ones((n, 1)) for name in ("coef", "coef_error")}
    names = [str(k % 100) for k in range(n)]
    history.add(np.arange(n), columns, np.ones(n), {"model": np.arange(200.0)}, names)
    assert list(history.groups) == [str(k) for k in range(50)]
    assert history.groups["7"].mean("model").tolist() == [7.0, 107.0]
