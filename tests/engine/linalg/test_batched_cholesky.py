"""Cholesky solves of eight systems at once, against NumPy."""

import numpy as np
import pytest

from efface.engine.jit.simd import LANES, TILE
from efface.engine.linalg.batched_cholesky import entries_for, padded, solve_lanes


def laid_out(matrices, targets):
    """The layout that ``solve_lanes`` expects: one system per lane, padded by the identity."""
    size = matrices.shape[1]
    m = padded(size)
    f = np.zeros((entries_for(size), LANES))
    for lane in range(LANES):
        a, b = np.eye(m), np.zeros((TILE, m))
        a[:size, :size], b[: len(targets[lane]), :size] = matrices[lane], targets[lane]
        for i in range(m):
            f[i * (m + 1) : i * (m + 1) + m, lane] = a[i]
        for g in range(TILE):
            f[(m + g) * (m + 1) : (m + g) * (m + 1) + m, lane] = b[g]
        f[(m + TILE) * (m + 1) : (m + TILE) * (m + 1) + m, lane] = 1.0 / np.diag(a)
    return f, m


@pytest.mark.parametrize("size", [1, 3, 4, 7, 21])
@pytest.mark.parametrize("responses", [1, 2])
def test_solves_eight_systems(size, responses):
    rng = np.random.default_rng(size)
    x = rng.normal(size=(LANES, 3 * size, size))
    matrices, targets = x.transpose(0, 2, 1) @ x, rng.normal(size=(LANES, responses, size))
    f, m = laid_out(matrices, targets)
    solve_lanes(f, m, responses)
    for lane in range(LANES):
        expected = np.linalg.solve(matrices[lane], targets[lane].T).T
        for g in range(responses):
            at = (m + g) * (m + 1)
            np.testing.assert_allclose(f[at : at + size, lane], expected[g], rtol=1e-9, atol=1e-12)


def test_a_singular_system_does_not_affect_other_lanes():
    matrices = np.stack([np.eye(2)] * LANES)
    matrices[3] = 1.0
    f, m = laid_out(matrices, np.ones((LANES, 1, 2)))
    solve_lanes(f, m, 1)
    margins = f[(m + TILE) * (m + 1) + m]
    assert margins[3] == 0.0
    assert (np.delete(margins, 3) == 1.0).all()
    assert (np.delete(f[m * (m + 1)], 3) == 1.0).all()


def test_infinite_and_nan_systems_have_margin_zero():
    matrices = np.stack([np.eye(2)] * LANES)
    matrices[5, 0, 0], matrices[6, 1, 1] = np.inf, np.nan
    f, m = laid_out(matrices, np.ones((LANES, 1, 2)))
    solve_lanes(f, m, 1)
    margins = f[(m + TILE) * (m + 1) + m]
    assert (margins[5:7] == 0.0).all()
    assert (np.delete(margins, [5, 6]) == 1.0).all()
