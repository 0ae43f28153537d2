"""Trees of sums that begin at few rows, so that short histories pass through all of their code."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from unittest.mock import patch

FOLD_FROM = 24  # live rows
LEAF_BITS = 2  # four rows per leaf


@contextmanager
def small_trees(fold_from=FOLD_FROM, leaf_bits=LEAF_BITS):
    """Let models that are made inside use the tree from ``fold_from`` live rows on."""
    values = {
        "efface.engine.events.state.fold_from": fold_from,
        "efface.engine.selection.selection_state.fold_from": fold_from,
        "efface.live.tree_solver.fold_from": fold_from,
        "efface.live.summation.leaf_bits": leaf_bits,
    }
    with ExitStack() as stack:
        for name, value in values.items():
            stack.enter_context(patch(name, lambda width, value=value: value))
        yield
