"""The tree of sums over the live rows, as the solver uses it."""

from __future__ import annotations

from typing import Protocol, final

import numpy as np

from efface.engine.jit.views import Ints, Vector
from efface.engine.tree.shape import (
    allocate_tree,
    cut_tree,
    extend_tree,
    insert_in_tree,
    release_tree,
    shift_tree,
)
from efface.engine.tree.walls import leaf_bits, walls_in_range


class Walls(Protocol):
    """Says which rows are walls of the tree."""

    def __call__(self, first: int, bits: int, count: int | None = None) -> tuple[Ints, Ints]:
        """The positions and heights of the walls from ``first`` on; 2^bits rows per leaf."""


@final
class SummationTree:
    """Sums over the live rows that are kept while rows leave from anywhere.

    Rows that come are taken in when sums are next needed.
    """

    def __init__(self, width: int, bounded: bool) -> None:
        self._width, self._bounded = width, bounded
        self._bits = leaf_bits(width)
        self.store: Vector = np.zeros(0)
        self.covered = -1  # the rows before this place are in the tree; -1: there is none

    def cover(self, head: int, end: int, walls: Walls | None) -> Vector:
        """Take in the rows up to ``end``; the store of the tree."""
        if self.covered != end and not self._extend(head, end, walls):
            self.clear()
            found = self._walls(0, head, end, walls)
            self.store = allocate_tree(self._width, self._bounded, _capacities(found[1]))
            there_is_room = extend_tree(self.store, *found, head, end)
            assert there_is_room
        self.covered = end
        return self.store

    def _extend(self, head: int, end: int, walls: Walls | None) -> bool:
        """Take in the rows that came; False if there is no room."""
        if self.covered < 0:
            return False
        found = self._walls(max(self.covered - head, 0), head, end, walls)
        return bool(extend_tree(self.store, *found, head, end))

    def _walls(self, first: int, head: int, end: int, walls: Walls | None) -> tuple[Ints, Ints]:
        """The places of the walls, and their heights."""
        if walls is None:
            found, heights = walls_in_range(first, end - head, self._bits)
            found += first
        else:
            found, heights = walls(first, self._bits)
        return found + head, heights

    def release(self, head: int) -> None:
        """The rows before ``head`` have left."""
        if self.covered >= 0:
            release_tree(self.store, head)

    def shift(self, by: int) -> None:
        """Follow rows that have moved towards the front of their array."""
        if self.covered >= 0:
            shift_tree(self.store, by)
            self.covered = max(self.covered - by, 0)

    def cut(self, end: int) -> None:
        """The places from ``end`` on have no rows any more."""
        if self.covered > end:
            cut_tree(self.store, end)
            self.covered = end

    def insert(self, position: int, head: int, walls: Walls | None) -> None:
        """A row was put in at a position among the others."""
        if self.covered <= head + position:
            return
        if position and walls is not None and not walls(position, self._bits, 1)[0].size:
            insert_in_tree(self.store, head + position)
            self.covered += 1
        else:
            self.clear()

    def clear(self) -> None:
        """Overwrite all sums; the tree is made anew when it is next needed."""
        self.store[:] = 0.0
        self.store, self.covered = np.zeros(0), -1


def _capacities(heights: Ints) -> Ints:
    """Room for the nodes of each level, and for an eighth more."""
    levels = int(heights.max(initial=0)) + 1
    counts = np.array([np.count_nonzero(heights > level) for level in range(levels)])
    return np.asarray(counts + counts // 8 + 4, dtype=np.int64)
