"""The version is written down in four places, and they agree."""

import re
import tomllib
from pathlib import Path

import efface

ROOT = Path(__file__).parent.parent


def test_version_matches_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert efface.__version__ == project["version"]


def test_version_heads_the_changelog() -> None:
    top = re.search(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert top is not None
    assert efface.__version__ == top[1]


def test_version_is_cited() -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {efface.__version__}\n" in citation
