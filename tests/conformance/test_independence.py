"""The suite knows the public interface alone, and the oracle does not know efface at all."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from conformance.tally import Disagreement
from conformance.walk import held_values

FOLDER = Path(__file__).parent
PRIVATE = ("efface.engine", "efface.live", "efface.core", "efface.rows", "efface.diagnostics")
OF_NAMED_TUPLES = ("_replace", "_asdict")
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


def private_names(path):
    """Private attributes that a module uses of anything but itself."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and re.match("_[^_]", node.attr):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            found += [] if own or node.attr in OF_NAMED_TUPLES else [node.attr]
    return found


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_no_module_uses_private_attributes(path):
    assert not private_names(path)


@pytest.mark.parametrize("name", ORACLE)
def test_the_oracle_imports_nothing_of_efface_or_its_twins(name):
    found = imported(FOLDER / name)
    assert not [each for each in found if each.partition(".")[0] in ("efface", "twins")]


def test_the_walk_looks_into_objects_of_compiled_classes():
    made = {"__module__": "efface.core", "__slots__": ()}
    opened = type("Opened", (bytearray,), dict(made))(np.array([1.25, 1 / 3]).tobytes())
    assert 1 / 3 in held_values([opened])[0]
    with pytest.raises(Disagreement, match="offers no memory"):
        held_values([type("Shut", (int,), dict(made))()])
