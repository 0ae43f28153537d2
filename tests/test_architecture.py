"""The page on the architecture names packages, functions and classes that exist."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
NAMES = sorted(set(re.findall(r"`(efface(?:\.\w+)+)`", PAGE)))


def exists(name):
    """Whether a dotted name is a module, or an attribute of one."""
    home, *attributes = name.split(".")
    found = import_module(home)
    for attribute in attributes:
        home = f"{home}.{attribute}"
        if hasattr(found, attribute):
            found = getattr(found, attribute)
            continue
        try:
            found = import_module(home)
        except ModuleNotFoundError:
            return False
    return True


def test_every_name_on_the_page_exists():
    assert [name for name in NAMES if not exists(name)] == []


def test_a_name_that_does_not_exist_is_found():
    assert not exists("efface.batch.rolling.no_such_function")
    assert not exists("efface.no_such_package")


def test_the_page_names_every_package():
    rooms = {path.parent.name for path in (ROOT / "src" / "efface").glob("*/__init__.py")}
    assert {f"efface.{room}" for room in rooms} <= set(NAMES)


def test_the_page_has_the_walks():
    walks = re.split(r"^## ", PAGE, flags=re.MULTILINE)[2:]
    assert [walk.splitlines()[0] for walk in walks] == [
        "One event: `learn_one`",
        "One event: `predict_one`",
        "One `forget`",
        "One call of a fleet",
        "One `rolling` call",
        "One file: `efface replay`",
        "A durable row: `Store.learn` and `Store.forget`",
        "One request: `efface serve`",
        "A key on Spark: a backfill and a stream",
    ]
    for walk in walks:
        assert len(re.findall(r"`efface\.[\w.]+`", walk)) >= 4
