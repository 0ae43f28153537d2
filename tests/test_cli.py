"""The command line from outside: what it prints, how fast, and its exit codes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

import efface
from efface.cli import main


def run(*arguments):
    """``efface`` in a fresh interpreter."""
    command = [sys.executable, "-W", "error", "-c", "from efface.cli import main; main()"]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)


def test_the_version_is_told():
    assert run("--version").stdout == f"efface {efface.__version__}\n"


def test_help_is_quick():
    def seconds():
        start = time.perf_counter()
        assert run("--help").returncode == 0
        return time.perf_counter() - start

    assert min(seconds() for _ in range(3)) < 0.4


def test_an_unknown_command_is_refused_with_code_2():
    assert run("remember").returncode == 2


# -- reproduce -----------------------------------------------------------------------------------


def here(monkeypatch, *arguments):
    """``efface reproduce`` in this interpreter; its exit code."""
    monkeypatch.setattr(sys, "argv", ["efface", "reproduce", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        main()
    return stopped.value.code


def test_a_bad_request_gets_one_line_on_stderr_and_code_2(tmp_path):
    done = run("reproduce", "fig8", "--out", str(tmp_path / "results"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("efface: 'figure' is 'fig8': expected one of fig2, fig3")
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fig3", "--runs", 0), "'runs' is 0"),
        (("fig3", "--horizon", 20), "'horizon' is 20: expected more than the memory of fig3/s=20"),
        (("fig3", "--reading", "whitened"), "'reading' is 'whitened'"),
        (("fig3", "--jobs", 0), "'jobs' is 0"),
        (("fig3", "--backend", "spark"), "'backend' is 'spark'"),
        (("examples", "--out", "file/results"), "'out' is 'file/results'"),
    ],
)
def test_nothing_is_written_for_a_bad_request(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    assert here(monkeypatch, *arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_examples_are_printed_and_written(tmp_path, monkeypatch, capsys):
    assert here(monkeypatch, "examples", "--out", tmp_path) == 0
    printed = capsys.readouterr().out
    assert "M4" in printed
    assert (tmp_path / "examples.txt").read_text("utf-8").rstrip() in printed


def test_an_interrupt_keeps_what_is_finished_and_the_next_call_goes_on(tmp_path, monkeypatch):
    command = [sys.executable, "-c", "from efface.cli import main; main()", "reproduce", "fig3"]
    options = ["--runs", "8", "--horizon", "400", "--jobs", "1", "--out", str(tmp_path)]
    with subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True) as process:
        for _ in range(1200):
            if list(tmp_path.glob(".panels/*.npz")):
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped; finished settings are kept" in error
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob(".panels/*.npz")}
    assert kept
    assert here(monkeypatch, "fig3", *options) == 0
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())
    assert len(list(tmp_path.glob(".panels/*.npz"))) == 12
    assert (tmp_path / "fig3.csv").exists()
