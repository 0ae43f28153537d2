"""What the commands of ``efface store`` share."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from command_line import here
from service_cases import Running, add_demand, rows

from efface.cli.store_options import (
    counted,
    example,
    open_store,
    read_key,
    service_address,
    show,
)
from efface.errors import InvalidValue


def test_results_are_shown_as_json_or_in_words(capsys):
    show({"rows": 1}, True, "one row")
    show({"rows": 1}, False, "one row")
    assert capsys.readouterr().out == '{\n  "rows": 1\n}\none row\n'


def test_counts_in_words():
    assert counted({"a": 1_000, "b": 2}) == "a 1,000, b 2"
    assert counted({}) == "none"


def test_a_folder_that_is_no_store_and_two_master_keys_are_refused(tmp_path):
    with pytest.raises(InvalidValue, match="init"):
        open_store(tmp_path, None, None)
    with pytest.raises(InvalidValue, match="only one"):
        read_key(tmp_path, "command")
    assert read_key(None, None) is None


def test_an_example_ends_with_the_exit_codes():
    assert example("efface store init orders").index("orders") < example().index("Exit") + 60


# A service in the place of a folder


@pytest.fixture
def service(tmp_path, monkeypatch):
    add_demand(tmp_path / "orders")
    with Running(tmp_path / "orders") as running:
        monkeypatch.setenv("EFFACE_TOKEN", running.all)
        yield running


def ask(monkeypatch, *arguments, stdin=""):
    monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
    return here("store", *arguments, monkeypatch=monkeypatch)


def test_commands_ask_a_service_as_they_ask_a_folder(service, monkeypatch, tmp_path, capsys):
    url = service.url
    assert ask(monkeypatch, "status", url, "--json") == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 20
    assert ask(monkeypatch, "held", url, "--owner-stdin", stdin="person 1\n") == 0
    assert [row["id"] for row in json.loads(capsys.readouterr().out)["demand"]][:2] == ["r1", "r6"]
    asked = ask(monkeypatch, "forget", url, "--owner-stdin", "--json", stdin="person 1\nperson 2\n")
    assert asked == 0
    assert json.loads(capsys.readouterr().out)["rows"] == {"demand": 8}
    table = tmp_path / "new.csv"
    lines = [f"{row['x'][0]},{row['x'][1]},{row['y']},n{k}" for k, row in enumerate(rows(5))]
    table.write_text("temp,hum,y,id\n" + "\n".join(lines) + "\n")
    assert ask(monkeypatch, "learn", url, "demand", table, "--target", "y", "--id", "id") == 0
    assert "5 rows learned" in capsys.readouterr().out
    assert ask(monkeypatch, "predict", url, "demand", table) == 0
    assert len(capsys.readouterr().out.splitlines()) == 6
    assert ask(monkeypatch, "add", url, "other", "--features", "a,b", "--model", "ridge") == 0
    assert ask(monkeypatch, "audit", url) == 0
    assert capsys.readouterr().out.count("✓") == 2


def test_what_a_service_does_not_do_is_told(service, monkeypatch, capsys):
    assert ask(monkeypatch, "expire", service.url) == 2
    assert "expires rows by itself" in capsys.readouterr().err
    assert ask(monkeypatch, "backup", service.url, "copy") == 2
    monkeypatch.delenv("EFFACE_TOKEN")
    assert ask(monkeypatch, "status", service.url) == 2
    assert "'EFFACE_TOKEN' is not set" in capsys.readouterr().err


def test_an_address_is_told_from_a_folder():
    for text in ("http://127.0.0.1:8000", "https://efface.example/base"):
        assert service_address(Path(text)) == text
    for text in ("orders", "/http:/x", "http:", "./https"):
        assert service_address(Path(text)) is None
