"""What is right: a refit by singular values on the rows of one window."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from benchmarks.workloads import Array, Work

RCOND = 1e-10
CHECK_FLOPS = 4e9
MOST_CHECKED = 200


def refit(work: Work, row: int) -> Array:
    """Coefficients of the window that ends at `row`, minimum norm where the rank is short."""
    X, y = work.window(row)
    if work.alpha:
        X = np.vstack([X, np.sqrt(work.alpha) * np.eye(work.d)])
        y = np.concatenate([y, np.zeros(work.d)])
    return np.asarray(np.linalg.lstsq(X, y, rcond=RCOND)[0], dtype=np.float64)


def sampled_rows(work: Work) -> npt.NDArray[np.intp]:
    """Rows to check: the first and last full windows and an even spread between, as time allows."""
    flops = 4.0 * (work.s + work.d) * work.d**2
    count = int(min(work.windows, MOST_CHECKED, max(12, CHECK_FLOPS // flops)))
    return np.unique(np.linspace(work.s - 1, work.n - 1, count).astype(np.intp))


def refits(work: Work, rows: npt.NDArray[np.intp]) -> Array:
    """The right coefficients at each of `rows`."""
    return np.array([refit(work, int(row)) for row in rows])


def relative_errors(coef: Array, right: Array) -> Array:
    """Largest deviation per row over the largest right coefficient; NaN without an answer."""
    deviation: Array = np.abs(coef - right).max(axis=1) / np.abs(right).max(axis=1)
    return deviation


def worst(errors: Array) -> float:
    """The largest error, NaN if any row has none."""
    return float(np.max(errors)) if errors.size else float("nan")
