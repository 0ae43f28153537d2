"""The public names of ``efface.theory`` and the symbol table of docs/theory.md."""

from __future__ import annotations

import json
import re
from importlib import import_module
from inspect import isclass, isfunction
from pathlib import Path

from efface import theory
from efface.paper.claims import EITHER, FINDINGS
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


PAGE = DOCS.with_name("coming-from-the-paper.md")


def test_the_calls_and_findings_on_the_page_for_readers_of_the_paper_exist():
    lines = PAGE.read_text("utf-8").splitlines()
    rows = [line.split("|") for line in lines if line[:2] == "| "][1:]
    assert len(rows) >= 20
    known = {finding.name for finding in (*FINDINGS, *EITHER)}
    for row in rows:
        for call in re.findall(r"`(efface[\w.]+)`", row[2]):
            module, _, name = call.rpartition(".")
            assert hasattr(import_module(module), name), call
        assert set(re.findall(r"`([\w-]+)`", row[4])) <= known


def test_the_verdicts_on_that_page_are_those_of_the_findings():
    document = json.loads((DOCS.parent.parent / "paper" / "claims.json").read_text("utf-8"))
    verdicts: dict[str, dict[str, str]] = {}
    for claim in document["claims"]:
        verdicts.setdefault(claim["finding"], {})[claim["reading"]] = claim["verdict"]
    rows = [line.split("|") for line in PAGE.read_text("utf-8").splitlines() if line[:2] == "| "]
    shown = [pair for row in rows[1:] for pair in re.findall(r"`([\w-]+)` \(([a-z, ]+)\)", row[4])]
    assert len(shown) > 50
    for name, text in shown:
        assert text == ", ".join(dict.fromkeys(verdicts[name].values())), name


def test_every_erratum_from_25_on_that_is_a_claim_names_its_finding():
    lines = DOCS.with_name("theory-errata.md").read_text("utf-8").splitlines()
    known = {finding.name for finding in (*FINDINGS, *EITHER)}
    for number in {*range(25, 39)} - {37}:  # E37 has slips of notation, which need no number
        (line,) = [line for line in lines if line.startswith(f"| E{number} ")]
        assert set(re.findall(r"`([\w-]+)`", line)) & known, number


def test_every_erratum_has_its_line():
    text = DOCS.with_name("theory-errata.md").read_text("utf-8")
    found = re.findall(r"^\| (E\d+) ", text, re.MULTILINE)
    assert found == [f"E{k}" for k in range(1, 39)]
