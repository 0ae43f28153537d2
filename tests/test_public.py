"""The public names, the time to import them, and the README and the tour that use them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from inspect import Parameter, signature
from pathlib import Path

import pytest

import efface

ROOT = Path(__file__).parent.parent
NAMES = [
    *("OLS", "Ridge", "AdaptiveRidge", "SwitchingRidge"),
    *("FIFD", "KeepFor", "AddDrop", "KeepAll"),
    *("replay", "rolling", "load", "WindowScaler"),
    *("audit", "diagnose", "forecast_forgetting"),
]

KINDS = [
    efface.OLS,
    efface.Ridge,
    efface.AdaptiveRidge,
    efface.SwitchingRidge,
    efface.WindowScaler,
]


def python(code, **environment):
    """The output of a fresh interpreter."""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return result.stdout


def test_the_public_names():
    assert set(NAMES) < set(efface.__all__)
    for name in efface.__all__:
        assert getattr(efface, name) is not None
        assert name in dir(efface)


@pytest.mark.parametrize(
    ("function", "last"),
    [
        *((kind.fit, "y") for kind in KINDS),
        *((kind.partial_fit, "y") for kind in KINDS),
        *((kind.learn_one, "y") for kind in KINDS[:-1]),
        (efface.WindowScaler.learn_one, "x"),
        (efface.WindowScaler.rolling_transform, "X"),
        (efface.replay, "y"),
        (efface.rolling, "window"),
    ],
)
def test_what_follows_the_rows_is_passed_by_keyword(function, last):
    names = list(signature(function).parameters.values())
    position = [each.name for each in names].index(last)
    assert len(names) > position + 1
    assert {each.kind for each in names[: position + 1]} == {Parameter.POSITIONAL_OR_KEYWORD}
    assert {each.kind for each in names[position + 1 :]} == {Parameter.KEYWORD_ONLY}


def test_weights_by_position_are_refused():
    with pytest.raises(TypeError, match="positional arguments"):
        efface.OLS().fit([[1.0], [2.0]], [1.0, 2.0], [1, 2])


def test_an_unknown_name_is_an_error():
    with pytest.raises(AttributeError, match="module 'efface' has no attribute 'Lasso'"):
        _ = efface.Lasso


@pytest.mark.parametrize("first", ["rolling", "replay", "OLS", "load"])
def test_names_do_not_depend_on_the_order_of_loading(first):
    code = f"import efface; efface.{first}; print(efface.rolling.__name__, efface.replay.__name__)"
    assert python(code).split() == ["rolling", "replay"]


def test_importing_the_package_loads_no_large_package():
    code = "import sys, efface; print(*(m for m in ('sklearn', 'numpy') if m in sys.modules))"
    assert python(code).strip() == ""


def test_rolling_does_not_load_scikit_learn():
    assert (
        python("import sys; from efface import rolling; print('sklearn' in sys.modules)").strip()
        == "False"
    )


def test_the_readme_names_every_public_name():
    text = (ROOT / "README.md").read_text("utf-8")
    assert [name for name in NAMES if name not in text] == []


def test_every_attribute_in_the_readme_exists():
    text = (ROOT / "README.md").read_text("utf-8")
    names = set(re.findall(r"`([a-z_]+_)`", text))
    assert {"coef_", "intercept_", "penalty_", "rank_", "n_rows_", "ids_"} <= names
    assert all(isinstance(getattr(efface.OLS, name), property) for name in names)


def test_every_claim_of_the_tour_holds():
    pytest.importorskip("rich")
    result = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / "tour.py")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"},
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("✓") == 7
    assert "✗" not in result.stdout
