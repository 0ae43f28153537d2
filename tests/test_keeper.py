"""What models and scalers do alike: rows are kept, leave, and are written."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from efface import OLS, KeepFor, Ridge, WindowScaler, load
from efface.errors import NotFitted, UnknownId

KEEPERS = [OLS, lambda **given: Ridge(standardize=True, **given), WindowScaler]


def rows(n=12):
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, 2)), rng.normal(size=n)


@pytest.mark.parametrize("build", KEEPERS)
def test_rows_leave_by_name_and_by_time(build):
    keeper = build(window=KeepFor(10)).fit(*rows(), ids=list("abcdefghijkl"), at=np.arange(12))
    assert keeper.ids_ == list("cdefghijkl")
    keeper.forget(["d", "e", "d"])
    assert keeper.expire(14) == 1
    assert keeper.ids_ == list("fghijkl")
    assert keeper.n_rows_ == 7
    with pytest.raises(UnknownId, match="'id' is 'd': no live row has it"):
        keeper.forget("d")


@pytest.mark.parametrize("build", KEEPERS)
def test_files_pickles_and_copies_hold_the_live_rows_alone(build, tmp_path):
    X, y = rows()
    keeper = build(window=8).fit(X, y)
    keeper.forget(7)
    keeper.save(tmp_path / "one")
    live = [4, 5, 6, 8, 9, 10, 11]
    never = build(window=8).fit(X[live], y[live], ids=live)
    never.save(tmp_path / "other")
    content = (tmp_path / "one").read_bytes()
    assert content == (tmp_path / "other").read_bytes()
    for again in (
        load(tmp_path / "one"),
        pickle.loads(pickle.dumps(keeper)),
        copy.deepcopy(keeper),
    ):
        assert type(again) is type(keeper)
        assert again.ids_ == live
        again.save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == content
    assert X[7].tobytes() not in pickle.dumps(keeper)


@pytest.mark.parametrize("build", KEEPERS)
def test_before_the_first_row_there_is_nothing(build):
    keeper = build()
    for call in (lambda: keeper.n_rows_, lambda: keeper.save("nowhere"), lambda: keeper.expire(1)):
        with pytest.raises(NotFitted, match="is not fitted: call 'fit' or 'learn_one' first"):
            call()
    with pytest.raises(NotFittedError):
        check_is_fitted(keeper)
    assert not hasattr(copy.copy(keeper), "n_rows_")
    check_is_fitted(keeper.fit(*rows()))


@pytest.mark.parametrize("build", KEEPERS)
def test_a_new_fit_wipes_the_rows_of_the_last(build):
    keeper = build().fit(*rows())
    before = keeper._live.memory
    keeper.fit(*rows(5))
    assert keeper.n_rows_ == 5
    assert before.n_rows == 0
    assert not before.rows()[0].size
