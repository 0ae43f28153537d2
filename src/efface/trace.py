"""A whole array of events, compiled: predict, learn, let go, row by row, and what each cost."""

from __future__ import annotations

import numba
import numpy as np

from efface.blas import INNER, KERNEL, Ints, Matrix, Vector, copy, part, take
from efface.core import DUAL, PENALTY
from efface.dense import EPS, dot
from efface.moments import (
    END,
    FIRST,
    HARD,
    HEAD,
    INTERCEPT,
    LAMBDA,
    LEVEL,
    RANK,
    START,
    STOP,
    WIDTH,
)
from efface.stream import (
    COMPACT,
    DONE,
    Stream,
    bridge,
    learn_row,
    open_stream,
    precondition,
    refresh,
)


@numba.njit(**KERNEL, nogil=True)
def replay_rows(
    x: Matrix,
    y: Vector,
    floats: Vector,
    ints: Ints,
    rows: Matrix,
    responses: Vector,
    leaving: Ints,  # (n,): how many of the oldest rows go once row t is learned
    states: Matrix,  # (6, n): prediction, penalty, intercept, leverage new and old, FRT
    counts: Ints,  # (2, n): rows, rank
    coef: Matrix,  # (n, d), or (0, d) where it is not wanted
    start: int,
    watched: bool | None,
) -> tuple[int, int]:
    """Predict, then learn, row by row; what is written at t is the state that predicted row t.

    The row at which something else is to be done first, and what; or the end, DONE.
    """
    s = open_stream(floats, ints)
    for t in range(start, responses.size):
        code = refresh(s, x, y, watched)
        if code != DONE:
            return t, code
        _record(s, rows[t], t, states, counts, coef)
        if not learn_row(x, y, s.dials, rows[t], responses[t], leaving[t]):
            return t, COMPACT
    return responses.size, DONE


@numba.njit(cache=True, nogil=True)
def diagnose_rows(
    x: Matrix,
    y: Vector,
    floats: Vector,
    ints: Ints,
    rows: Matrix,
    responses: Vector,
    leaving: Ints,
    states: Matrix,
    counts: Ints,
    coef: Matrix,
    start: int,
    watched: bool | None,
) -> tuple[int, int]:
    """``replay_rows`` with leverages and rank: apart, as singular values are slow to compile."""
    s = open_stream(floats, ints)
    for t in range(start, responses.size):
        code = refresh(s, x, y, watched)
        if code != DONE:
            return t, code
        _record(s, rows[t], t, states, counts, coef)
        if counts[0, t] > 0:
            states[3, t], states[4, t], states[5, t] = _leverages(s, x, rows[t])
            counts[1, t] = _rank(s, x)
        if not learn_row(x, y, s.dials, rows[t], responses[t], leaving[t]):
            return t, COMPACT
    return responses.size, DONE


@numba.njit(**INNER, inline="always")
def _record(s: Stream, row: Vector, t: int, states: Matrix, counts: Ints, coef: Matrix) -> None:
    states[0, t] = dot(s.coef, row) + s.values[LEVEL]
    states[1, t] = s.values[LAMBDA]
    states[2, t] = s.values[LEVEL]
    counts[0, t] = s.dials[END] - s.dials[HEAD]
    counts[1, t] = s.dials[RANK]
    if coef.shape[0] > 0:
        copy(s.coef, coef[t])


@numba.njit(cache=True)
def _leverages(s: Stream, x: Matrix, row: Vector) -> tuple[float, float, float]:
    """Leverage of a new row and of the oldest, and the forgetting regret term (Def. 2)."""
    c, w, dials, d = s.core, s.work, s.dials, s.dials[WIDTH]
    head, intercept = dials[HEAD], dials[INTERCEPT] == 1
    penalty = s.values[LAMBDA]
    if dials[HARD] == 1 or (c.dials[DUAL] == 1 and (intercept or penalty == 0.0)):
        rows = part(x, head, dials[END])
        new, old, cross = _spectral_leverages(rows, penalty, intercept, row, x[head])
    else:
        lo, k = head - dials[FIRST], dials[START] - head + dials[END] - dials[STOP]
        images, factor = part(s.outside.images, lo, lo + k), take(w.factor, 0, k, k)
        weights, pair = part(w.weights[1], 0, k), np.ones((2, c.inverse.shape[0]))
        for j in range(d):
            pair[0, j], pair[1, j] = row[j] - c.centre[j], x[head, j] - c.centre[j]
        image = np.empty_like(pair)
        for i in range(2):
            precondition(c, images, factor, weights, pair[i], image[i])
            if penalty != c.values[PENALTY]:
                free = image.shape[1] if c.dials[DUAL] == 1 else d
                bridge(c, images, factor, w, image[i], penalty, free)
        new, old, cross = dot(pair[0], image[0]), dot(pair[1], image[1]), dot(pair[0], image[1])
    apart = max(0.0, new - cross * cross / old) if old > 0.0 else new
    return new, old, old * (apart + 1.0)


@numba.njit(cache=True)
def _spectral_leverages(
    rows: Matrix, penalty: float, intercept: bool, new: Vector, old: Vector
) -> tuple[float, float, float]:
    """<new, new>, <old, old> and <new, old> in the (pseudo-)inverse of the rows' system."""
    n, d = rows.shape
    mean, base = np.zeros(d), 0.0
    if intercept:
        base = 1.0 / n
        for j in range(d):
            mean[j] = rows[:, j].mean()
    _, sigma, vt = np.linalg.svd(rows - mean, full_matrices=False)
    u, v = new - mean, old - mean
    total = np.full(3, base)
    rest = np.array([dot(u, u), dot(v, v), dot(u, v)])
    for i in range(sigma.size):
        if penalty > 0.0 or sigma[i] > sigma[0] * max(n, d) * EPS:
            a, b = dot(vt[i], u), dot(vt[i], v)
            part = np.array([a * a, b * b, a * b])
            total += part / (sigma[i] * sigma[i] + penalty)
            rest -= part
    if penalty > 0.0:
        total += rest / penalty
    return total[0], total[1], total[2]


@numba.njit(cache=True)
def _rank(s: Stream, x: Matrix) -> int:
    """The rank of the live rows, by NumPy's rule, where the solution did not tell it."""
    if s.dials[RANK] >= 0:
        return s.dials[RANK]
    rows = x[s.dials[HEAD] : s.dials[END]].copy()
    for _ in range(2 * s.dials[INTERCEPT]):  # twice: rounding of a large mean looks like rank
        for j in range(rows.shape[1]):
            rows[:, j] -= rows[:, j].mean()
    sigma = np.linalg.svd(rows, full_matrices=False)[1]
    return int((sigma > sigma[0] * max(rows.shape) * EPS).sum())
