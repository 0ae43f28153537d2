"""Terminal output: a progress bar, a table of verdicts, and plain text in a pipe."""

from __future__ import annotations

import io
from pathlib import Path

import synthetic_results
from rich.console import Console

from efface.paper import progress
from efface.paper.claims import claims
from efface.paper.experiments import Ranks
from efface.paper.reproduction import Reproduced
from efface.theory.appendix_d import examples


def judged():
    return claims(
        synthetic_results.found(), synthetic_results.coverage(), examples(), ("standardized",)
    )


def test_the_table_shows_each_finding_and_its_verdict():
    console = Console(file=io.StringIO(), width=140, force_terminal=True)
    progress.show(Reproduced((Path("out/claims.md"),), "text", judged()), console)
    text = console.file.getvalue()
    assert "The regret of the adaptive ridge falls" in text
    assert "holds" in text
    assert "fails" in text
    assert "Files written to out: claims.md" in text


def test_verdicts_on_a_figure_are_printed_in_a_pipe_too():
    console = Console(file=io.StringIO(), width=80)
    progress.show(Reproduced((Path("out/fig3.csv"),), "", judged()[:2]), console)
    lines = console.file.getvalue().splitlines()
    assert lines[0].startswith("holds")
    assert lines[-1] == "Files written to out: fig3.csv"


def test_a_pipe_receives_the_text_of_the_files():
    console = Console(file=io.StringIO(), width=80)
    progress.show(Reproduced((Path("out/claims.md"),), "| a | b |" * 30, judged()), console)
    assert console.file.getvalue() == "| a | b |" * 30 + "\nFiles written to out: claims.md\n"


def test_progress_shows_finished_settings_and_the_remaining_time(monkeypatch):
    file = io.StringIO()
    console = Console(file=file, width=120, force_terminal=True)
    monkeypatch.setattr(progress, "Console", lambda **_: console)
    settings = [Ranks("unit-norm", 40, s=s) for s in (4, 5)]
    with progress.progress(settings, 3) as advance:
        advance(settings[0], 3)
        advance(settings[1], 2)
    text = file.getvalue()
    assert "1 of 2 settings, fig2/s=5" in text
    assert "0:00:0" in text or "-:--:--" in text


def test_a_log_gets_one_line_per_finished_setting(capsys):
    settings = [Ranks("unit-norm", 40, s=s) for s in (4, 5)]
    with progress.progress(settings, 3) as advance:
        advance(settings[1], 3)
        advance(settings[0], 2)
        advance(settings[0], 1)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert [line.rsplit(",", 1)[0] for line in captured.err.splitlines()] == [
        "1 of 2 settings, fig2/s=5 (unit-norm)",
        "2 of 2 settings, fig2/s=4 (unit-norm)",
    ]
