"""The results folder appears complete, or not at all."""

from __future__ import annotations

import json
import shutil

import pytest

from efface.errors import InvalidValue
from efface.files.output import SUMMARY, as_json, folder, write_summary


def names(path):
    return sorted(each.name for each in path.iterdir())


def test_the_folder_appears_when_everything_is_written(tmp_path):
    with folder(tmp_path / "deep" / "out") as inside:
        write_summary(inside, {"a": 1})
        assert not (tmp_path / "deep" / "out").exists()
    assert names(tmp_path / "deep") == ["out"]
    assert json.loads((tmp_path / "deep" / "out" / SUMMARY).read_text()) == {"a": 1}


@pytest.mark.parametrize("end", [ValueError, KeyboardInterrupt, SystemExit])
def test_nothing_remains_after_an_error_or_interrupt(tmp_path, end):
    def begin():
        with folder(tmp_path / "out") as inside:
            (inside / SUMMARY).write_text("half")
            raise end

    with pytest.raises(end):
        begin()
    assert names(tmp_path) == []


def test_an_existing_folder_is_refused_or_replaced_as_a_whole(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / SUMMARY).write_text("old")
    (out / "predictions.csv").write_text("old")
    with pytest.raises(InvalidValue, match="already exists"), folder(out):
        pass
    with folder(out, overwrite=True) as inside:
        (inside / SUMMARY).write_text("new")
        assert (out / SUMMARY).read_text() == "old"
    assert names(out) == [SUMMARY]
    assert names(tmp_path) == ["out"]


def test_foreign_files_are_never_replaced(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("years")
    with pytest.raises(InvalidValue, match=r"holds 'thesis.tex'"), folder(out, overwrite=True):
        pass
    (tmp_path / "file").write_text("x")
    with (
        pytest.raises(InvalidValue, match="not overwritten"),
        folder(tmp_path / "file", overwrite=True),
    ):
        pass
    assert names(out) == ["thesis.tex"]


def test_the_old_folder_is_restored_if_it_cannot_be_replaced(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / SUMMARY).write_text("old")

    def begin():
        with folder(out, overwrite=True) as inside:
            shutil.rmtree(inside)  # nothing to rename

    with pytest.raises(FileNotFoundError):
        begin()
    assert (out / SUMMARY).read_text() == "old"
    assert names(tmp_path) == ["out"]


def test_an_unwritable_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InvalidValue, match="cannot be written"), folder(tmp_path / "file" / "out"):
        pass


def test_summaries_contain_no_nan():
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json({"a": float("nan")})
