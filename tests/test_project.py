"""The project as a whole: one version, declared dependencies, the layout of folders, and names."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import efface

ROOT = Path(__file__).parent.parent
PACKAGE, TESTS = ROOT / "src" / "efface", ROOT / "tests"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]


def sources(folder):
    return sorted(folder.rglob("*.py"))


def tree(path):
    return ast.parse(path.read_text("utf-8"))


def modules(folder=PACKAGE):
    return [path for path in sources(folder) if path.name != "__init__.py"]


# The version


def test_version_matches_pyproject():
    assert efface.__version__ == PROJECT["version"]


def test_version_heads_the_changelog():
    top = re.search(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert top is not None
    assert efface.__version__ == top[1]


def test_version_is_cited():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {efface.__version__}\n" in citation


# Dependencies

DISTRIBUTIONS = {  # of imports that have another name than the package to install
    "PIL": "pillow",
    "flint": "python-flint",
    "markdown_it": "markdown-it-py",
    "polars_ds": "polars-ds",
    "polars_ols": "polars-ols",
    "prometheus_client": "prometheus-client",
    "sklearn": "scikit-learn",
    "typing_extensions": "typing-extensions",
    "vega_datasets": "vega-datasets",
    "yaml": "pyyaml",
}
USERS = {  # the optional packages of each part: the extra that a user installs for it
    "cli": ("cli",),
    "charts": ("report",),
    "files": ("cli", "files", "report", "river"),
    "paper": ("cli", "paper"),
    "service": ("files", "service", "store"),
    "store": ("store",),
    "spark": ("spark",),
    "models/river.py": ("river",),
    "models/coefficient_plots.py": ("plot",),
    "polars.py": ("polars",),
}
OWN_FOLDERS = {  # of the tests: those that mirror no package hold modules that tests import
    path.name for path in TESTS.iterdir() if path.is_dir() and not (PACKAGE / path.name).is_dir()
}
DEVELOPERS = {"tests": "test", "benchmarks": "bench", "examples": "test", "docs": "docs"}


def third_party_imports(path):
    """The packages that a module imports, without the standard library and our own."""
    names = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module)
    own = {"efface", "benchmarks", *OWN_FOLDERS}
    own |= {path.stem for path in TESTS.glob("*.py")}
    return {name.split(".")[0] for name in names} - sys.stdlib_module_names - own


def declared(*extras):
    """The distributions that an installation with these extras asks for by name."""
    found = set()
    for requirement in [*PROJECT["dependencies"], *(r for e in extras for r in EXTRAS[e])]:
        name = re.match(r"[\w-]+", requirement)[0]
        if name == "efface":
            found |= declared(*re.search(r"\[(.*)\]", requirement)[1].split(","))
        else:
            found.add(name)
    return found


def undeclared(paths, *extras):
    known = declared(*extras)
    return {
        (path.relative_to(ROOT).as_posix(), name)
        for path in paths
        for name in third_party_imports(path)
        if DISTRIBUTIONS.get(name, name) not in known
    }


def extras_of(path):
    place = path.relative_to(PACKAGE).as_posix()
    return next((USERS[part] for part in USERS if place.startswith(part)), ())


def test_every_import_of_the_package_is_declared():
    assert [
        found for path in sources(PACKAGE) for found in undeclared([path], *extras_of(path))
    ] == []


@pytest.mark.parametrize("folder", DEVELOPERS)
def test_every_import_of_tests_benchmarks_examples_and_docs_is_declared(folder):
    on_spark = {
        path for path in sources(ROOT / folder) if "spark" in path.relative_to(ROOT).as_posix()
    }
    assert undeclared(set(sources(ROOT / folder)) - on_spark, DEVELOPERS[folder]) == set()
    assert undeclared(on_spark, DEVELOPERS[folder], "spark-test") == set()


def test_the_extra_all_has_every_extra_for_users():
    internal = {"all", "bench", "check", "demo", "dev", "docs", "spark-test", "test"}
    apart = {"spark"}  # its pandas is older than that of the others
    assert declared("all") == declared(*(set(EXTRAS) - internal - apart))
    assert {extra for extras in USERS.values() for extra in extras} == set(EXTRAS) - internal


# The layout


def test_the_package_has_at_most_18_entries_at_the_top():
    entries = [path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= 18, entries


def contract(container):
    """The layers of an import contract, from the top, each as a set of names."""
    contracts = PYPROJECT["tool"]["importlinter"]["contracts"]
    found = next(each for each in contracts if each.get("containers") == [container])
    return [set(re.findall(r"\w+", layer)) for layer in found["layers"]]


def test_the_layer_contract_has_at_most_9_lines():
    assert len(contract("efface")) <= 9


def test_the_pictures_in_contributing_are_those_of_the_contracts():
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    pictures = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    drawn = [[set(re.findall(r"\w+", line)) for line in text.splitlines()] for text in pictures]
    assert contract("efface") in drawn


def test_every_package_says_what_it_contains():
    silent = [path for path in PACKAGE.rglob("__init__.py") if not ast.get_docstring(tree(path))]
    assert silent == []


def has_code(path):
    """Whether a module defines a function or a class, rather than names of types alone."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return any(isinstance(node, kinds) for node in tree(path).body)


