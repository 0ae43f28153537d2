"""Model files: their content, equal bytes for equal rows, and damaged files."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace

import numpy as np
import pytest

from efface.errors import DamagedFile, ForeignFile, NewerFile
from efface.live.snapshot import Snapshot, decode, encode, read, same, write

ROWS = Snapshot(
    model="Ridge",
    parameters={"alpha": 0.1, "window": {"FIFD": {"rows": 3}}},
    phase=2,
    features=["age", "größe"],
    ids=[3, "ann", 10**30],
    times=np.array([1, 2, 2]),
    X=np.array([[1.0, -0.0], [1e-320, 2.5], [1e308, 3.0]]),
    y=np.array([0.1, 0.2, 0.3]),
)


def sealed(content):
    return content + hashlib.sha256(content).digest()


def altered(**changes):
    """A file with a right checksum and a wrong header."""
    name, header, rest = encode(ROWS)[:-32].split(b"\n", 2)
    fields = {**json.loads(header), **changes}
    return sealed(b"\n".join([name, json.dumps(fields).encode(), rest]))


def test_a_snapshot_is_read_back_unchanged(tmp_path):
    write(tmp_path / "model", ROWS)
    again = read(tmp_path / "model")
    for name in ("model", "parameters", "phase", "features", "ids"):
        assert getattr(again, name) == getattr(ROWS, name)
    for name in ("times", "X", "y"):
        assert getattr(again, name).tobytes() == getattr(ROWS, name).tobytes()
        assert getattr(again, name).dtype == getattr(ROWS, name).dtype


def test_times_and_rows_may_be_missing():
    empty = replace(ROWS, ids=[], times=None, X=np.empty((0, 2)), y=np.empty(0))
    again = decode(encode(empty), "f")
    assert again.times is None
    assert again.X.shape == (0, 2)


def test_the_layout_is_the_documented_one():
    content = encode(ROWS)
    name, header, rest = content.split(b"\n", 2)
    assert name == b"efface model 1"
    fields = json.loads(header)
    assert (
        list(fields)
        == sorted(fields)
        == ["arrays", "features", "ids", "model", "parameters", "phase"]
    )
    assert fields["arrays"] == [["X", "<f8", [3, 2]], ["y", "<f8", [3]], ["times", "<i8", [3]]]
    assert rest[:48] == ROWS.X.astype("<f8").tobytes()
    assert content[-32:] == hashlib.sha256(content[:-32]).digest()
    assert len(rest) == 8 * (6 + 3 + 3) + 32


def test_equal_rows_give_equal_bytes():
    other = replace(
        ROWS, parameters=dict(reversed(ROWS.parameters.items())), X=np.asfortranarray(ROWS.X)
    )
    assert encode(other) == encode(ROWS)


def test_weights_are_the_last_array_of_a_later_version():
    weighed = replace(ROWS, weights=np.array([1.0, 0.0, 2.5]))
    content = encode(weighed)
    name, header, rest = content.split(b"\n", 2)
    assert name == b"efface model 2"
    assert json.loads(header)["arrays"][3] == ["weights", "<f8", [3]]
    assert rest[-56:-32] == weighed.weights.astype("<f8").tobytes()
    assert decode(content, "f").weights.tolist() == [1.0, 0.0, 2.5]


def test_without_weights_a_file_has_the_first_version():
    content = encode(ROWS)
    assert content.startswith(b"efface model 1\n")
    assert b"weights" not in content
    again = decode(content, "f")
    assert again.weights is None
    assert again.weighed.tolist() == [1.0, 1.0, 1.0]


MARKED = replace(ROWS, owners=["bob", None, "ann"], until=np.array([9, 2**63 - 1, 8]))


def test_owners_and_ends_make_a_third_version():
    content = encode(MARKED)
    name, header, rest = content.split(b"\n", 2)
    assert name == b"efface model 3"
    fields = json.loads(header)
    assert fields["owners"] == ["bob", "ann"]
    assert fields["arrays"][3:] == [["until", "<i8", [3]], ["owners", "<i8", [3]]]
    assert np.frombuffer(rest[-56:-32], "<i8").tolist() == [0, -1, 1]
    again = decode(content, "f")
    assert again.owners == ["bob", None, "ann"]
    assert again.until.tolist() == [9, 2**63 - 1, 8]
    assert encode(again) == content


def test_owners_may_be_there_without_ends_and_ends_without_owners():
    owned = decode(encode(replace(MARKED, until=None)), "f")
    assert (owned.owners, owned.until) == (["bob", None, "ann"], None)
    ended = decode(encode(replace(MARKED, owners=None)), "f")
    assert ended.owners is None
    assert b"owners" not in encode(replace(MARKED, owners=None))


@pytest.mark.parametrize(
    "changes",
    [
        {"owners": ["bob"]},
        {"owners": ["ann", "bob"][:1]},
        {"owners": ["bob", "bob"]},
        {"owners": ["bob", "ann", "eve"]},
        {"owners": ["bob", 1.5]},
        {"owners": ["bob", ["ann"]]},
        {"owners": None},
    ],
)
def test_a_table_of_owners_that_contradicts_the_rows_is_refused(changes):
    name, header, rest = encode(MARKED)[:-32].split(b"\n", 2)
    fields = {**json.loads(header), **changes}
    with pytest.raises(DamagedFile, match="its content contradicts itself"):
        decode(sealed(b"\n".join([name, json.dumps(fields).encode(), rest])), "f")


@pytest.mark.parametrize("rows", [ROWS, MARKED], ids=["plain", "with owners and ends"])
def test_every_flipped_bit_is_found(rows):
    content = encode(rows)
    for at in range(len(content)):
        spoiled = bytearray(content)
        spoiled[at] ^= 1 << (at % 8)
        with pytest.raises((DamagedFile, ForeignFile, NewerFile)):
            decode(bytes(spoiled), "f")


def test_every_truncated_file_is_refused():
    content = encode(ROWS)
    for length in range(1, len(content)):
        with pytest.raises(DamagedFile, match=r"'f' is damaged: .*; restore it from a backup"):
            decode(content[:length], "f")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"model efface 1\n"])
def test_foreign_files_are_refused(content):
    with pytest.raises(
        ForeignFile, match="'f' is not a model of efface: pass a file written by 'save'"
    ):
        decode(content, "f")


def test_a_file_of_a_later_version_is_refused():
    with pytest.raises(NewerFile, match="'f' has version 4: this efface reads up to 3; upgrade"):
        decode(sealed(b"efface model 4\nwhatever"), "f")


@pytest.mark.parametrize(
    "changes",
    [
        {"ids": [3, "ann"]},
        {"ids": [3, 3, "ann"]},
        {"ids": [[3], 4, 5]},
        {"features": ["age"]},
        {"phase": "2"},
        {"phase": -1},
        {"arrays": [["X", "<f8", [3, 2]], ["y", "<f8", [3]]]},
        {"arrays": [["X", "<f8", [6]], ["y", "<f8", [3]], ["times", "<i8", [3]]]},
        {"arrays": [["X", "|O", [3, 2]], ["y", "<f8", [3]], ["times", "<i8", [3]]]},
        {"arrays": [["X", "<f8", [3, 2]], ["y", "<f8", [300]], ["times", "<i8", [3]]]},
        {"arrays": [["X", "<f8", [-3, -2]], ["y", "<f8", [3]], ["times", "<i8", [3]]]},
        {"arrays": None},
    ],
)
def test_a_header_that_contradicts_the_rows_is_refused(changes):
    with pytest.raises(DamagedFile, match="its content contradicts itself"):
        decode(altered(**changes), "f")


@pytest.mark.parametrize(
    "rows",
    [
        replace(ROWS, times=np.array([2, 1, 3])),
        replace(ROWS, y=np.array([0.1, np.nan, 0.3])),
        replace(ROWS, X=np.full((3, 2), np.inf)),
        replace(ROWS, weights=np.array([1.0, -1.0, 1.0])),
        replace(ROWS, weights=np.array([1.0, np.nan, 1.0])),
        replace(ROWS, weights=np.ones(2)),
        replace(MARKED, until=np.array([9, 8])),
        replace(MARKED, until=np.array([9.0, 8.0, 7.0])),
        replace(MARKED, times=None, until=np.array([9.0, np.nan, 7.0])),
        replace(MARKED, owners=["bob", "ann"]),
    ],
)
def test_invalid_rows_are_refused(rows):
    with pytest.raises(DamagedFile, match="its content contradicts itself"):
        decode(encode(rows), "f")


def test_a_write_replaces_an_existing_file(tmp_path):
    path = tmp_path / "model"
    write(path, ROWS)
    write(path, replace(ROWS, phase=0))
    assert read(path).phase == 0
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize(
    "change",
    [
        {"phase": 1},
        {"model": "OLS"},
        {"ids": [0, 1, 4]},
        {"owners": ["ann", None, None]},
        {"weights": np.array([1.0, 2.0, 1.0])},
        {"X": np.array([[1.0], [2.0], [-0.0]])},
        {"times": np.arange(3)},
        {"until": np.arange(3.0)},
    ],
)
def test_snapshots_are_the_same_if_their_bytes_are(change):
    X = np.array([[1.0], [2.0], [0.0]])
    one = Snapshot("Ridge", {"window": 3}, 0, None, [0, 1, 2], None, X, X[:, 0].copy())
    assert same(one, replace(one, X=X.copy()))
    other = replace(one, **change)
    assert not same(one, other)
    assert encode(one) != encode(other)
