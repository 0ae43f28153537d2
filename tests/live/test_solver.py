import numpy as np
import pytest

from efface.live.event_solver import EventSolver
from efface.live.penalties import Fixed, Lemma3
from efface.live.solver import Solver
from efface.live.standardized_solver import StandardizedSolver


@pytest.mark.parametrize("kind", [EventSolver, StandardizedSolver])
@pytest.mark.parametrize("n", [1, 499, 500, 1700])
def test_a_replay_is_marked_at_every_so_many_rows_and_at_the_last(kind, n):
    solver = kind(30, Fixed(), intercept=True)
    marks = solver.marks(n)
    assert marks[-1] == n - 1
    assert marks[:-1] == [m for m in (599, 1199) if m < n - 1]


@pytest.mark.parametrize("kind", [EventSolver, StandardizedSolver])
@pytest.mark.parametrize("penalty", [Fixed(1.0), Lemma3()], ids=["fixed", "adaptive"])
def test_a_copy_is_solved_without_a_change_of_the_solver(kind, penalty):
    rng = np.random.default_rng(1)
    solver = kind(3, penalty, intercept=True)
    solver.extend(rng.normal(size=(20, 3)), rng.normal(size=20))
    before = [store.tobytes() for store in solver.stores]
    twin = solver.copy()
    assert twin.rows is solver.rows
    assert np.isfinite(twin.coef).all()
    assert [store.tobytes() for store in solver.stores] == before
    assert twin.coef.tolist() == solver.coef.tolist()


def test_a_solver_is_made_by_its_kind_alone():
    with pytest.raises(TypeError, match="abstract"):
        Solver(2, Fixed(), intercept=True)  # type: ignore[abstract]