CONTRACT = "conformance/"  # tests of the public contract, which follow no module
CORE = "core/"  # tests of the compiled core, whose files lie in cpp/


def test_every_module_has_its_tests_in_the_same_folder():
    wanted = {
        path.relative_to(PACKAGE).with_name(f"test_{path.stem}.py").as_posix()
        for path in modules()
        if has_code(path)
    }
    there = {path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}
    packages = {path.parent.relative_to(PACKAGE) for path in PACKAGE.glob("*/**/__init__.py")}
    allowed = wanted | {(path / f"test_{path.name}.py").as_posix() for path in packages}
    assert wanted - there == set()
    others = {path for path in there - allowed if "/" in path}
    followed = {path for path in others if not path.startswith((CONTRACT, CORE))}
    assert followed == set(), "tests of no module"


def test_the_tests_of_the_contract_check_their_own_independence():
    """A folder that follows no module must not know modules: its own test enforces that."""
    assert (TESTS / CONTRACT / "test_independence.py").exists()
    assert not (PACKAGE / CONTRACT).exists()


# Names


def test_no_two_modules_in_neighbouring_packages_share_a_name():
    names = defaultdict(list)
    for path in PACKAGE.glob("*/*.py"):
        if path.name != "__init__.py":
            names[path.stem].append(path.parent.name)
    assert {name: homes for name, homes in names.items() if len(homes) > 1} == {}


def test_no_two_public_classes_share_a_name():
    classes = Counter(
        node.name
        for path in sources(PACKAGE)
        for node in tree(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in classes.items() if count > 1] == []


METAPHORS = {
    *("passage", "passages", "keeper", "keepers", "journey", "journeys", "witness", "witnesses"),
    *("canvas", "canvases", "plugin", "plugins", "slides", "spans", "panel", "panels"),
    *("lives", "worlds", "ledger", "casting"),
}
VERBS = {"lives", "slides", "spans"}  # allowed in the names of tests, which are sentences


def names_in(path):
    """The names that a file defines: its own, and those of classes, functions and variables."""
    yield path.stem
    for node in ast.walk(tree(path)):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.alias(asname=str(name)):
                yield name


def words(name):
    """The words of a name in snake_case or CamelCase."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def metaphors(name):
    return words(name) & METAPHORS - (VERBS if name.startswith("test_") else set())


@pytest.mark.parametrize("folder", ["src/efface", "tests", "benchmarks", "examples"])
def test_no_name_is_a_metaphor(folder):
    found = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in sources(ROOT / folder)
        for name in names_in(path)
        if metaphors(name)
    }
    assert sorted(found) == []
