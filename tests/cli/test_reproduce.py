"""``efface reproduce``: files, options and exit codes."""

from __future__ import annotations

import os

import pytest
from command_line import here

from efface.paper import reproduction

SHORT = ("--runs", "2", "--horizon", "90", "--jobs", "1")


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_figure_is_written_to_the_folder(place, monkeypatch, capsys):
    arguments = ("reproduce", "fig3", *SHORT)
    assert here(*arguments, "--out", "here", monkeypatch=monkeypatch) == 0
    assert {"fig3.csv", "fig3.png", "fig3.svg"} <= set(os.listdir("here"))
    shown = capsys.readouterr().out
    assert "fig3.csv" in shown
    assert "With a constant memory the regret of every method is linear in T." in shown
    assert "sublinear" not in shown
    assert here(*arguments, "--out", "there", monkeypatch=monkeypatch) == 0
    assert (place / "here" / "fig3.csv").read_text() == (place / "there" / "fig3.csv").read_text()


def test_every_option_reaches_the_plan(place, monkeypatch):
    calls = []

    def record(plan, out, workers, advance):
        calls.append((plan, str(out), workers))
        raise KeyboardInterrupt

    monkeypatch.setattr(reproduction, "reproduce", record)
    options = ("--reading", "both", "--seed", "7", "--out", "elsewhere", "--methods", "fixed,auto")
    assert here("reproduce", "fig3", *SHORT, *options, monkeypatch=monkeypatch) == 130
    ((plan, out, workers),) = calls
    readings = reproduction.readings_of("both")
    expected = reproduction.ReproductionPlan("fig3", 2, 90, readings, 7, ("fixed", "auto"))
    assert plan == expected
    assert out == "elsewhere"
    assert workers == reproduction.workers_of(1)


def test_an_interrupt_says_how_to_continue(place, monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(reproduction, "reproduce", interrupt)
    assert here("reproduce", "fig3", *SHORT, monkeypatch=monkeypatch) == 130
    assert "interrupted; run the same command again to continue" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("fig9",), "'target' is 'fig9': expected 'fig1' or 'fig2'"),
        (("fig3", "--runs", "0"), "'runs' is 0"),
        (("fig3", "--horizon", "80"), "'horizon' is 80"),
        (("fig3", "--reading", "whitened"), "'reading' is 'whitened'"),
        (("fig3", "--methods", "fixed,lasso"), "'methods' is 'lasso'"),
        (("fig3", "--jobs", "0"), "'jobs' is 0"),
    ],
)
def test_unusable_options_give_one_line_exit_code_2_and_no_files(
    place, monkeypatch, capsys, arguments, expected
):
    assert here("reproduce", *arguments, monkeypatch=monkeypatch) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("efface: ")
    assert expected in shown.err
    assert shown.err.count("\n") == 1
    assert os.listdir() == []


def test_help_names_every_figure_and_method(monkeypatch, capsys):
    assert here("reproduce", "--help", monkeypatch=monkeypatch) in (0, None)
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "(fig1 to fig7)" in shown
    assert "adaptive, switching, fixed, oracle, zero, auto" in shown
