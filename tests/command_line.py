"""Runs the ``efface`` command: in a new interpreter, or in this one."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from efface.cli.main import main

COMMAND = [sys.executable, "-W", "error", "-c", "from efface.cli.main import run; run()"]


def run(*arguments, **options):
    """``efface`` in a new interpreter."""
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, check=False, **options
    )


def here(*arguments, monkeypatch):
    """``efface`` in this interpreter; returns its exit code."""
    monkeypatch.setattr(sys, "argv", ["efface", *map(str, arguments)])
    previous = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        signal.signal(signal.SIGTERM, previous)
    return ended.value.code
