"""The command line from outside: what it prints, how fast, and its exit codes."""

from __future__ import annotations

import subprocess
import sys
import time

import efface


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
