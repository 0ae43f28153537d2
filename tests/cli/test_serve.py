"""Tests of efface.cli.serve; tests/service starts the process."""

from __future__ import annotations

import pytest
from command_line import here


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "the folder of a store"),
        (["x", "--host", "0.0.0.0"], "--behind-proxy"),
        (["x", "--tls-cert", "c.pem"], "both --tls-cert and --tls-key"),
        (["x", "--master-key", "no.key"], "name the file of the master key"),
        (["x", "--master-key", "a", "--master-key-command", "b"], "give only one of them"),
    ],
)
def test_wrong_arguments_are_told_and_nothing_is_made(
    tmp_path, monkeypatch, capsys, arguments, text
):
    monkeypatch.chdir(tmp_path)
    assert here("serve", *arguments, monkeypatch=monkeypatch) == 2
    assert text in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
