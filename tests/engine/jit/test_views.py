"""Array views in compiled code, against NumPy slices."""

from typing import NamedTuple

import numba
import numpy as np
import pytest

from efface.engine.jit.compilation import KERNEL
from efface.engine.jit.views import address, block, part, stride, take
from efface.engine.linalg.dense import copy, fill


@numba.njit(**{**KERNEL, "cache": False})
def mark(a, b):
    """Write through every kind of view."""
    take(a, 2, 2, 3)[1, 2] = 1.0
    part(b, 1, 3)[0, 0] = 2.0
    block(b, 2, 4, 1, 3)[1, 1] = 3.0
    copy(part(a, 0, 2), part(a, 8, 10))
    fill(part(b, 0, 1), 4.0)


def test_writing_through_views():
    a, b = np.arange(10.0), np.zeros((4, 3))
    mark(a, b)
    expected, grid = np.arange(10.0), np.zeros((4, 3))
    expected[7], expected[8:] = 1.0, [0.0, 1.0]
    grid[1, 0], grid[3, 2], grid[0] = 2.0, 3.0, 4.0
    np.testing.assert_array_equal(a, expected)
    np.testing.assert_array_equal(b, grid)


def test_take_is_a_view():
    floats = np.arange(20.0)
    view = take(floats, 3, 2, 4)
    assert view.tolist() == [[3.0, 4.0, 5.0, 6.0], [7.0, 8.0, 9.0, 10.0]]
    view[1, 1] = -1.0
    assert floats[8] == -1.0


class Pair(NamedTuple):
    floats: np.ndarray
    counts: np.ndarray


@numba.njit(**{**KERNEL, "cache": False})
def measure(pair, out):
    """Shape, size, stride, the items of a row, and of a vector of integers."""
    a, n = block(pair.floats, 1, 3, 1, 4), pair.counts
    out[0], out[1], out[2], out[3] = a.shape[0], a.shape[1], a.size, stride(a)
    out[4], out[5], out[6] = a[1][2], a[1].size, n[1]
    n[0] += n[2] * 2
    out[7] = (address(a) - address(pair.floats)) / 8.0


def test_shape_and_items_of_views_in_a_named_tuple():
    pair, out = Pair(np.arange(20.0).reshape(4, 5), np.array([1, 2, 3])), np.zeros(8)
    measure(pair, out)
    assert out.tolist() == [2.0, 3.0, 6.0, 5.0, 13.0, 3.0, 2.0, 6.0]
    assert pair.counts.tolist() == [7, 2, 3]


@numba.njit(**{**KERNEL, "cache": False})
def corners(a, v):
    return a[0, 0], a[a.shape[0] - 1, a.shape[1] - 1], v[v.size - 1]


@pytest.mark.parametrize(
    "a",
    [
        np.arange(12.0).reshape(3, 4),
        np.arange(12.0).reshape(3, 4)[:, ::2],
        np.arange(12.0).reshape(3, 4).T,
        np.arange(12.0).reshape(3, 4)[::-1, 1:],
    ],
    ids=["contiguous", "every other column", "transposed", "upside down"],
)
def test_arrays_that_are_not_contiguous_keep_their_strides(a):
    assert corners(a, a[:, 0]) == (a[0, 0], a[-1, -1], a[-1, 0])


def test_read_only_arrays_can_be_read():
    a = np.arange(12.0).reshape(3, 4)
    a.flags.writeable = False
    assert corners(a, a[1]) == (0.0, 11.0, 7.0)
