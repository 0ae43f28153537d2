"""Whether the state of a standardised solver holds anything of rows that have left; for audits."""

from __future__ import annotations

from efface.engine.events.rows import span_of
from efface.engine.jit.views import Ints, Matrix, Responses, Vector
from efface.engine.standardized.standardized_fit import StandardStream, open_standard
from efface.engine.sums.sliding import NEVER
from efface.engine.sums.sum_checks import wrong_sums


def standard_residues(x: Matrix, y: Responses, span: Ints, store: Vector) -> list[str]:
    """The names of the parts of a state that do not follow from the live rows."""
    return stream_residues(open_standard(store), x, y, span, None)


def stream_residues(
    s: StandardStream, x: Matrix, y: Responses, span: Ints, folded: tuple[int, int] | None
) -> list[str]:
    """The same for an open stream; ``folded`` are the rows of sums that come from the tree."""
    found, sliding = [], s.sums.state.seen != NEVER
    if s.state.solved_end < 0:
        if any(part.any() for part in s.frame[1:]):
            found.append("frame")
        if s.coef.any():
            found.append("coef")
    if not sliding and folded is None and s.sums.centre.any():
        found.append("sums.centre")
    summed = folded
    if sliding and folded is None and s.sums.total.any():
        summed = int(s.state.solved_head), int(s.sums.state.seen)
    return [*found, *wrong_sums(s.sums, x, y, int(span_of(span).head), summed)]
