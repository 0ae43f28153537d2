"""``efface replay`` and ``efface sample``: output, files and exit codes."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from importlib.resources import files
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from command_line import COMMAND, here, run

from efface import OLS, AdaptiveRidge, AddDrop, AutoRidge, Ridge, SwitchingRidge, load, replay

RNG = np.random.default_rng(2)
N = 300
X = RNG.normal(size=(N, 2)).round(6)
Y = (X @ [3.0, -1.0] + 2.0 + RNG.normal(size=N)).round(6)
ADAPTIVE = ["--model", "adaptive", "--theta-max", "5"]
OPTIONS = ["--target", "y", "--window", "40", *ADAPTIVE]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def table(path="rows.csv", extra=lambda t: "", more=""):
    lines = [f"{a},{b},{y}{extra(t)}\n" for t, ((a, b), y) in enumerate(zip(X, Y, strict=True))]
    with open(path, "w") as file:
        file.write(f"a,b,y{more}\n" + "".join(lines))
    return path


def assert_close(found, expected, name):
    """Equal up to rounding: a file is replayed in parts, and each part starts its own sums."""
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_predictions_equal_the_library_row_for_row(place, monkeypatch, form):
    table()
    assert here("replay", "rows.csv", *OPTIONS, "--format", form, monkeypatch=monkeypatch) == 0
    read = {"csv": pyarrow.csv.read_csv, "parquet": pyarrow.parquet.read_table}[form]
    found = read(place / "rows-replay" / f"predictions.{form}")
    expected = replay(AdaptiveRidge(40, theta_max=5.0), X, Y, diagnostics=True, interval=0.95)
    assert found.column_names == [
        *("id", "y", "prediction", "lower", "upper", "penalty", "rank", "n_rows"),
        *("leverage", "leverage_oldest", "frt"),
    ]
    columns = {
        "y": Y,
        "prediction": expected.prediction,
        "lower": expected.lower,
        "upper": expected.upper,
        "penalty": expected.penalty,
        "rank": expected.rank,
        "n_rows": expected.n_rows,
        "leverage": expected.leverage_new,
        "leverage_oldest": expected.leverage_old,
        "frt": expected.frt,
    }
    assert found["id"].to_pylist() == list(range(N))
    for name, values in columns.items():
        column = found[name].to_numpy().astype(float)
        assert_close(column, np.asarray(values, dtype=float), name)


def test_weights_and_scaling_equal_the_library(place, monkeypatch, capsys):
    weights = RNG.choice([0.0, 0.25, 2.0], size=N)
    table(extra=lambda t: f",{weights[t]}", more=",hours")
    options = [*OPTIONS, "--weight", "hours", "--standardize"]
    assert here("replay", "rows.csv", *options, monkeypatch=monkeypatch) == 0
    found = pyarrow.parquet.read_table(place / "rows-replay" / "predictions.parquet")
    model = AdaptiveRidge(40, theta_max=5.0, standardize=True)
    expected = replay(model, X, Y, diagnostics=True, interval=0.95, sample_weight=weights)
    assert found.column_names[:3] == ["id", "weight", "y"]
    for name in ("prediction", "penalty", "n_rows", "frt"):
        assert_close(found[name].to_numpy(), getattr(expected, name), name)
    shown = " ".join(capsys.readouterr().out.split())
    assert "predicting y, theta_max = 5.0, features standardised, rows weighted by hours" in shown


@pytest.mark.parametrize("typed", [["--half-life", "12"], ["--half-life", "12", "--window", "50"]])
def test_a_half_life_gives_the_rows_of_the_library(place, monkeypatch, capsys, typed):
    table()
    options = ["--target", "y", "--model", "ridge", *typed, "--save", "faded.efface"]
    assert here("replay", "rows.csv", *options, monkeypatch=monkeypatch) == 0
    found = pyarrow.parquet.read_table(place / "rows-replay" / "predictions.parquet")
    window = 50 if "--window" in typed else None
    model = Ridge(window, halflife=12.0)
    wanted = {"diagnostics": True, "interval": 0.95, "method": "local"}
    expected = replay(model, X, Y, **wanted)
    for name in ("prediction", "n_rows", "lower", "upper", "frt"):  # the file comes in parts
        np.testing.assert_allclose(found[name].to_numpy(), getattr(expected, name), rtol=1e-9)
    summary = json.loads((place / "rows-replay" / "summary.json").read_text())
    assert summary["model"]["halflife"] == 12.0
    assert summary["model"]["window"] == (window or 636)
    assert "half-life 12.0" in " ".join(capsys.readouterr().out.split())
    assert load("faded.efface").ids_ == model.ids_


def comma(text):
    return text.replace(",", ";").replace(".", ",")


def halves(text):
    lines = text.splitlines(keepends=True)
    return "".join(lines[:100]), lines[0] + "".join(lines[100:])


def parquet(text):
    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(pa.BufferReader(text.encode())), sink)
    return sink.getvalue().to_pybytes()


FILES = {  # the bytes of files as people have them, and the options that they need
    "gzip": ({"rows.csv.gz": lambda text: gzip.compress(text.encode())}, []),
    "gzip without its extension": ({"rows.csv": lambda text: gzip.compress(text.encode())}, []),
    "UTF-16": ({"rows.csv": lambda text: text.encode("utf-16")}, []),
    "cp1252": (
        {"rows.csv": lambda text: text.replace("b,", "größe,", 1).encode("cp1252")},
        ["--encoding", "cp1252"],
    ),
    "a decimal comma": (
        {"rows.csv": lambda text: comma(text).encode()},
        ["--delimiter", ";", "--decimal", ","],
    ),
    "several": (
        {
            "a.csv": lambda text: halves(text)[0].encode(),
            "b.parquet": lambda text: parquet(halves(text)[1]),
        },
        [],
    ),
}


def same_predictions(folder):
    found = pyarrow.parquet.read_table(folder / "predictions.parquet")
    expected = replay(AdaptiveRidge(40, theta_max=5.0), X, Y).prediction
    assert_close(found["prediction"].to_numpy(), expected, "prediction")


@pytest.mark.parametrize("kind", FILES)
def test_files_as_people_have_them_give_the_same_rows(place, monkeypatch, kind):
    contents, options = FILES[kind]
    text = Path(table("plain.csv")).read_text()
    for name, content in contents.items():
        (place / name).write_bytes(content(text))
    arguments = ["replay", *contents, *OPTIONS, *options, "--out", "out"]
    assert here(*arguments, monkeypatch=monkeypatch) == 0
    same_predictions(place / "out")


def test_a_pattern_names_several_files(place, monkeypatch, capsys):
    for name, text in zip("12", halves(Path(table("plain.csv")).read_text()), strict=True):
        (place / f"part-{name}.csv").write_text(text)
    assert here("replay", "part-*.csv", *OPTIONS, monkeypatch=monkeypatch) == 0
    same_predictions(place / "part-1-replay")
    assert "on part-1.csv and 1 more file, predicting" in capsys.readouterr().out


PIPES = {
    "CSV": lambda text: text.encode(),
    "gzip": lambda text: gzip.compress(text.encode()),
    "UTF-16": lambda text: text.encode("utf-16"),
    "Parquet": parquet,
    "JSON Lines": lambda text: "".join(
        f'{{"a": {a}, "b": {b}, "y": {y}}}\n'
        for a, b, y in (line.split(",") for line in text.splitlines()[1:])
    ).encode(),
}


@pytest.mark.parametrize("kind", PIPES)
def test_pipes_that_cannot_seek_give_the_same_rows(place, kind):
    data = PIPES[kind](Path(table()).read_text())
    read, write = os.pipe()
    feeder = threading.Thread(target=feed, args=(write, data))
    feeder.start()
    found = run("replay", "-", *OPTIONS, stdin=read)
    os.close(read)
    feeder.join()
    assert found.returncode == 0, found.stderr
    same_predictions(place / "stdin-replay")


def feed(write, data):
    with open(write, "wb") as pipe:
        pipe.write(data)


def test_a_named_pipe_gives_the_same_rows(place):
    os.mkfifo("rows.pipe")
    data = Path(table()).read_text().encode()
    feeder = threading.Thread(target=lambda: (place / "rows.pipe").write_bytes(data))
    feeder.start()
    found = run("replay", "rows.pipe", *OPTIONS)
    feeder.join()
    assert found.returncode == 0, found.stderr
    same_predictions(place / "rows-replay")


def test_separators_of_thousands_and_truth_values_are_read(place, monkeypatch, capsys):
    rows = [f"{1000 * t:_};{t % 3 == 0};{2000 * t:_}\n".replace("_", ".") for t in range(1, 60)]
    (place / "rows.csv").write_text("a;b;y\n" + "".join(rows) + ";True;1\n")
    options = ["--delimiter", ";", "--decimal", ",", "--thousands", ".", "--missing", "skip"]
    arguments = ["replay", "rows.csv", "--target", "y", "--model", "ols", *options]
    assert here(*arguments, monkeypatch=monkeypatch) == 0
    found = pyarrow.parquet.read_table(place / "rows-replay" / "predictions.parquet")
    assert found["y"].to_pylist() == [2000.0 * t for t in range(1, 60)]
    np.testing.assert_allclose(found["prediction"].to_numpy()[10:], found["y"].to_numpy()[10:])
    assert "1 row skipped, because a value is missing" in capsys.readouterr().out


def test_what_a_killed_run_left_is_removed_by_the_next(place, monkeypatch):
    command = [*COMMAND, "replay", "-", *OPTIONS, "--out", "out"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(b"a,b,y\n" + b"1,2,3\n" * 2_000_000)
        process.stdin.flush()
        limit = time.monotonic() + 120
        while not any(name.endswith(".partial") for name in os.listdir()):
            assert time.monotonic() < limit
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
        process.stdin.close()
    assert any(name.endswith(".partial") for name in os.listdir())
    assert here("replay", table(), *OPTIONS, "--out", "out", monkeypatch=monkeypatch) == 0
    assert sorted(os.listdir()) == ["out", "rows.csv"]


def test_a_negative_weight_is_refused_with_its_line(place, monkeypatch, capsys):
    table(extra=lambda t: f",{-1 if t == 41 else 1}", more=",hours")
    options = [*OPTIONS, "--weight", "hours"]
    assert here("replay", "rows.csv", *options, monkeypatch=monkeypatch) == 2
    error = capsys.readouterr().err
    assert "efface: 'rows.csv' at line 43, column 'hours' is -1.0: expected a number" in error
    assert [each.name for each in place.iterdir()] == ["rows.csv"]


@pytest.mark.parametrize(
    ("typed", "model"),
    [
        ([], AutoRidge(40)),
        (["--model", "adaptive", "--theta-max", "2"], AdaptiveRidge(40, theta_max=2.0)),
    ],
)
def test_the_model_is_auto_unless_another_is_named(typed, model, place, monkeypatch):
    table()
    options = ["--target", "y", "--window", "40", "--format", "csv", *typed]
    assert here("replay", "rows.csv", *options, monkeypatch=monkeypatch) == 0
    found = pyarrow.csv.read_csv(place / "rows-replay" / "predictions.csv")
    expected = replay(model, X, Y).prediction
    np.testing.assert_allclose(found["prediction"].to_numpy(), expected, rtol=1e-9, atol=1e-9)


def test_a_customer_returns_after_the_last_row_has_left(place, monkeypatch):
    days = np.datetime64("2024-01-01") + np.arange(N) // 2
    customers = [f"c{t % 5}" for t in range(N)]  # each returns after two or three days
    table(extra=lambda t: f",{days[t]},{customers[t]}", more=",day,customer")
    options = ["--target", "y", "--id", "customer", "--time", "day", "--keep", "2d"]
    assert here("replay", "rows.csv", *options, "--format", "csv", monkeypatch=monkeypatch) == 0
    found = pyarrow.csv.read_csv(place / "rows-replay" / "predictions.csv")
    model = AutoRidge(window="2d")
    for t in range(N):
        if t:
            model.expire(days[t])
            expected = pytest.approx(model.predict_one(X[t]), rel=1e-9, abs=1e-9)
            assert found["prediction"][t].as_py() == expected
        model.learn_one(X[t], Y[t], id=customers[t], at=days[t])


def test_the_screen_shows_the_result_and_the_report(place, monkeypatch, capsys):
    table()
    assert here("replay", "rows.csv", *OPTIONS, monkeypatch=monkeypatch) == 0
    shown = capsys.readouterr()
    assert shown.err == ""  # not a terminal: no progress bar
    assert "AdaptiveRidge on rows.csv, predicting y" in shown.out
    assert "260 forgotten, 40 live" in shown.out
    assert "rows-replay/report.html" in shown.out
    assert sorted(os.listdir("rows-replay")) == [
        *("predictions.parquet", "report.html", "summary.json")
    ]


def test_json_is_the_summary(place, monkeypatch, capsys):
    table()
    arguments = ["replay", "rows.csv", *OPTIONS, "--json", "--out", "deep/er"]
    assert here(*arguments, monkeypatch=monkeypatch) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((place / "deep" / "er" / "summary.json").read_text())
    assert printed["rows"] == {
        **{"read": 300, "skipped": 0, "hidden": 0, "scored": 297, "groups": 1},
        **{"started": 0, "alive": 40},
    }


def test_csv_from_standard_input(place):
    table()
    with open("rows.csv") as rows:
        result = run("replay", "-", *OPTIONS, "--json", stdin=rows)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["source"]["file"] == "standard input"
    assert os.path.exists("stdin-replay/report.html")


def test_an_unknown_id_gives_exit_code_1(place, monkeypatch, capsys):
    table()
    (place / "ids.txt").write_text("290\n4711\n3\n")
    code = here("replay", "rows.csv", *OPTIONS, "--forget", "ids.txt", monkeypatch=monkeypatch)
    assert code == 1
    shown = capsys.readouterr().out
    assert "no row had this id" in shown
    assert shown.count("✓") == 2
    outcomes = json.loads((place / "rows-replay" / "summary.json").read_text())["requests"]
    assert [each["status"] for each in outcomes] == ["forgotten", "unknown", "already gone"]


def test_a_person_is_forgotten_from_the_command_line(place, monkeypatch, capsys):
    table(extra=lambda t: f",p{t % 25}", more=",who")
    (place / "asked.csv").write_text("row,owner\n150,p7\n290,p3\n")
    options = [*OPTIONS, "--owner", "who", "--forget", "asked.csv"]
    assert here("replay", "rows.csv", *options, monkeypatch=monkeypatch) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "2 requests: 2 of 25 people and 3 rows forgotten, in " in shown
    assert "every audit passed" in shown
    assert "owner p7 row 150 forgotten 1 " in shown
    found = pyarrow.parquet.read_table(place / "rows-replay" / "predictions.parquet")
    assert found["owner"].to_pylist() == [f"p{t % 25}" for t in range(N)]
    model = AdaptiveRidge(40, theta_max=5.0)
    owners = [f"p{t % 25}" for t in range(N)]
    before = replay(model, X[:150], Y[:150], ids=range(150), owners=owners[:150])
    assert model.forget(owner="p7") == 1
    after = replay(model, X[150:290], Y[150:290], ids=range(150, 290), owners=owners[150:290])
    expected = [*before.prediction, *after.prediction]
    np.testing.assert_allclose(found["prediction"].to_numpy()[:290], expected, rtol=1e-9, atol=1e-9)


ALGORITHMS = {  # of the paper, on the command line and in the library
    "FIFD-OLS": (["--model", "ols", "--window", "40"], lambda: OLS(40, fit_intercept=False)),
    "FIFD-Adaptive Ridge": (
        ["--model", "adaptive", "--theta-max", "1", "--delta", "0.1", "--window", "40"],
        lambda: AdaptiveRidge(40, delta=0.1, theta_max=1.0, fit_intercept=False),
    ),
    "switching": (
        ["--model", "switching", "--switch-at", "3", "--policy", "fifd:40"],
        lambda: SwitchingRidge(40, switch_at=3.0, fit_intercept=False),
    ),
    "(+3, -1)": (
        ["--model", "ols", "--policy", "add-drop:3"],
        lambda: OLS(AddDrop(3), fit_intercept=False),
    ),
}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_of_the_paper_can_be_run(place, monkeypatch, name):
    options, make = ALGORITHMS[name]
    table()
    arguments = ["--target", "y", *options, "--no-intercept", "--coefficients"]
    assert here("replay", "rows.csv", *arguments, monkeypatch=monkeypatch) == 0
    found = pyarrow.parquet.read_table(place / "rows-replay" / "predictions.parquet")
    expected = replay(make(), X, Y, coef=True)
    np.testing.assert_allclose(found["prediction"].to_numpy(), expected.prediction, rtol=1e-9)
    assert found["n_rows"].to_pylist() == expected.n_rows.tolist()
    coefficients = pyarrow.parquet.read_table(place / "rows-replay" / "coefficients.parquet")
    assert coefficients.column_names == ["id", "intercept", "coef_a", "coef_b"]
    assert coefficients["id"].to_pylist() == list(range(N))
    assert set(coefficients["intercept"].to_pylist()) == {0.0}
    rows = np.column_stack([coefficients["coef_a"], coefficients["coef_b"]])
    np.testing.assert_allclose(rows, expected.coef, rtol=1e-9, atol=1e-12)


def test_a_nightly_job_goes_on_from_its_own_model(place, monkeypatch, capsys):
    table()
    assert here("replay", "rows.csv", *OPTIONS, "--save", "m.efface", monkeypatch=monkeypatch) == 0
    again = ["replay", "rows.csv", "--target", "y", "--from", "m.efface", "--save", "m.efface"]
    assert here(*again, "--out", "two", monkeypatch=monkeypatch) == 2
    assert "'m.efface' already exists: name another --save, or add --overwrite." in (
        capsys.readouterr().err
    )
    assert here(*again, "--overwrite", "--out", "two", monkeypatch=monkeypatch) == 0
    assert load("m.efface").ids_ == list(range(2 * N - 40, 2 * N))
    summary = json.loads((place / "two" / "summary.json").read_text())
    assert summary["rows"]["started"] == 40
    assert summary["left"] == {"asked": 0, "window_full": N, "time_up": 0}


BAD = {
    "empty": (b"", [], "'bad.csv' is empty"),
    "header only": (b"a,b,y\n", [], "'bad.csv' has a header but no rows"),
    "ragged rows": (b"a,b,y\n1,2,3\n4,5\n", [], "'bad.csv' at line 3 has 2 values: expected 3"),
    "wrong delimiter": (
        b"a;b;y\n1;2;3\n",
        [],
        "values seem to be separated by ';'; add --delimiter ';'",
    ),
    "unknown column": (b"a,b,yy\n1,2,3\n", [], "has no column 'y': did you mean 'yy'?"),
    "binary junk": (bytes(range(256)), [], "'bad.csv' is not text"),
    "junk without zeros": (b"\xfa\xfb,\xc3(\n1,2\n", [], "'bad.csv' is not UTF-8 text"),
    "cut UTF-16": ("a,b,y\n1,2,3".encode("utf-16")[:-1], [], "'bad.csv' is not text in 'utf-16'"),
    "a decimal comma": (
        b"a;b;y\n1,5;2;3\n",
        ["--delimiter", ";"],
        "column 'a' is '1,5': expected a number; add --decimal ','",
    ),
    "a target of text": (
        b"a,b,y\n1,2,low\n3,4,high\n",
        [],
        "'bad.csv' at line 2, column 'y' is 'low': expected a number; name another --target.",
    ),
    "a target of times": (
        b"a,b,y\n1,2,2011-01-01\n",
        [],
        "column 'y' holds times: expected numbers; name another --target.",
    ),
    "late text in the target": (
        b"a,b,y\n" + b"1,2,3\n2,1,5\n4,7,2\n6,1,1\n" * 50_000 + b"1,3,two\n",
        [],
        "column 'y' is 'two': expected a number; correct it, or name another --target.",
    ),
    "a ZIP archive": (b"PK\x03\x04" + bytes(40), [], "'bad.csv' is a ZIP archive or an Excel"),
    "gap in the target": (
        b"a,b,y\n1,2,3\n1,2,NaN\n",
        [],
        "'bad.csv' at line 3, column 'y' is missing: expected a value; add --missing skip.",
    ),
    "text": (b"a,b,y\nred,2,3\nblue,2,3\n", [], "'a' is 'red': expected a number; add --one-hot a"),
    "late text": (
        b"a,b,y\n" + b"1,2,3\n2,1,5\n4,7,2\n6,1,1\n" * 50_000 + b"1,two,3\n",
        [],
        "'bad.csv' at line 200002, column 'b' is 'two': expected a number",
    ),
    "duplicated ids": (
        b"a,b,y\n1,2,3\n2,2,4\n1,5,3\n",
        ["--id", "a"],
        "'bad.csv' at line 4, column 'a' is 1: expected an id that no live row has",
    ),
    "times out of order": (
        b"a,b,y\n1,2,3\n3,2,4\n2,5,3\n",
        ["--time", "a"],
        "'bad.csv' at line 4, column 'a' is 2.0: expected no earlier than 3.0",
    ),
    "all gaps": (b"a,b,y\n,2,3\n1,,3\n", ["--missing", "skip"], "'bad.csv' is 'all gaps'"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_gives_one_line_exit_code_2_and_no_folder(place, monkeypatch, capsys, name):
    text, options, expected = BAD[name]
    (place / "bad.csv").write_bytes(text)
    arguments = ["replay", "bad.csv", "--target", "y", *options]
    assert here(*arguments, monkeypatch=monkeypatch) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("efface: ")
    assert expected in shown.err
    assert shown.err.count("\n") == 1
    assert os.listdir() == ["bad.csv"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--window", "9", "--keep", "3d"], "'--window' and '--keep' both decide when rows leave"),
        (["--keep", "3d"], "'--keep' needs the age of rows"),
        (
            ["--keep", "3", "--time", "a", "--alpha", "2"],
            "'--alpha' has no meaning for --model auto",
        ),
        (["--half-life", "3d"], "'--half-life' needs the age of rows: name their --time"),
        (["--half-life", "3", "--group", "a"], "'halflife' is 3.0: expected None in a Fleet"),
        (["--half-life", "-3"], "'halflife' is -3.0: expected a finite number above 0"),
        (["--window", "0"], "'rows' is 0: expected a whole number of at least 1"),
        (["--interval", "95"], "'interval' is 95.0: expected"),
        (["--lower", "3", "--upper", "1"], "'lower' is 3.0: expected less than 'upper', 1.0"),
        (["--upper", "nan"], "'upper' is nan: expected a finite number"),
        (["--model", "ridge", "--alpha", "-1"], "'alpha' is -1.0: expected"),
        (["--model", "lasso"], "'--model' is 'lasso': expected 'auto' or 'ridge'"),
        (["--forget", "none.txt"], "'none.txt' does not exist"),
        (["--policy", "lifo"], "'--policy' is 'lifo': expected add-drop:ADD[,DROP[,START]], fifd"),
        (["--policy", "keep-for:3d"], "'--policy' needs the age of rows: name their --time"),
        (["--until", "a"], "'--until' is 'a', but rows have no time: name their --time column."),
        (["--from", "none.efface"], "'none.efface' cannot be read: No such file or directory"),
        (["--save", "no/m.efface"], "'no' is not a folder: name another --save."),
        (["--model", "ols", "--delta", "0.1"], "'--delta' has no meaning for --model ols"),
    ],
)
def test_unusable_options_are_refused(place, monkeypatch, capsys, options, expected):
    table()
    assert here("replay", "rows.csv", "--target", "y", *options, monkeypatch=monkeypatch) == 2
    assert expected in capsys.readouterr().err
    assert os.listdir() == ["rows.csv"]


def test_results_are_overwritten_only_on_request(place, monkeypatch, capsys):
    table()
    assert here("replay", "rows.csv", *OPTIONS, monkeypatch=monkeypatch) == 0
    before = (place / "rows-replay" / "summary.json").read_text()
    assert here("replay", "rows.csv", *OPTIONS, monkeypatch=monkeypatch) == 2
    assert "already exists: name another --out, or add --overwrite" in capsys.readouterr().err
    assert (place / "rows-replay" / "summary.json").read_text() == before
    assert here("replay", "rows.csv", *OPTIONS, "--overwrite", monkeypatch=monkeypatch) == 0
    assert sorted(os.listdir()) == ["rows-replay", "rows.csv"]


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_no_files(place, sent):
    command = [*COMMAND, "replay", "-", *OPTIONS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(b"a,b,y\n" + b"1,2,3\n" * 2_000_000)  # the pipe stays open
        process.stdin.flush()
        limit = time.monotonic() + 120
        while not any(name.endswith(".partial") for name in os.listdir()):
            assert time.monotonic() < limit
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(sent)
        process.stdin.close()
        assert process.wait(60) == 128 + sent
    assert os.listdir() == []


def test_the_example_in_the_help_runs(place):
    shown = run("replay", "--help", env={**os.environ, "COLUMNS": "80"}).stdout
    lines = shown[shown.index("Example") :].splitlines()[1:]
    start = next(k for k, line in enumerate(lines) if "Exit code" in line)
    script = "\n".join(line.strip() for line in lines[:start])
    assert script.strip().startswith("efface sample")
    found = re.sub(r"^efface ", "efface_ ", script, flags=re.MULTILINE)
    prelude = 'efface_() { "$PYTHON" -W error -c "from efface.cli.main import run; run()" "$@"; }\n'
    result = subprocess.run(
        ["bash", "-e", "-c", prelude + found],
        env={**os.environ, "PYTHON": sys.executable, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "bikeshare-replay/report.html" in result.stdout
    summary = json.loads((place / "bikeshare-replay" / "summary.json").read_text())
    assert summary["audits"] == {"held": 5, "failed": 0}
    errors = {name: each["mae"] for name, each in summary["errors"].items()}
    assert errors["Ridge"] < 0.75 * errors["never forget (growing OLS)"]


def test_the_sample_is_the_shipped_data(place, monkeypatch, capsys):
    assert here("sample", "data", monkeypatch=monkeypatch) == 0
    shipped = files("efface.files").joinpath("sample", "bikeshare.csv").read_bytes()
    assert (place / "data" / "bikeshare.csv").read_bytes() == shipped
    assert here("sample", "data", monkeypatch=monkeypatch) == 2
    assert "already exists" in capsys.readouterr().err
