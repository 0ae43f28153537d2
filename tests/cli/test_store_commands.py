"""``efface store``: a store from files, its help, exit codes, and repeated runs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command_line import here
from typer.testing import CliRunner

from efface.cli.app import app
from efface.store import Store

GROUP = ("init", "add", "learn", "predict", "forget", "held", "expire", "audit")
GROUP += ("backup", "restore", "mirror", "rotate", "status", "remove")
ROWS = 60


@pytest.fixture
def efface(monkeypatch, capsys, tmp_path):
    """Runs a command in an empty folder; returns its exit code and what it printed."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = here(*arguments, monkeypatch=monkeypatch)
        shown = capsys.readouterr()
        return code or 0, shown.out, shown.err

    return run


def table(path, count=ROWS, first=0):
    rng = np.random.default_rng(3)
    lines = ["id,person,when,temp,slot,bikers"]
    for k in range(first, first + count):
        temp = rng.normal()
        moment = f"2024-05-{1 + k // 24:02d} {k % 24:02d}:00"
        lines.append(f"{k},{k % 7},{moment},{temp:.6f},{'abc'[k % 3]},{3 * temp + k % 3:.6f}")
    path.write_text("\n".join(lines) + "\n")


ADD = ("store", "add", "orders", "demand", "--model", "ridge", "--alpha", "0.5")
ADD += ("--features", "temp", "--one-hot", "slot=a,b,c", "--window", "40")
LEARN = ("store", "learn", "orders", "demand", "rows.csv", "--target", "bikers", "--id", "id")
LEARN += ("--owner", "person", "--time", "when", "--one-hot", "slot=a,b,c")


@pytest.fixture
def orders(efface, tmp_path):
    table(tmp_path / "rows.csv")
    assert efface("store", "init", "orders")[0] == 0
    code, out, _ = efface(*ADD)
    assert code == 0
    assert "temp, slot=b, slot=c" in out
    return tmp_path / "orders"


def test_a_file_is_learned_and_can_be_repeated(efface, orders):
    code, out, _ = efface(*LEARN, "--json")
    assert code == 0
    assert json.loads(out) == {"learned": 60, "skipped": 0, "missing": 0, "rows": 40}
    again = json.loads(efface(*LEARN, "--json")[1])
    assert again == {"learned": 0, "skipped": 60, "missing": 0, "rows": 40}
    table(orders.parent / "rows.csv", 5, first=60)
    assert "5 rows learned, 0 skipped" in efface(*LEARN)[1]
    code, out, _ = efface("store", "status", "orders", "--json")
    assert json.loads(out)["models"]["demand"]["rows"] == 40
    assert "demand  Ridge, 40 rows" in efface("store", "status", "orders")[1]
    assert efface("store", "audit", "orders")[0] == 0


def test_a_tab_between_values_can_be_typed_by_name(efface, orders):
    rows = orders.parent / "rows.csv"
    rows.write_text(rows.read_text().replace(",", "\t"))
    code, out, _ = efface(*LEARN, "--delimiter", "tab", "--json")
    assert code == 0
    assert json.loads(out)["learned"] == 60


def test_a_keyed_model_is_learned_and_predicted_by_the_column_of_keys(efface, orders):
    added = efface("store", "add", "orders", "people", "--features", "temp", "--keyed")
    assert added[0] == 0
    assert "on temp, one per key" in added[1]
    learn = ("store", "learn", "orders", "people", "rows.csv", "--target", "bikers", "--id", "id")
    code, out, _ = efface(*learn, "--key", "person", "--json")
    assert (code, json.loads(out)["learned"]) == (0, 60)
    assert json.loads(efface(*learn, "--key", "person", "--json")[1])["skipped"] == 60
    assert "people  AutoRidge, 60 rows of 7 keys" in efface("store", "status", "orders")[1]
    predict = ("store", "predict", "orders", "people", "next.csv", "--key", "person")
    (orders.parent / "next.csv").write_text("person,temp\n3,1.0\n4,1.0\n")
    code, out, _ = efface(*predict)
    assert code == 0
    with Store(orders) as store:
        wanted = store.predict("people", [[1.0], [1.0]], keys=["3", "4"])
    assert [float(line.split(",")[0]) for line in out.splitlines()[1:]] == wanted.tolist()
    (orders.parent / "next.csv").write_text("person,temp\nnobody,1.0\n")
    assert efface(*predict)[0] == 2
    assert efface(*learn)[0] == 2  # without keys
    assert efface("store", "audit", "orders")[0] == 0


def test_predictions_are_those_of_the_model(efface, orders):
    efface(*LEARN)
    (orders.parent / "next.csv").write_text("slot,temp\na,1.0\nc,2.0\n")
    one_hot = ("--one-hot", "slot=a,b,c")
    code, out, _ = efface("store", "predict", "orders", "demand", "next.csv", *one_hot)
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "prediction,lower,upper"
    with Store(orders) as store:
        expected = store.predict("demand", [[1.0, 0.0, 0.0], [2.0, 0.0, 1.0]])
    assert [float(line.split(",")[0]) for line in lines[1:]] == expected.tolist()
    _, out, _ = efface("store", "predict", "orders", "demand", "next.csv", *one_hot, "--json")
    assert json.loads(out.splitlines()[0])["prediction"] == expected[0]
    code, _, err = efface("store", "predict", "orders", "demand", "rows.csv")
    assert code == 2
    assert "no column 'slot=b'" in err


