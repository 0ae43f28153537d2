"""``efface tune``: its recommendation is a command that does what the table says."""

from __future__ import annotations

import json
import re
import shlex
from importlib.resources import files

import numpy as np
import pyarrow.parquet
import pytest
from command_line import here, run


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_recommendation_for_the_bike_data_is_verified_by_a_replay(place, monkeypatch, capsys):
    data = files("efface.files").joinpath("sample", "bikeshare.csv").read_bytes()
    (place / "bikeshare.csv").write_bytes(data)
    columns = ["--features", "temp,hum,windspeed", "--one-hot", "slot", "--time", "time"]
    arguments = ["bikeshare.csv", "--target", "bikers", *columns]
    assert here("tune", *arguments, "--chart", "tune.svg", monkeypatch=monkeypatch) in (0, None)
    shown = capsys.readouterr().out
    assert max(map(len, shown.split("efface replay")[0].splitlines())) <= 80
    text = " ".join(shown.split())
    assert "least squares needs 562 rows, and no method fewer than 535" in text
    (line,) = [each for each in shown.splitlines() if each.startswith("efface replay")]
    assert (place / "tune.svg").exists()

    def errors(extra, out):
        words = [*extra, "--out", out]
        assert here(*words, monkeypatch=monkeypatch) == 0
        found = pyarrow.parquet.read_table(place / out / "predictions.parquet")
        y, prediction = found["y"].to_numpy(), found["prediction"].to_numpy()
        return np.abs(prediction - y)[len(y) // 5 :].mean()

    recommended = errors(shlex.split(line)[1:], "recommended")
    chosen = re.search(r"Recommended: (.*?)\.\s", " ".join(shown.split()))[1]
    assert chosen == "OLS, half-life 3d in 30d"  # better than all windows
    cells = [re.split(r"\s{2,}", line.strip()) for line in shown.splitlines()]
    (stated,) = [each[3] for each in cells if each[:3] == ["OLS", "30d", "3d"]]
    assert recommended == pytest.approx(float(stated.split()[0]), abs=0.051)
    assert recommended < errors(["replay", *arguments, "--keep", "90d"], "longer")
    assert recommended < errors(["replay", *arguments, "--keep", "3d"], "shorter")
    summary = json.loads((place / "recommended" / "summary.json").read_text())
    words = shlex.split(line)
    assert summary["model"]["keep"] == words[words.index("--keep") + 1]
    assert summary["model"]["halflife"] == words[words.index("--half-life") + 1]


@pytest.fixture
def small(place):
    rng = np.random.default_rng(0)
    rows = [f"{x},{2 * x + e}\n" for x, e in rng.normal(size=(200, 2))]
    (place / "rows.csv").write_text("x,y\n" + "".join(rows))
    return "rows.csv"


def test_half_lives_can_be_named(small):
    found = run("tune", small, "--target", "y", "--half-lives", "20,50")
    assert found.returncode == 0, found.stderr
    assert re.search(r"OLS +- +20 rows +[\d.]+ ±", found.stdout)
    assert "all rows" not in found.stdout
    assert "…" not in found.stdout
    assert "--half-life" in found.stdout.splitlines()[-1]
    assert "--policy" not in found.stdout


def test_numbers_are_read_as_people_write_them(place, small):
    text = (place / small).read_text().replace(",", "\t").replace(".", ",")
    (place / "comma.tsv").write_bytes(text.encode("utf-16"))
    told = ["--delimiter", "tab", "--decimal", ","]
    found = run("tune", "comma.tsv", "--target", "y", "--windows", "20", *told)
    assert found.returncode == 0, found.stderr
    plain = run("tune", small, "--target", "y", "--windows", "20")
    assert found.stdout.splitlines()[:-1] == plain.stdout.splitlines()[:-1]
    assert "--decimal ," in found.stdout


def test_windows_can_be_named(small):
    found = run("tune", small, "--target", "y", "--windows", "20,all")
    assert found.returncode == 0, found.stderr
    assert "20 rows" in found.stdout
    assert "all rows" in found.stdout
    assert run("tune", small, "--target", "z").returncode == 2
