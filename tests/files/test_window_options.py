"""The options that decide when rows leave become policies, and policies become words."""

from __future__ import annotations

import pytest

from efface import FIFD, AddDrop, KeepAll, KeepFor
from efface.errors import InvalidValue
from efface.files.window_options import WindowOptions, as_written, wording, written

POLICIES = [FIFD(40), KeepFor("90d"), KeepFor(2.5), KeepFor("1y"), AddDrop(3), AddDrop(5, 2, 30)]


@pytest.mark.parametrize("policy", [*POLICIES, KeepAll()])
def test_every_policy_can_be_written_and_read(policy):
    assert as_written(written(policy)) == policy
    assert wording(written(policy)).kept


def test_the_three_options_stand_for_policies():
    assert WindowOptions().chosen() is None
    assert WindowOptions(window=7).chosen() == FIFD(7)
    assert WindowOptions(keep="3").chosen() == KeepFor(3.0)
    assert WindowOptions(keep="3mo").chosen() == KeepFor("3mo")
    assert WindowOptions(policy="add-drop:3").chosen() == AddDrop(3)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (WindowOptions(1, "3d"), "'--window' and '--keep' both decide when rows leave"),
        (WindowOptions(1, "3d", "keep-all"), "'--window' and '--keep' and '--policy' all decide"),
        (WindowOptions(policy="lifo:3"), "'--policy' is 'lifo:3': expected add-drop:ADD"),
        (WindowOptions(policy="add-drop"), "'--policy' is 'add-drop': expected add-drop:ADD"),
        (WindowOptions(policy="add-drop:x"), "'--policy' is 'add-drop:x': expected add-drop:ADD"),
        (WindowOptions(policy="add-drop:1,2,3,4"), "expected add-drop:ADD[,DROP[,START]], fifd:"),
        (WindowOptions(policy="keep-all:3"), "'--policy' is 'keep-all:3': expected"),
        (WindowOptions(policy="add-drop:2,3"), "'drop' is 3: expected at most add, which is 2"),
        (WindowOptions(policy="fifd:0"), "'rows' is 0: expected a whole number of at least 1"),
        (WindowOptions(policy="keep-for:soon"), "soon"),
    ],
)
def test_unusable_options_are_refused(options, expected):
    with pytest.raises(InvalidValue) as refused:
        options.chosen()
    assert expected in str(refused.value)
