import numpy as np
import pytest
from twins.summation_tree import tree_of

from efface.engine.tree.shape import CURRENT, open_tree
from efface.engine.tree.tree_checks import wrong_nodes


def found_in(spoil):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    store, responses, _ = tree_of(X, y)
    spoil(open_tree(store))
    return list(wrong_nodes(store, X, responses, 0))


def test_a_sound_tree_has_nothing_wrong():
    assert found_in(lambda t: None) == []


def test_no_tree_has_nothing_wrong():
    assert list(wrong_nodes(np.zeros(0), np.zeros((0, 2)), np.zeros((0, 3)), 0)) == []


def leaf(t):
    t.sums[t.front[0] + 2, 6] += 1e-3


def bound(t):
    t.sums[t.front[0] + 2, -1] += 1.0


def upper(t):
    t.sums[t.front[1], 6] *= 1.0 + 1e-6


def stale(t):
    t.sums[t.stop[0]] = 1.0


def scratch(t):
    t.work.rows[3] = 1.0


@pytest.mark.parametrize(
    ("spoil", "name"),
    [
        (leaf, "tree.level[0]"),
        (bound, "tree.level[0]"),
        (upper, "tree.level[1]"),
        (stale, "tree.sums"),
        (scratch, "tree.work"),
    ],
)
def test_a_number_that_follows_from_no_live_row_is_found(spoil, name):
    assert name in found_in(spoil)


def test_a_current_node_above_a_stale_one_is_found():
    def spoil(t):
        t.status[t.front[0]], t.sums[t.front[0]] = CURRENT + 1, 0.0

    assert "tree.level[1]" in found_in(spoil)


def test_the_check_leaves_the_tree_as_it_is():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    store, responses, _ = tree_of(X, y)
    before = store.tobytes()
    assert not list(wrong_nodes(store, X, responses, 0))
    assert store.tobytes() == before
