"""Block lengths and the shapes of the workspace."""

from efface.engine.windows.block_core import block_length, shapes


def test_blocks_are_longer_with_more_features():
    assert [block_length(p) for p in (1, 28, 29, 100, 400)] == [8, 8, 16, 24, 48]


def test_shapes_are_in_the_order_in_which_the_workspace_is_built():
    p, length = 5, 3
    k, sizes = 2 * (length - 1), shapes(p, length)
    assert sizes[1:4] == ((p + k, p), (p + k + 3, p), (p + k + 3, p))
    assert sizes[6:8] == ((k, k), (length, k))
    assert sizes[-1] == (1, length)
