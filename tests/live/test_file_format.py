"""The common format of files: equal bytes for equal content, and files that are refused."""

from __future__ import annotations

import os

import numpy as np
import pytest

from efface.errors import DamagedFile, ForeignFile, NewerFile
from efface.live import file_format
from efface.live.file_format import FileFormat, write_file

FORM = FileFormat("efface example", 2, "is no example")
ARRAYS = {"X": np.arange(6.0).reshape(3, 2), "n": np.array([3, -1])}


def content(version=2, arrays=None, **header):
    return b"".join(FORM.encode(version, header, ARRAYS if arrays is None else arrays))


def both(header, arrays):
    return header, arrays


def test_content_is_read_back_and_does_not_depend_on_the_layout_in_memory():
    header, arrays = FORM.decode(content(b=1, a="ö"), "f", both)
    assert (header["a"], header["b"]) == ("ö", 1)
    for name, values in ARRAYS.items():
        assert np.array_equal(arrays[name], values)
        assert arrays[name].dtype == values.dtype
    swapped = {
        name: np.asfortranarray(each).astype(each.dtype.newbyteorder(">"))
        for name, each in ARRAYS.items()
    }
    assert content(arrays=swapped, b=1, a="ö") == content(a="ö", b=1)


def test_files_that_are_damaged_foreign_or_newer_are_refused():
    whole = content()
    with pytest.raises(DamagedFile, match="'f' is damaged: its checksum"):
        FORM.decode(whole[:-1], "f", both)
    with pytest.raises(DamagedFile, match="first line"):
        FORM.decode(whole[:9], "f", both)
    with pytest.raises(ForeignFile, match="'f' is no example"):
        FORM.decode(b"else", "f", both)
    with pytest.raises(NewerFile, match="version 3: this efface reads up to 2"):
        FORM.decode(content(version=3), "f", both)
    with pytest.raises(DamagedFile, match="contradicts itself"):
        FORM.decode(whole, "f", lambda header, arrays: header["nothing"])
    with pytest.raises(DamagedFile, match="contradicts itself"):
        FORM.decode(content(arrays={"X": np.ones(2, np.float32)}), "f", both)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_file_that_could_not_be_written_leaves_the_old_one(tmp_path, monkeypatch, step):
    path = tmp_path / "file"
    write_file(path, [b"old"])

    def fail(*_):
        raise OSError("no space")

    monkeypatch.setattr(file_format.os, step, fail)
    with pytest.raises(OSError, match="no space"):
        write_file(path, [b"new"])
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]
