"""Arguments that nobody should pass: an error of efface, and nothing has changed."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from conformance.histories import run_seeds
from conformance.subjects import MEMORY
from conformance.tally import Disagreement, Tally
from scipy import sparse

import efface
from efface import OLS, AdaptiveRidge, AutoRidge, EffaceError, Fleet, KeepFor, Ridge, WindowScaler
from efface.models.river import Regressor

X = np.array([[1.0, 0.5], [2.0, -1.0], [4.0, 0.25], [3.0, 2.0], [0.5, 0.0], [2.5, 1.5]])
Y = np.array([1.0, 3.0, 2.0, 5.0, 0.5, 4.0])
AT = np.datetime64("2024-01-01T00:00", "ns") + np.arange(6) * np.timedelta64(1, "h")
NAMES = ["a", "b", "c", "d", "e", "f"]
FRAME = pd.DataFrame({"x": X[:, 0], "c": ["u", "v", "u", "w", "v", "u"], "y": Y, "k": NAMES})
SEVERAL = 6  # calls per seed


def junk() -> list[Any]:
    """Values of every kind; most fit no argument."""
    return [
        None,
        5,
        -1,
        2.5,
        float("nan"),
        float("inf"),
        1e308,
        10**400,
        True,
        1 + 2j,
        "x",
        "",
        "2100d",
        b"x",
        object(),
        [],
        {},
        {1, 2},
        range(6),
        len,
        [[1.0], [2.0, 3.0], [4.0], [5.0], [6.0], [7.0]],
        [1, "a", None, 2.5, [1], {}],
        [[1, 2], 3, 4, 5, 6, 7],
        np.array(3),
        np.array("a"),
        np.zeros((2, 2, 2)),
        np.zeros((6, 0)),
        np.array([None] * 6),
        np.array([object()] * 6),
        np.array([1, "a", 2, "b", 3, "c"], dtype=object),
        np.timedelta64(20, "D"),
        np.datetime64("NaT"),
        np.array(["NaT"] * 6, dtype="M8[ns]"),
        sparse.csr_matrix(X),
        pd.Series(["u", 1, None, 2.5, "v", 3]),
        pd.DataFrame({"c": [1, "a", 2, "b", 3, "c"]}),
        pd.DataFrame({"x": X[:, 0], "c=u": Y, "c": ["u", 1, "u", 2, "v", "u"], "y": Y}),
        pd.DataFrame({"x": X[:, 0], "c=u": Y, "c": list("uvuwvu"), "y": Y}),
        {"c": 5},
        {"c": ["u", ["v"], "w"]},
    ]


class Call(NamedTuple):
    """A call of the library with good arguments, one of which will be replaced."""

    name: str
    function: Callable[..., Any]
    arguments: dict[str, Any]
    root: Any = None  # what must not change if the call is refused


def calls() -> list[Call]:
    """All public calls; a new subject each time."""
    model = OLS(window=5).fit(X, Y, ids=NAMES, owners=NAMES)
    timed = AutoRidge(window=KeepFor("9h")).fit(X, Y, at=AT)
    fleet = Fleet(Ridge(window=4), threads=1)
    fleet.learn(NAMES[:3] * 2, X, Y, ids=list(range(6)), owners=NAMES)
    wrapper = Regressor(Ridge(window=4))
    wrapper.learn_one({"p": 1.0, "q": 2.0}, 3.0, id="first", owner="ann")
    scaler = WindowScaler(4).fit(X)
    many: dict[str, Any] = {"ids": None, "at": None, "sample_weight": None}
    many |= {"owners": None, "until": None}
    one: dict[str, Any] = {"id": "new", "at": None, "weight": 1.0, "owner": None, "until": None}
    x = np.array([1.0, 2.0])
    bounds: dict[str, Any] = {"level": 0.9, "method": "gaussian", "lower": None, "upper": None}
    found = [
        Call("fit", OLS().fit, {"X": X, "y": Y, **many}),
        Call(
            "partial_fit", model.partial_fit, {"X": X, "y": Y, **many, "ids": list("uvwxyz")}, model
        ),
        Call("timed partial_fit", timed.partial_fit, {"X": X, "y": Y, **many, "at": AT}, timed),
        Call("learn_one", model.learn_one, {"x": x, "y": 1.0, **one}, model),
        Call("timed learn_one", timed.learn_one, {"x": x, "y": 1.0, **one, "at": AT[-1]}, timed),
        Call("predict", model.predict, {"X": X}, model),
        Call("predict_one", model.predict_one, {"x": x}, model),
        Call("predict_interval", model.predict_interval, {"X": X, **bounds}, model),
        Call(
            "forget",
            model.forget,
            {"ids": ["c"], "owner": None, "owners": None, "missing": "raise"},
            model,
        ),
        Call("expire", timed.expire, {"now": AT[-1]}, timed),
        Call("held", model.held, {"owner": "c"}, model),
        Call(
            "fleet.learn",
            fleet.learn,
            {"keys": NAMES, "X": X, "y": Y, **many, "ids": list("uvwxyz")},
            fleet,
        ),
        Call("fleet.predict", fleet.predict, {"keys": NAMES[:3] * 2, "X": X}, fleet),
        Call("fleet.coef", fleet.coef, {"keys": NAMES[:3]}, fleet),
        Call("fleet.forget", fleet.forget, {"ids": [2], "owner": None, "owners": None}, fleet),
        Call("fleet.held", fleet.held, {"owner": "c"}, fleet),
        Call("Fleet", Fleet, {"model": Ridge(), "threads": 1}),
        Call(
            "river.learn_one",
            wrapper.learn_one,
            {"x": {"p": 1.0, "q": 0.5}, "y": 1.0, "w": 1.0, "id": "n"},
            wrapper,
        ),
        Call("river.predict_one", wrapper.predict_one, {"x": {"p": 1.0, "q": 0.5}}, wrapper),
        Call("river.forget", wrapper.forget, {"ids": ["first"], "owner": None}, wrapper),
        Call("scaler.fit", scaler.fit, {"X": X, "ids": None, "at": None}),
        Call("scaler.transform", scaler.transform, {"X": X}, scaler),
        Call(
            "audit", efface.audit, {"model": model, "forgotten": [], "forgotten_owners": []}, model
        ),
        Call("diagnose", efface.diagnose, {"model": model}, model),
        Call(
            "OLS",
            _built(OLS),
            {"window": 3, "fit_intercept": True, "standardize": False, "halflife": None},
        ),
        Call("Ridge", _built(Ridge), {"alpha": 1.0, "window": 3}),
        Call("AdaptiveRidge", _built(AdaptiveRidge), {"delta": 0.1, "theta_max": 1.0}),
        Call(
            "replay",
            _replayed,
            {
                "X": X,
                "y": Y,
                **many,
                "interval": None,
                "method": "gaussian",
                "lower": None,
                "upper": None,
                "one_hot": None,
                "by": None,
                "x": None,
            },
        ),
        *_rolling_calls(),
    ]
    return found


def _rolling_calls() -> list[Call]:
    plain = {
        **{"X": X, "y": Y, "window": 4, "alpha": 0.0, "fit_intercept": True, "min_rows": 1},
        **{"groups": None, "threads": 1, "missing": "raise", "outputs": None, "stats": False},
        **{"lags": None, "at": None, "interval": None, "method": "gaussian", "lower": None},
        **{"upper": None, "sample_weight": None, "standardize": False, "halflife": None},
    }
    framed = {"X": FRAME, "y": "y", "window": 4, "x": ["x", "c"], "by": None, "at": None}
    return [
        Call("rolling", efface.rolling, plain),
        Call("rolling of a frame", efface.rolling, {**framed, "one_hot": ["c"]}),
        Call(
            "rolling of all columns",
            efface.rolling,
            {"X": FRAME[["x", "c", "y"]], "y": "y", "window": 4, "one_hot": ["c"]},
        ),
        Call("rolling of levels", efface.rolling, {**framed, "one_hot": {"c": ["u", "v", "w"]}}),
    ]


def _built(kind: Any) -> Callable[..., Any]:
    return lambda **options: kind(**options).fit(X, Y)


def _replayed(**arguments: Any) -> Any:
    return efface.replay(Ridge(window=3), **arguments)


@cache
def _places() -> list[tuple[int, str]]:
    """Every argument of every call."""
    return [(number, name) for number, call in enumerate(calls()) for name in call.arguments]


def content(root: Any) -> Any:
    """What a refused call must not change."""
    if isinstance(root, Regressor):
        return root.ids, root.weights, root.intercept
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        root.save(f"{folder}/saved")
        return Path(f"{folder}/saved").read_bytes()


def check_calls(seeds: Sequence[int]) -> Tally:
    """One argument of a call is replaced by a value of another kind."""

    def once(seed: int, tally: Tally) -> None:
        rng = np.random.default_rng([seed, 6])
        for _ in range(SEVERAL):
            number, argument = _places()[rng.integers(len(_places()))]
            call = calls()[number]
            values = junk()
            value = values[rng.integers(len(values))]
            before = None if call.root is None else content(call.root)
            told = f"{call.name}({argument}={value!r:.60})"
            tally.states += 1
            try:
                call.function(**{**call.arguments, argument: value})
            except EffaceError:
                if call.root is not None:
                    tally.agree("refusal", content(call.root) == before, f"{told} changed it")
            except Exception as error:
                text = f"{told}: {type(error).__name__}: {error!s:.100}"
                tally.found(seed, Disagreement("foreign", text))  # and go on with the next call
            tally.comparisons += 1

    return run_seeds(once, seeds)


def check_files(seeds: Sequence[int]) -> Tally:
    """A saved file whose header says something else, under a checksum that matches."""

    def once(seed: int, tally: Tally) -> None:
        rng = np.random.default_rng([seed, 66])
        model = AutoRidge(window=KeepFor("9h")).fit(
            X, Y, at=AT, owners=NAMES, until=AT + np.timedelta64(20, "h")
        )
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            path = Path(folder) / "model"
            model.save(path)
            first, header, rest = path.read_bytes().split(b"\n", 2)
            for _ in range(SEVERAL):
                changed = json.dumps(_mutated(json.loads(header), rng)).encode()
                body = b"\n".join([first, changed, rest[:-32]])
                path.write_bytes(body + hashlib.sha256(body).digest())
                tally.states += 1
                tally.comparisons += 1
                try:
                    efface.load(path)
                except EffaceError:
                    continue
                except Exception as error:
                    text = f"header {changed[:200]!r}: {type(error).__name__}: {error}"
                    raise Disagreement("foreign", text) from error

    return run_seeds(once, seeds)


def _mutated(value: Any, rng: np.random.Generator) -> Any:
    """The same JSON with one value replaced, somewhere."""
    others = [
        None,
        -1,
        10**30,
        1.5,
        "x",
        [],
        {},
        [1, "a"],
        {"KeepFor": 3},
        {"timedelta": ["x"]},
        True,
    ]
    if isinstance(value, dict) and value and rng.random() < 0.85:
        name = str(rng.choice(list(value)))
        return {**value, name: _mutated(value[name], rng)}
    if isinstance(value, list) and value and rng.random() < 0.7:
        place = int(rng.integers(len(value)))
        return [*value[:place], _mutated(value[place], rng), *value[place + 1 :]]
    return others[rng.integers(len(others))]
