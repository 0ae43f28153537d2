"""Whether the state of a solver with a selected penalty holds anything of rows that have left."""

from __future__ import annotations

from efface.engine.events.rows import span_of
from efface.engine.jit.views import Ints, Matrix, Responses, Vector
from efface.engine.selection.selection_state import open_selection
from efface.engine.sums.sliding import NEVER
from efface.engine.sums.sum_checks import wrong_sums


def selection_residues(x: Matrix, y: Responses, span: Ints, store: Vector) -> list[str]:
    """The names of the parts of a state that do not follow from the live rows."""
    s, at = open_selection(store), span_of(span)
    head, found, folded = int(at.head), [], bool(s.options.folded)
    if s.state.solved_end < 0:
        parts = {
            "frame": s.frame[1:],
            "grid": (*s.grid, *s.other),
            "coef": (s.coef,),
            "few": s.few[1:],
        }
        found += [name for name, arrays in parts.items() if any(each.any() for each in arrays)]
    sliding = s.sums.state.seen != NEVER
    if not sliding and not folded and s.sums.centre.any():
        found.append("sums.centre")
    ranges = None
    if folded:
        ranges = int(s.state.core_start), int(s.state.core_end)
    elif sliding and s.sums.total.any():
        ranges = int(s.state.solved_head), int(s.sums.state.seen)
    return [*found, *wrong_sums(s.sums, x, y, head, ranges)]
