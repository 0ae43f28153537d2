"""The application: its commands, their help, and its version."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import efface
from efface.cli.app import app

COMMANDS = ("replay", "sample", "reproduce")
GROUPS = ("theory", "store", "receipt", "receipts")


def invoke(*arguments):
    return CliRunner(env={"COLUMNS": "100"}).invoke(app, arguments)


def test_help_lists_the_commands():
    shown = invoke("--help")
    assert shown.exit_code == 0
    assert "Linear regression that forgets exactly." in shown.output
    assert [name for name in COMMANDS + GROUPS if name not in shown.output] == []


def test_without_a_command_help_is_shown():
    assert "Commands" in invoke().output


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_has_an_example(command):
    shown = invoke(command, "--help")
    assert shown.exit_code == 0
    assert f"efface {command}" in shown.output[shown.output.index("Example") :]


def test_the_version_is_shown_before_anything_else():
    shown = invoke("--version", "remember")
    assert (shown.exit_code, shown.output) == (0, f"efface {efface.__version__}\n")


@pytest.mark.parametrize("arguments", [("remember",), ("--forever",), ("replay",)])
def test_an_unknown_command_or_option_or_a_missing_argument_gives_exit_code_2(arguments):
    assert invoke(*arguments).exit_code == 2
