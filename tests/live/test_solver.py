import pytest

from efface.live.event_solver import EventSolver
from efface.live.penalties import Fixed
from efface.live.solver import Solver
from efface.live.standardized_solver import StandardizedSolver


@pytest.mark.parametrize("kind", [EventSolver, StandardizedSolver])
@pytest.mark.parametrize("n", [1, 499, 500, 1700])
def test_a_replay_is_marked_at_every_so_many_rows_and_at_the_last(kind, n):
    solver = kind(30, Fixed(), intercept=True)
    marks = solver.marks(n)
    assert marks[-1] == n - 1
    assert marks[:-1] == [m for m in (599, 1199) if m < n - 1]


def test_a_solver_is_made_by_its_kind_alone():
    with pytest.raises(TypeError, match="abstract"):
        Solver(2, Fixed(), intercept=True)  # type: ignore[abstract]
