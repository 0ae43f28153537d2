"""The entry point: version, help, unknown commands, and libraries that are not installed."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest
from command_line import run

import efface
from efface.cli.main import EXTRAS, missing_extra

ROOT = Path(__file__).parents[2]


def test_the_version_is_shown():
    assert run("--version").stdout == f"efface {efface.__version__}\n"


def test_help_loads_no_large_package(tmp_path):
    """``python -m benchmarks startup`` measures the time that it takes."""
    large = ["numpy", "scipy", "sklearn", "pyarrow", "bokeh", "fastapi", "matplotlib"]
    assert run_without(tmp_path, large, "--help").returncode == 0


def test_an_unknown_command_gives_exit_code_2():
    assert run("remember").returncode == 2


BLOCK = """import sys


class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


sys.meta_path.insert(0, Finder())
"""


def run_without(folder, libraries, *arguments):
    """``efface`` in an interpreter that cannot import these libraries."""
    (folder / "hook").mkdir()
    (folder / "hook" / "sitecustomize.py").write_text(BLOCK.format(blocked=set(libraries)))
    paths = [str(folder / "hook"), str(ROOT / "src")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return run(*arguments, env=environment, cwd=folder)


REPLAY = ("replay", "rows.csv", "--target", "y")


@pytest.mark.parametrize(
    ("libraries", "arguments", "extra"),
    [
        (("typer", "rich", "pyarrow", "bokeh"), (), "cli"),
        (("typer", "rich", "pyarrow", "bokeh"), ("--help",), "cli"),
        (("rich",), REPLAY, "cli"),
        (("pyarrow",), REPLAY, "files"),
        (("bokeh",), REPLAY, "report"),
        (("jinja2",), REPLAY, "report"),
        (("joblib", "matplotlib"), ("reproduce", "examples"), "paper"),
    ],
)
def test_a_missing_library_gives_exit_code_3_and_its_extra(tmp_path, libraries, arguments, extra):
    (tmp_path / "rows.csv").write_text("x,y\n1,2\n")
    result = run_without(tmp_path, libraries, *arguments)
    assert result.returncode == 3, result.stderr
    assert result.stdout == ""
    assert result.stderr.startswith("efface: '")
    assert f'is not installed: it is needed here; run pip install "efface[{extra}]"' in (
        result.stderr
    )
    assert 'pip install "efface[all]"' in result.stderr
    assert result.stderr.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == ["hook", "rows.csv"]


def test_other_import_errors_are_not_hidden(tmp_path):
    result = run_without(tmp_path, ("numpy",), *REPLAY)
    assert result.returncode == 1
    assert "No module named 'numpy'" in result.stderr


@pytest.mark.parametrize("extra", sorted(set(EXTRAS.values())))
def test_every_library_of_an_extra_is_known(extra):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = project["optional-dependencies"][extra]
    declared = {re.match(r"[\w-]+", each)[0].replace("-", "_") for each in needed}
    assert declared - {"efface"} <= {library for library, its in EXTRAS.items() if its == extra}


def test_an_unknown_library_has_no_extra():
    assert missing_extra(ModuleNotFoundError(name="nothing")) is None
    assert missing_extra(ImportError("no name")) is None
    assert missing_extra(ModuleNotFoundError(name="pyarrow.csv")).extra == "files"
