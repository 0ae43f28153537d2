"""What the commands of ``efface store`` share."""

from __future__ import annotations

import pytest

from efface.cli.store_options import counted, example, open_store, read_key, show
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
