"""Missing libraries are mapped to the extras that pyproject.toml declares."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from efface.cli.extras import EXTRAS, missing_extra

ROOT = Path(__file__).parents[2]


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
