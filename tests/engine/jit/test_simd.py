import numba
import numpy as np
import pytest

from efface.engine.jit.simd import (
    LANES,
    TILE,
    entries_for,
    padded,
    set_difference,
    set_sum,
    solve_lanes,
    take_higher,
    take_lower,
)


def laid_out(matrices, targets):
    """Systems side by side, padded by the identity, as ``solve_lanes`` wants them."""
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
def test_eight_systems_are_solved_side_by_side(size, responses):
    rng = np.random.default_rng(size)
    x = rng.normal(size=(LANES, 3 * size, size))
    matrices, targets = x.transpose(0, 2, 1) @ x, rng.normal(size=(LANES, responses, size))
    f, m = laid_out(matrices, targets)
    solve_lanes(f, m, responses, 0, 0)
    for lane in range(LANES):
        expected = np.linalg.solve(matrices[lane], targets[lane].T).T
        for g in range(responses):
            at = (m + g) * (m + 1)
            np.testing.assert_allclose(f[at : at + size, lane], expected[g], rtol=1e-9, atol=1e-12)


def test_one_failing_lane_leaves_the_others_alone():
    matrices = np.stack([np.eye(2)] * LANES)
    matrices[3] = 1.0
    f, m = laid_out(matrices, np.ones((LANES, 1, 2)))
    solve_lanes(f, m, 1, 0, 0)
    margins = f[(m + TILE) * (m + 1) + m]
    assert margins[3] == 0.0
    assert (np.delete(margins, 3) == 1.0).all()
    assert (np.delete(f[m * (m + 1)], 3) == 1.0).all()


def test_a_lane_whose_numbers_overflow_has_no_margin():
    matrices = np.stack([np.eye(2)] * LANES)
    matrices[5, 0, 0], matrices[6, 1, 1] = np.inf, np.nan
    f, m = laid_out(matrices, np.ones((LANES, 1, 2)))
    solve_lanes(f, m, 1, 0, 0)
    margins = f[(m + TILE) * (m + 1) + m]
    assert (margins[5:7] == 0.0).all()
    assert (np.delete(margins, [5, 6]) == 1.0).all()


def test_entries_are_added_compared_and_kept_lane_by_lane():
    rng = np.random.default_rng(1)
    f = rng.normal(size=(6, LANES))
    a, b = f[0].copy(), f[1].copy()
    apply(set_sum, f, 2, 0, 1)
    apply(set_difference, f, 3, 0, 1)
    f[4], f[5] = b, b
    apply(take_higher, f, 4, 0)
    apply(take_lower, f, 5, 0)
    expected = [a, b, a + b, a - b, np.maximum(a, b), np.minimum(a, b)]
    np.testing.assert_array_equal(f, expected)


def apply(operation, f, *places):
    """An operation is for compiled code only."""
    if numba.config.DISABLE_JIT:
        operation(f, *places)
        return
    names = ", ".join(f"a{i}" for i in range(len(places)))
    namespace = {"operation": operation}
    exec(f"def call(f, {names}): operation(f, {names})", namespace)
    numba.njit(namespace["call"])(f, *places)
