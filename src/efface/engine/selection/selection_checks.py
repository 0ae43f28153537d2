"""Whether the state of a solver with a selected penalty holds anything of rows that have left."""

from __future__ import annotations

from efface.engine.jit.views import Ints, Matrix, Responses, Vector
from efface.engine.selection.selection_state import open_selection
from efface.engine.standardized.standardized_checks import stream_residues


def selection_residues(x: Matrix, y: Responses, span: Ints, store: Vector) -> list[str]:
    """The names of the parts of a state that do not follow from the live rows."""
    s = open_selection(store)
    parts = {"grid": (*s.grid, *s.other), "few": s.few[1:]} if s.state.solved_end < 0 else {}
    found = [name for name, arrays in parts.items() if any(each.any() for each in arrays)]
    folded = (int(s.state.core_start), int(s.state.core_end)) if s.state.folded else None
    return [*found, *stream_residues(s, x, y, span, folded)]
