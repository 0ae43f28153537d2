"""The CPU levels: on each, rows that left leave the bits of a model that never had them."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from efface import OLS, AdaptiveRidge, AutoRidge, Ridge, replay, rolling
from efface.core import _cpu

ORDER = ["v2", "v3", "v4"]
LEVELS = ORDER[: ORDER.index(_cpu.level) + 1] if _cpu.level in ORDER else [_cpu.level]
MODELS = {
    "OLS": OLS,
    "Ridge": Ridge,
    "AdaptiveRidge": AdaptiveRidge,
    "AutoRidge": AutoRidge,
    "standardised": lambda **given: AutoRidge(standardize=True, **given),
}


def digest(*arrays):
    content = b"".join(np.ascontiguousarray(each, dtype=np.float64).tobytes() for each in arrays)
    return hashlib.sha256(content).hexdigest()[:16]


def rows(d, n=90):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(n, d)) * np.geomspace(0.1, 10.0, d) + 3.0
    X[5] *= 1e8
    return X, X @ rng.normal(size=d) + rng.normal(size=n)


def state(model):
    return digest(model.coef_, model.intercept_, model.penalty_)


def digests():
    """By case: the digest of a model whose rows left, and of one that never had them."""
    found = {}
    for name, kind in MODELS.items():
        for d in (1, 6, 40):
            X, y = rows(d)
            gone = [3, 5, 17, 60]
            left, kept = kind(), np.delete(np.arange(len(y)), gone)
            left.fit(X, y, ids=np.arange(len(y)))
            left.predict(X[:2])
            left.forget(gone)
            never = kind().fit(X[kept], y[kept], ids=kept)
            found[f"{name}, {d}"] = state(left), state(never)
    X, y = rows(4, 300)
    for name, kind in MODELS.items():
        both = [replay(kind(window=30), X, y).prediction for _ in range(2)]
        found[f"replay {name}"] = tuple(map(digest, both))
    found["rolling"] = (digest(rolling(X, y, 30).coef[29:]),) * 2
    return found


def digests_of(level):
    command = [sys.executable, "-W", "error", __file__]
    env = os.environ | {"EFFACE_LEVEL": level}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def by_level():
    return {level: digests_of(level) for level in LEVELS}


@pytest.mark.parametrize("level", LEVELS)
def test_rows_that_left_leave_the_bits_of_a_model_that_never_had_them(level, by_level):
    assert {name for name, (left, never) in by_level[level].items() if left != never} == set()


@pytest.mark.skipif("v4" not in LEVELS, reason="this CPU has no AVX-512")
def test_levels_with_fused_products_give_the_same_bits(by_level):
    assert by_level["v3"] == by_level["v4"]


if __name__ == "__main__":
    print(json.dumps(digests()))
