"""Fleet files: the same bytes for the same rows, whatever came before, and damage is found."""

from __future__ import annotations

import numpy as np
import pytest

from efface import OLS, Fleet, Ridge, load
from efface.errors import DamagedFile, ForeignFile, NewerFile

X, Y = np.random.default_rng(1).normal(size=(40, 2)), np.arange(40.0)


def saved(fleet, path):
    fleet.save(path)
    return path.read_bytes()


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("marked", [False, True])
def test_the_bytes_follow_from_the_live_rows_alone(tmp_path, named, marked):
    rng, path = np.random.default_rng(2), tmp_path / "f"
    keys = [["a", 5, "b", -2][k] for k in rng.integers(0, 4, 40)]
    ids = [f"r{k}" if named and k % 3 else k for k in range(40)]
    given = {"ids": ids, "at": np.sort(rng.integers(0, 9, 40)).astype(float)}
    if marked:
        given["owners"] = [["ann", None, "bob", 3][k] for k in rng.integers(0, 4, 40)]
        given["until"] = [None if k % 4 else 100.0 for k in range(40)]
        given["sample_weight"] = rng.choice([1.0, 2.0], 40)
    gone = rng.random(40) < 0.4
    fleet = Fleet(Ridge(window=None, alpha=1.0))
    for part in np.array_split(np.arange(40), 3):  # learned in parts, then forgotten
        picked = {name: [values[k] for k in part] for name, values in given.items()}
        fleet.learn([keys[k] for k in part], X[part], Y[part], **picked)
    fleet.forget([ids[k] for k in np.flatnonzero(gone)])
    never = Fleet(Ridge(window=None, alpha=1.0))
    stay = np.flatnonzero(~gone)[::-1]  # other keys first
    stay = stay[np.argsort(np.array(given["at"])[stay], kind="stable")]
    order = sorted(np.flatnonzero(~gone), key=lambda k: (str(keys[k]), k))
    picked = {name: [values[k] for k in order] for name, values in given.items()}
    never.learn([keys[k] for k in order], X[order], Y[order], **picked)
    content = saved(fleet, path)
    assert content == saved(never, path)
    again = Fleet.load(path)
    assert saved(again, path) == content
    assert again.residues() == []
    assert again.ids_ == fleet.ids_
    assert np.array_equal(again.coef(), fleet.coef())


def test_names_of_features_are_kept(tmp_path):
    import pandas as pd

    frame = pd.DataFrame({"k": [1, 2, 1], "u": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 6.0]})
    fleet = Fleet(OLS(fit_intercept=False))
    fleet.learn(by="k", X=frame, y="y")
    fleet.save(tmp_path / "f")
    again = Fleet.load(tmp_path / "f")
    assert again[1].feature_names_in_.tolist() == ["u"]
    assert again.predict([1], frame[["u"]].head(1)).tolist() == [2.0]


def test_damaged_and_foreign_files_are_refused(tmp_path):
    path = tmp_path / "f"
    fleet = Fleet(Ridge())
    fleet.learn([1, 2], X[:2], Y[:2])
    content = saved(fleet, path)
    for at in range(0, len(content), 7):
        broken = bytearray(content)
        broken[at] ^= 1
        path.write_bytes(broken)
        with pytest.raises((DamagedFile, ForeignFile, NewerFile)):
            Fleet.load(path)
    path.write_bytes(content[:-5])
    with pytest.raises(DamagedFile, match="checksum"):
        Fleet.load(path)
    path.write_bytes(content.replace(b"fleet 1", b"fleet 9", 1))
    with pytest.raises(NewerFile, match="version 9"):
        Fleet.load(path)
    path.write_bytes(content)
    with pytest.raises(ForeignFile):
        load(path)
    fleet[1].save(path)
    with pytest.raises(ForeignFile, match="is not a fleet"):
        Fleet.load(path)


def test_a_file_that_contradicts_itself_is_refused(tmp_path):
    fleet = Fleet(Ridge())
    fleet.learn([1, 2], X[:2], Y[:2], ids=[7, 8])
    held = fleet._held.rows
    held.table.ids[held.live()] = 14  # both rows have the id 7
    path = tmp_path / "f"
    fleet.save(path)
    with pytest.raises(DamagedFile, match="a key or an id comes twice"):
        Fleet.load(path)
