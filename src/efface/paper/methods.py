"""The methods of the figures, and the predictions of each on a simulated stream.

The paper has the adaptive ridge, its switching variant and three fixed penalties. Three lines are
not the paper's: the best fixed penalty for coefficients of known length (``oracle``), the estimate
0 (``zero``) and ``AutoRidge`` (``auto``).
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from efface.batch.replay import replay
from efface.batch.results import Replay
from efface.batch.rolling import rolling
from efface.live.policies import AddDrop
from efface.models.linear import AdaptiveRidge, AutoRidge, Ridge, SwitchingRidge
from efface.models.regression import Model
from efface.paper.simulate import Simulated
from efface.theory.geometry import Array

Method = Literal["adaptive", "switching", "fixed", "oracle", "zero", "auto"]

METHODS: tuple[Method, ...] = get_args(Method)
PAPER_LINES: tuple[Method, ...] = METHODS[:-1]  # and two that cost almost nothing

START = 20  # rows in the window before the first (+k, -1) step


class Line(NamedTuple):
    """A method, drawn as one line; ``penalty`` is that of a ridge with a constant penalty."""

    method: Method
    penalty: float | None = None


class MethodPath(NamedTuple):
    """Per step of a method: k predictions, and the coefficients and penalty that made them."""

    predictions: Array  # (steps, k)
    coef: Array  # (steps, d)
    penalty: Array  # (steps,)


def model_of(line: Line, window: Any, delta: float) -> Model:
    """The model of a line, with the paper's plug-ins: sd(y), and 1 as the largest coefficient.

    >>> model_of(Line("fixed", 10.0), 20, delta=0.05).alpha
    10.0
    """
    if line.method == "auto":
        return AutoRidge(window, fit_intercept=False)
    if line.penalty is not None:
        return Ridge(window, alpha=line.penalty, fit_intercept=False)
    plug_ins: dict[str, Any] = {"theta_max": 1.0, "delta": delta}
    plug_ins["fit_intercept"] = False
    if line.method == "switching":
        return SwitchingRidge(window, switch_at=2.0, **plug_ins)
    return AdaptiveRidge(window, **plug_ins)


def replayed(
    model: Model, data: Simulated, s: int, *, coef: bool = False, diagnostics: bool = False
) -> Replay:
    """The replay of rows s+1 .. T by a model fitted to the first s rows."""
    model.fit(data.X[:s], data.y[:s])
    return replay(model, data.X[s:], data.y[s:], coef=coef, diagnostics=diagnostics)


def constant_memory(line: Line, data: Simulated, s: int, delta: float) -> MethodPath:
    """A line with a window of s rows, which predicts rows s+1 .. T one by one."""
    if line.method == "zero":
        return _zero(len(data.y) - s, 1, data.X.shape[1])
    if line.penalty is not None:
        return _fixed(line.penalty, data, s)
    found = replayed(model_of(line, s, delta), data, s, coef=True)
    assert found.coef is not None
    return MethodPath(found.prediction[:, np.newaxis], found.coef, found.penalty)


def growing_memory(line: Line, data: Simulated, k: int, delta: float) -> MethodPath:
    """A line with k arrivals per step; the estimate before the step predicts all of them."""
    steps, d = (len(data.y) - START) // k, data.X.shape[1]
    if line.method == "zero":
        return _zero(steps, k, d)
    found = replayed(model_of(line, AddDrop(k, 1, start=START), delta), data, START, coef=True)
    assert found.coef is not None
    coef = found.coef[::k]
    predictions = np.einsum("tkd,td->tk", data.X[START:].reshape(steps, k, d), coef)
    return MethodPath(predictions, coef, found.penalty[::k])


def _fixed(penalty: float, data: Simulated, s: int) -> MethodPath:
    """For a constant penalty ``rolling`` is faster than a replay."""
    found = rolling(
        data.X, data.y, s, alpha=penalty, fit_intercept=False, outputs=["coef"], threads=1
    ).coef
    assert found is not None
    coef = found[s - 1 : -1]
    predictions = np.einsum("td,td->t", data.X[s:], coef)
    return MethodPath(predictions[:, np.newaxis], coef, np.full(len(coef), penalty))


def _zero(steps: int, k: int, d: int) -> MethodPath:
    """The estimate 0; its penalty would be infinite and counts as missing."""
    return MethodPath(np.zeros((steps, k)), np.zeros((steps, d)), np.full(steps, np.nan))
