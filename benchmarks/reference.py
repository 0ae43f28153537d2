"""The reference: a refit by singular values on the rows of one window."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from benchmarks.workloads import Array, Work

RCOND = 1e-10
CHECK_FLOPS = 4e9
MOST_CHECKED = 200


def refit(work: Work, row: int) -> Array:
    """Coefficients of the window that ends at `row`, of minimum norm if the rank is deficient."""
    X, y = work.window(row)
    if work.alpha:
        X = np.vstack([X, np.sqrt(work.alpha) * np.eye(work.d)])
        y = np.concatenate([y, np.zeros(work.d)])
    return np.asarray(np.linalg.lstsq(X, y, rcond=RCOND)[0], dtype=np.float64)


def sampled_rows(work: Work) -> npt.NDArray[np.intp]:
    """As many rows to check as time allows, evenly spaced from the first full window on."""
    flops = 4.0 * (work.s + work.d) * work.d**2
    count = int(min(work.windows, MOST_CHECKED, max(12, CHECK_FLOPS // flops)))
    return np.unique(np.linspace(work.s - 1, work.n - 1, count).astype(np.intp))


def refits(work: Work, rows: npt.NDArray[np.intp]) -> Array:
    """The reference coefficients at each of `rows`."""
    return np.array([refit(work, int(row)) for row in rows])


def relative_errors(coef: Array, right: Array) -> Array:
    """Largest deviation per row over the largest reference coefficient; NaN without an answer."""
    deviation: Array = np.abs(coef - right).max(axis=1) / np.abs(right).max(axis=1)
    return deviation


def worst(errors: Array) -> float:
    """The largest error, NaN if any error is NaN."""
    return float(np.max(errors)) if errors.size else float("nan")
