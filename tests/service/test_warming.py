"""Tests of efface.service.warming."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from efface.models.linear import MODELS
from efface.service.warming import warm

FIRST_USE = """
import sys, tempfile
import numpy as np
from numba.core.dispatcher import Dispatcher
from efface import Ridge
from efface.service.warming import warm
from efface.store import Store

found, compile_as_before = [], Dispatcher.compile

def compile_and_note(self, signature):
    found.append(self.py_func.__name__)
    return compile_as_before(self, signature)

with tempfile.TemporaryDirectory() as folder, Store(folder) as store:
    store.add("demand", Ridge(), features=3)
    if sys.argv[1] == "warm":
        warm(store.models().values())
    Dispatcher.compile = compile_and_note
    for count in (1, 50, 5_000):
        X = np.random.default_rng(count).normal(size=(count, 3))
        store.learn("demand", X, X[:, 0], owners=["ann", *["bob"] * (count - 1)])
        store.coefficients("demand")
    store.predict_interval("demand", X[:1])
    store.forget(owner="ann")
    store.audit()
    print(len(found))
"""


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("kind", ["AutoRidge", "Ridge"])
@pytest.mark.parametrize("parameters", [{}, {"window": 1}, {"window": 100}, {"window": "1d"}])
def test_models_of_all_policies_can_be_warmed(kind, keyed, parameters):
    warm([{"model": kind, "parameters": parameters, "features": ["a", "b"], "keyed": keyed}])


def test_all_kinds_and_wide_models_can_be_warmed():
    warm({"model": kind, "parameters": {}, "features": ["a", "b"]} for kind in MODELS)
    wide = [f"x{j}" for j in range(400)]
    warm([{"model": "Ridge", "parameters": {}, "features": wide}])


def test_nothing_is_compiled_or_loaded_after_it():
    def loaded(how):
        command = [sys.executable, "-c", FIRST_USE, how]
        found = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
        return int(found.stdout)

    assert loaded("warm") == 0 < loaded("cold")
