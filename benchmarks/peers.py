"""Rolling regressions of efface and of its peers, all with the same two functions.

A contender gets its data in its own format before the clock starts and answers in its own format:
converting arrays to frames and back is not timed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from benchmarks.subject import EffaceMissingError, efface
from benchmarks.workloads import Array, Work

CHUNK_BYTES = 2**19
WIDEST_PACKED = 32

T = TypeVar("T")


@dataclass(frozen=True)
class Job:
    """A prepared problem: `run` is timed, `coef` turns its answer into an n x d array."""

    run: Callable[[], Any]
    coef: Callable[[Any], Array]


@dataclass(frozen=True)
class Contender:
    """A named implementation of rolling regression."""

    name: str
    prepare: Callable[[Work], Job]
    slow: bool = True  # may be timed on fewer rows and scaled
    ours: bool = False


class RefusalError(ValueError):
    """The contender does not support this problem."""


def ours(work: Work, threads: int = 1) -> Job:
    """`efface.rolling`."""
    rolling = efface("rolling")

    def run() -> Any:
        shape = {"fit_intercept": False, "min_rows": work.s, "threads": threads}
        return rolling(work.X, work.y, work.s, alpha=work.alpha, **shape)

    return Job(run, lambda answer: np.asarray(answer.coef))


def _frame(work: Work) -> tuple[Any, list[str]]:
    import polars as pl

    names = [f"x{j}" for j in range(work.d)]
    return pl.DataFrame(np.asfortranarray(work.X), schema=names).with_columns(y=work.y), names


def polars_ds(work: Work) -> Job:
    """polars-ds `rolling_lin_reg`: Sherman-Morrison on the inverse."""
    import polars_ds as pds

    if work.s < work.d:
        raise RefusalError("more features than rows in the window")
    frame, names = _frame(work)
    fit = pds.rolling_lin_reg(
        *names, target="y", window_size=work.s, l2_reg=work.alpha, null_policy="ignore"
    ).alias("fit")

    def coef(answer: Any) -> Array:
        lists = answer["fit"].struct.field("coeffs")
        return np.asarray(lists.list.to_array(work.d).to_numpy())

    return Job(lambda: frame.select(fit), coef)


def _polars_ols(work: Work, woodbury: bool) -> Job:
    import polars as pl
    import polars_ols as po

    frame, names = _frame(work)
    options = po.RollingKwargs(
        window_size=work.s,
        min_periods=work.s,
        use_woodbury=woodbury,
        alpha=work.alpha,
        null_policy="ignore",
    )
    fit = po.compute_rolling_least_squares(
        pl.col("y"), *map(pl.col, names), mode="coefficients", rolling_kwargs=options
    ).alias("fit")
    return Job(lambda: frame.select(fit), lambda answer: np.asarray(answer["fit"].struct.unnest()))


def polars_ols_woodbury(work: Work) -> Job:
    """polars-ols with `use_woodbury=True`, its default above ten features."""
    return _polars_ols(work, woodbury=True)


def polars_ols_cholesky(work: Work) -> Job:
    """polars-ols with `use_woodbury=False`, its default up to ten features."""
    return _polars_ols(work, woodbury=False)


def _statsmodels(work: Work, method: str) -> Job:
    from statsmodels.regression.rolling import RollingOLS

    if work.alpha:
        raise RefusalError("RollingOLS has no ridge")
    model = RollingOLS(work.y, work.X, window=work.s)
    return Job(
        lambda: model.fit(method=method, params_only=True),
        lambda answer: np.asarray(answer.params),
    )


def statsmodels(work: Work) -> Job:
    """statsmodels `RollingOLS` with its default method: running sums and their inverse."""
    return _statsmodels(work, "inv")


def statsmodels_pinv(work: Work) -> Job:
    """statsmodels `RollingOLS` with a pseudo-inverse per window."""
    return _statsmodels(work, "pinv")


def numpy_batched(work: Work) -> Job:
    """Prefix sums of products and batched `np.linalg.solve`, in chunks that fit a cache."""
    d, s = work.d, work.s
    packed = d <= WIDEST_PACKED  # each product once, while gathering is cheaper than multiplying
    upper, lower = np.triu_indices(d) if packed else np.indices((d, d)).reshape(2, -1)
    size = len(upper)
    square = np.empty((d, d), dtype=np.intp)
    square[lower, upper] = square[upper, lower] = np.arange(size)
    chunk = max(8, CHUNK_BYTES // (8 * d**2))

    def products(first: int, stop: int) -> Array:
        X, y = work.X[first:stop], work.y[first:stop]
        sums = np.empty((stop - first, size + d))
        if packed:
            np.multiply(X[:, upper], X[:, lower], out=sums[:, :size])
        else:
            outer = sums[:, :size].reshape(-1, d, d)
            np.multiply(X[:, :, None], X[:, None, :], out=outer)
        np.multiply(X, y[:, None], out=sums[:, size:])
        return sums

    def solve(sums: Array) -> Array:
        grams = sums[:, square.ravel()] if packed else sums[:, :size]
        return np.asarray(np.linalg.solve(grams.reshape(-1, d, d), sums[:, size:, None])[..., 0])

    def run() -> Array:
        coef = np.full((work.n, d), np.nan)
        X, y = work.window(s - 1)
        gram = X.T @ X + work.alpha * np.eye(d)
        total = np.concatenate([gram[upper, lower], X.T @ y])
        coef[s - 1] = solve(total[None])[0]
        for start in range(s, work.n, chunk):
            stop = min(start + chunk, work.n)
            sums = products(start, stop)
            sums -= products(start - s, stop - s)
            sums[0] += total
            np.cumsum(sums, axis=0, out=sums)
            coef[start:stop] = solve(sums)
            total = sums[-1].copy()
        return coef

    return Job(run, lambda answer: answer)


def _refit_each(work: Work, solve: Callable[[Array, Array], Array]) -> Job:
    def run() -> Array:
        coef = np.full((work.n, work.d), np.nan)
        for row in range(work.s - 1, work.n):
            coef[row] = solve(*work.window(row))
        return coef

    return Job(run, lambda answer: answer)


def refit_cholesky(work: Work) -> Job:
    """A refit per row: Cholesky of the normal equations, or of the dual where s < d."""
    from scipy.linalg.lapack import dposv

    dual = bool(work.alpha) and work.s < work.d
    ridge = work.alpha * np.eye(work.s if dual else work.d)

    def solve(X: Array, y: Array) -> Array:
        gram, moment = (X @ X.T, y) if dual else (X.T @ X, X.T @ y)
        _, answer, singular = dposv(gram + ridge, moment)
        if singular:
            return np.full(work.d, np.nan)
        return np.asarray(X.T @ answer if dual else answer)

    return _refit_each(work, solve)


def refit_svd(work: Work) -> Job:
    """A refit per row by `np.linalg.lstsq`, the only peer that is always accurate."""
    tail_X = np.sqrt(work.alpha) * np.eye(work.d)
    tail_y = np.zeros(work.d)

    def solve(X: Array, y: Array) -> Array:
        if work.alpha:
            X, y = np.vstack([X, tail_X]), np.concatenate([y, tail_y])
        return np.asarray(np.linalg.lstsq(X, y, rcond=None)[0])

    return _refit_each(work, solve)


def contenders(threads: int = 1) -> list[Contender]:
    """All contenders, efface first."""
    return [
        Contender("efface", lambda work: ours(work, threads), slow=False, ours=True),
        Contender("polars-ds", polars_ds, slow=False),
        Contender("polars-ols Woodbury", polars_ols_woodbury),
        Contender("polars-ols Cholesky", polars_ols_cholesky),
        Contender("statsmodels", statsmodels),
        Contender("NumPy batched", numpy_batched),
        Contender("refit Cholesky", refit_cholesky),
        Contender("refit SVD", refit_svd),
    ]


def attempt(call: Callable[[], T]) -> tuple[T | None, str]:
    """The answer of a call, or the reason why there is none."""
    try:
        return call(), ""
    except (KeyboardInterrupt, SystemExit):
        raise
    except RefusalError as error:
        return None, f"refuses: {error}"
    except (ImportError, EffaceMissingError) as error:
        return None, f"missing: {error}"
    except BaseException as error:  # a panic in polars is not an Exception
        return None, f"fails: {type(error).__name__} {' '.join(str(error).split())[:100]}"
