"""Solvers that take the sums of many live rows from a tree: rows can leave from anywhere."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from efface.engine.jit.views import Vector
from efface.engine.tree.tree_checks import wrong_nodes
from efface.engine.tree.walls import fold_from
from efface.live.solver import Solver
from efface.live.summation import SummationTree, Walls


class TreeSolver(Solver):
    """The part of a solver that keeps the tree of sums; see ``summation``."""

    _forgets = False  # has a row left from the middle? Then the tree is kept

    @abstractmethod
    def _blank_rows(self, tree: Vector, positions: NDArray[np.intp]) -> None:
        """Overwrite rows, their nodes of the tree, and all else that was derived from them."""

    @property
    def working_store(self) -> int:
        return super().working_store + self._tree.store.nbytes

    def use_walls(self, walls: Walls | None) -> None:
        super().use_walls(walls)
        self._discard_tree()

    def sum_up(self) -> None:
        self._forgets = True
        self._covering_tree()

    def _covering_tree(self) -> Vector:
        """The store of the tree, which contains all live rows."""
        tree, self._releases = self._tree, True
        if tree.covered == self.rows.arrays[2][1]:  # the frequent case
            return tree.store
        return tree.cover(*self.rows.span, self.walls)

    def _discard_tree(self) -> None:
        self._tree.clear()
        self._note_releases()

    def _note_releases(self) -> None:
        super()._note_releases()
        self._releases = self._releases or self._tree.covered >= 0

    def blank(self, positions: NDArray[np.intp], cut: tuple[int, int]) -> None:
        rows = self.rows
        self._blank_rows(self._tree.store, positions)
        self._precise.clear()
        oldest, newest = cut
        if oldest:
            rows.drop(oldest)
            self._tree.release(rows.span[0])
        if newest:
            rows.drop_newest(newest)
            self._tree.cut(rows.span[1])

    def residues(self) -> list[str]:
        (x, y, _), (head, _) = self.rows.arrays, self.rows.span
        return [*super().residues(), *wrong_nodes(self._tree.store, x, y, head)]

    def _allocate(self) -> None:
        if self.gaps_from is None:  # the first time
            self._tree = SummationTree(self.width, self._bounded)
            self.gaps_from = fold_from(self.width)
        super()._allocate()

    def _reset(self) -> None:
        self._tree.clear()
        super()._reset()

    def _release(self) -> None:
        super()._release()
        if self._tree.covered >= 0:  # the place of the first row is not always needed
            self._tree.release(self.rows.span[0])

    def _disturb(self, place: int) -> None:
        super()._disturb(place)
        head = self.rows.span[0]
        self._tree.insert(place - head, head, self.walls)

    def _shift(self, by: int) -> None:
        super()._shift(by)
        self._tree.shift(by)
