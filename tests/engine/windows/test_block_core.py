"""What the windows of a block share, and how much room that takes."""

from efface.engine.windows.block_core import block_length, shapes


def test_blocks_grow_with_the_features():
    assert [block_length(p) for p in (1, 28, 29, 100, 400)] == [8, 8, 16, 24, 48]


def test_every_part_of_a_store_keeps_the_order_and_shape_that_it_is_opened_with():
    p, length = 5, 3
    k, sizes = 2 * (length - 1), shapes(p, length)
    assert sizes[1:4] == ((p + k, p), (p + k + 2, p), (p + k + 2, p))
    assert sizes[6:8] == ((k, k), (length, k))
    assert sizes[-1] == (1, length)
