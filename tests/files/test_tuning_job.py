"""The file is tuned as its arrays are, and the command runs the recommended model."""

from __future__ import annotations

import shlex

import numpy as np
import pytest

from efface import AutoRidge, Ridge, tune
from efface.errors import InvalidValue
from efface.files.number_text import NumberFormat
from efface.files.schema import RequestedColumns
from efface.files.text_readers import TextFormat
from efface.files.tuning_job import TuningJob, command, run_tuning, save_chart

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2)).round(5)
Y = (X @ [1.0, 2.0] + RNG.normal(size=300)).round(5)


@pytest.fixture
def path(tmp_path):
    lines = [f"{a},{b},{y}\n" for (a, b), y in zip(X, Y, strict=True)]
    (tmp_path / "rows.csv").write_text("a,b,y\n" + "".join(lines))
    return tmp_path / "rows.csv"


def test_a_file_is_tuned_as_its_arrays_are(path):
    found = run_tuning(TuningJob([str(path)], RequestedColumns("y"), [30, None]))
    expected = tune(X, Y, windows=[30, None])
    assert [trial.mae for trial in found.trials] == [trial.mae for trial in expected.trials]
    save_chart(found, path.parent / "tune.png")
    assert (path.parent / "tune.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InvalidValue, match=r"cannot be written: .*; name another --chart"):
        save_chart(found, path.parent / "tune.txt3")


def test_the_command_names_every_option():
    roles = RequestedColumns("y", ["a b"], time="t", one_hot={"sky": ("x", "y"), "m": ()})
    text = TextFormat(";", None, "cp1252", NumberFormat(",", "."))
    job = TuningJob(["my file.csv"], roles, missing="skip", text=text)
    words = shlex.split(command(AutoRidge(window="7d", fit_intercept=True), job))
    assert words[:5] == ["efface", "replay", "my file.csv", "--target", "y"]
    pairs = {"--features": "a b", "--time": "t", "--delimiter": ";", "--decimal": ","}
    pairs |= {"--thousands": ".", "--encoding": "cp1252", "--missing": "skip", "--keep": "7d"}
    for option, value in (pairs | {"--model": "auto"}).items():
        assert words[words.index(option) + 1] == value
    assert [words[k + 1] for k, w in enumerate(words) if w == "--one-hot"] == ["sky=x,y", "m"]
    plain = TuningJob(["f.csv"], RequestedColumns("y"))
    line = command(Ridge(window=50, alpha=0.1, standardize=True), plain)
    assert line.endswith("--model ridge --alpha 0.1 --standardize --window 50")
    assert command(Ridge(), plain).endswith("--model ridge --policy keep-all")
    assert command(Ridge(halflife=20), plain).endswith("--model ridge --half-life 20")
    fading = command(AutoRidge(window="30d", halflife="3d"), plain)
    assert fading.endswith("--model auto --half-life 3d --keep 30d")