def test_an_expiry_is_asked_for_by_force(efface, orders):
    efface(*LEARN)
    assert efface("store", "expire", "orders", "--now", "2024-05-02", "--json") == (0, "{}\n", "")
    efface("store", "add", "orders", "aged", "--features", "temp", "--keep", "1d")
    efface("store", "learn", "orders", "aged", "rows.csv", "--target", "bikers", "--time", "when")
    assert "24 overdue" in efface("store", "status", "orders")[1]
    code, _, err = efface("store", "expire", "orders")
    assert code == 2
    assert "force" in err
    assert "24 rows left (aged 24)" in efface("store", "expire", "orders", "--force")[1]
    assert efface("store", "expire", "orders", "--now", "tomorrow")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("store", "status", "nowhere"), "no store"),
        (("store", "init", "orders"), "already"),
        (("store", "learn", "orders", "other", "rows.csv", "--target", "bikers"), "demand"),
        (("store", "learn", "orders", "demand", "rows.csv", "--target", "bikers"), "slot=b"),
        (("store", "learn", "orders", "demand", "absent.csv", "--target", "bikers"), "absent"),
        (("store", "status", "orders", "--master-key", "absent"), "master key"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(efface, orders, arguments, text):
    code, out, err = efface(*arguments)
    assert (code, out) == (2, "")
    assert text in err
    assert err.count("\n") == 1


def test_a_master_key_comes_from_a_file_a_command_or_a_credential(efface, tmp_path, monkeypatch):
    (tmp_path / "efface-master-key").write_bytes(b"m" * 32)
    file = ("--master-key", "efface-master-key")
    assert efface("store", "init", "orders", *file)[0] == 0
    assert efface("store", "status", "orders")[0] == 2
    assert efface("store", "status", "orders", *file)[0] == 0
    command = ("--master-key-command", "cat efface-master-key")
    assert efface("store", "status", "orders", *command)[0] == 0
    assert efface("store", "status", "orders", *command, *file)[0] == 2
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert efface("store", "status", "orders")[0] == 0


@pytest.mark.parametrize("command", GROUP)
def test_the_help_of_every_command_has_an_example_and_exit_codes(command):
    shown = CliRunner(env={"COLUMNS": "100"}).invoke(app, ["store", command, "--help"])
    assert shown.exit_code == 0
    assert f"efface store {command}" in shown.output[shown.output.index("Example") :]
    assert "Exit code" in shown.output


def test_a_text_column_without_levels_is_refused(efface, tmp_path):
    assert efface("store", "init", "orders")[0] == 0
    for given in ("slot", "slot=a"):
        code, _, err = efface("store", "add", "orders", "x", "--features", "t", "--one-hot", given)
        assert code == 2
        assert "'--one-hot' is 'slot'" in err
    assert json.loads(efface("store", "status", "orders", "--json")[1])["models"] == {}


def test_rows_are_read_as_replay_reads_them(efface, tmp_path):
    text = "id;größe;bikers\n1;1,5;1.234,5\n2;;3,5\n3;2,5;7,0\n"
    (tmp_path / "rows.csv").write_bytes(text.encode("cp1252"))
    assert efface("store", "init", "orders")[0] == 0
    add = ("store", "add", "orders", "demand", "--model", "ridge", "--features", "größe")
    assert efface(*add)[0] == 0
    written = ("--delimiter", ";", "--decimal", ",", "--thousands", ".", "--encoding", "cp1252")
    learn = ("store", "learn", "orders", "demand", "rows.csv", "--target", "bikers", "--id", "id")
    code, _, err = efface(*learn, *written)
    assert code == 2
    assert "--missing skip" in err
    code, out, _ = efface(*learn, *written, "--missing", "skip", "--json")
    assert json.loads(out) == {"learned": 2, "skipped": 0, "missing": 1, "rows": 2}
    with Store(tmp_path / "orders") as store:
        rows = store._models["demand"].rows_of([1, 3])
        assert rows.y.tolist() == [1234.5, 7.0]
        assert rows.X.tolist() == [[1.5], [2.5]]
    (tmp_path / "new.csv").write_bytes("größe\n1,5\n".encode("cp1252"))
    code, out, _ = efface("store", "predict", "orders", "demand", "new.csv", *written)
    assert code == 0
    assert len(out.splitlines()) == 2


def test_a_model_without_rows_predicts_nothing(efface, orders):
    options = ("rows.csv", "--one-hot", "slot=a,b,c")
    code, out, err = efface("store", "predict", "orders", "demand", *options)
    assert (code, out) == (2, "")
    assert "has learned no row" in err
