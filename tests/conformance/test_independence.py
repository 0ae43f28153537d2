"""The suite knows the public interface alone, and the oracle does not know efface at all."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
PRIVATE = ("efface.engine", "efface.live", "efface.core", "efface.rows", "efface.diagnostics")
ORACLE = ("oracle.py", "designs.py", "expected_rows.py")


def imported(path):
    """The names of all modules that a module imports."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{each.name}" for each in node.names]
    return names


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_no_module_imports_what_is_behind_the_public_interface(path):
    assert not [name for name in imported(path) if name.startswith(PRIVATE)]


@pytest.mark.parametrize("name", ORACLE)
def test_the_oracle_imports_nothing_of_efface_or_its_twins(name):
    found = imported(FOLDER / name)
    assert not [each for each in found if each.partition(".")[0] in ("efface", "twins")]
