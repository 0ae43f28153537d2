"""The public names of ``efface.theory`` and the symbol table of docs/theory.md."""

from __future__ import annotations

import re
from inspect import isclass, isfunction
from pathlib import Path

from efface import theory
from efface.theory import (
    appendix_d,
    bounds,
    corrected,
    coverage,
    deletion,
    floor,
    memory_size,
    quantities,
    radii,
    updates,
)

MODULES = (
    *(appendix_d, bounds, corrected, coverage, deletion),
    *(floor, memory_size, quantities, radii, updates),
)
FROM_GEOMETRY = {"WindowSpectrum", "spectrum"}  # arguments of the *_radii functions
DOCS = Path(__file__).parents[2] / "docs" / "theory.md"


def public(module, kind):
    return {
        name
        for name, value in vars(module).items()
        if kind(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }


def test_theory_exports_every_public_function_and_class_of_its_modules():
    defined = set().union(
        *(public(module, kind) for module in MODULES for kind in (isclass, isfunction))
    )
    assert set(theory.__all__) == defined | FROM_GEOMETRY
    assert all(hasattr(theory, name) for name in theory.__all__)


def documented_names():
    rows = [line.split("|") for line in DOCS.read_text().splitlines() if line.startswith("| $")]
    return {name for row in rows for name in re.findall(r"`(\w+)", row[2])}


def test_the_symbol_table_names_every_function_for_one_window():
    functions = set().union(*(public(module, isfunction) for module in MODULES))
    wanted = {name for name in functions if not name.endswith("_radii")}
    assert documented_names() == (wanted - {"forgetting_terms"}) | {"Replay"}
