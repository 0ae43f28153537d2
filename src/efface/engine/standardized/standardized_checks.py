"""Whether the state of a standardised solver holds anything of rows that have left; for audits."""

from __future__ import annotations

from efface.engine.events.rows import span_of
from efface.engine.jit.views import Ints, Matrix, Responses, Vector
from efface.engine.standardized.standardized_fit import open_standard
from efface.engine.sums.sliding import NEVER
from efface.engine.sums.sum_checks import wrong_sums


def standard_residues(x: Matrix, y: Responses, span: Ints, store: Vector) -> list[str]:
    """The names of the parts of a state that do not follow from the live rows."""
    s, at = open_standard(store), span_of(span)
    head, found = int(at.head), []
    if s.state.solved_end < 0:
        if any(part.any() for part in s.frame[1:]):
            found.append("frame")
        if s.coef.any():
            found.append("coef")
    if s.sums.state.seen == NEVER and s.sums.centre.any():
        found.append("sums.centre")
    summed = s.sums.state.seen != NEVER and s.sums.total.any()
    ranges = (int(s.state.solved_head), int(s.sums.state.seen)) if summed else None
    return [*found, *wrong_sums(s.sums, x, y, head, ranges)]
