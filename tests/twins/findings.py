"""Slow and simple versions of the numbers that decide findings.

Nothing here imports the package.
"""

from __future__ import annotations

import itertools
import math

import numpy as np


def mean(values):
    return math.fsum(values) / len(values)


def table(setting, numbers, name):
    """The last value of every run: by method, and by method and penalty for fixed penalties."""
    found = {}
    for m, line in enumerate(setting.lines):
        runs = [float(run[m][-1]) for run in numbers[name]]
        found[line.method if line.method != "fixed" else ("fixed", line.penalty)] = runs
    return found


def smallest(runs_of, methods):
    """The smallest mean of the lines of some methods."""
    return min(
        mean(runs)
        for line, runs in runs_of.items()
        if (line[0] if isinstance(line, tuple) else line) in methods
    )


def exponent(predictions, curve):
    """p of R ~ n^p from the first time in the second half to the last time."""
    half = next(i for i, n in enumerate(predictions) if n >= predictions[-1] / 2)
    return math.log(curve[-1] / curve[half]) / math.log(predictions[-1] / predictions[half])


def floor(horizon, start, k, d, sigma):
    """The floor of a growing window of standardized rows: one root of a quadratic per step.

    m solves sigma^2 (1 - m) = m (n/d - 1 + m), the equation of Marchenko and Pastur.
    """
    total = []
    for step in range(horizon):
        b = (start + (k - 1) * step) / d - 1 + sigma**2
        low, high = 0.0, 1.0
        for _ in range(200):
            middle = (low + high) / 2
            if middle**2 + b * middle - sigma**2 < 0:
                low = middle
            else:
                high = middle
        total.append(low)
    return math.fsum(total)


def departed_rows(rows, responses, size, replaced):
    """A refit on the last ``size`` rows sees nothing of the first ``replaced`` ones."""
    assert len(rows) - replaced >= size
    return np.linalg.lstsq(rows[-size:], responses[-size:], rcond=None)[0]


def multiplications(d):
    """One slide of the inverse with a counter for each multiplication and division."""
    count = 0
    A = [[1.0 if i == j else 0.1 for j in range(d)] for i in range(d)]
    for sign in (1.0, -1.0):
        x = [0.1 * (i + 1) for i in range(d)]
        ahead = [0.0] * d
        for i, j in itertools.product(range(d), repeat=2):
            ahead[i] += A[i][j] * x[j]
            count += 1
        inner = 0.0
        for i in range(d):
            inner += x[i] * ahead[i]
            count += 1
        for i, j in itertools.product(range(d), repeat=2):
            A[i][j] -= ahead[i] * ahead[j] / (inner + sign)
            count += 2
    return count


def binomial_tail(n, least):
    """Pr[|sum of n random signs| >= least], by counting."""
    favourable = sum(math.comb(n, heads) for heads in range(n + 1) if abs(2 * heads - n) >= least)
    return favourable / 2**n


def student_cdf(x, df, steps=20_000):
    """The distribution function by the midpoint rule."""
    scale = math.gamma((df + 1) / 2) / (math.sqrt(df * math.pi) * math.gamma(df / 2))
    width = x / steps
    points = ((i + 0.5) * width for i in range(steps))
    return 0.5 + width * scale * math.fsum((1 + z**2 / df) ** (-(df + 1) / 2) for z in points)
