"""Views of compiled code are the slices that they stand for."""

import numba
import numpy as np

from efface.kernels.compilation import KERNEL
from efface.kernels.dense import copy, fill
from efface.kernels.views import block, part, take


@numba.njit(**{**KERNEL, "cache": False})
def mark(a, b):
    """Write through every kind of view."""
    take(a, 2, 2, 3)[1, 2] = 1.0
    part(b, 1, 3)[0, 0] = 2.0
    block(b, 2, 4, 1, 3)[1, 1] = 3.0
    copy(part(a, 0, 2), part(a, 8, 10))
    fill(part(b, 0, 1), 4.0)


def test_writing_through_a_view_writes_where_it_lies():
    a, b = np.arange(10.0), np.zeros((4, 3))
    mark(a, b)
    expected, grid = np.arange(10.0), np.zeros((4, 3))
    expected[7], expected[8:] = 1.0, [0.0, 1.0]
    grid[1, 0], grid[3, 2], grid[0] = 2.0, 3.0, 4.0
    np.testing.assert_array_equal(a, expected)
    np.testing.assert_array_equal(b, grid)


def test_take_is_a_view_that_starts_where_it_is_told():
    floats = np.arange(20.0)
    view = take(floats, 3, 2, 4)
    assert view.tolist() == [[3.0, 4.0, 5.0, 6.0], [7.0, 8.0, 9.0, 10.0]]
    view[1, 1] = -1.0
    assert floats[8] == -1.0
