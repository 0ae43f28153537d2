"""Standard errors, t- and p-values and the share explained, of many least-squares fits at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from efface.engine.windows.inference import Inference

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Statistics:
    """What each window says of its own coefficients, under noise of one variance.

    NaN where rows do not determine the coefficients, or leave no degree of freedom. p-values are
    those of Student's t. The share explained is measured from the mean with an intercept, from zero
    without.
    """

    bse: Matrix
    tvalues: Matrix
    pvalues: Matrix
    intercept_bse: Vector
    intercept_tvalue: Vector
    intercept_pvalue: Vector
    nobs: Ints  # 0 where there is no regression
    df_resid: Ints
    scale: Vector  # the variance of the noise
    rsquared: Vector
    rsquared_adj: Vector


def statistics(
    coef: Matrix, level: Vector, inference: Inference, nobs: Ints, intercept: bool
) -> Statistics:
    """What fits say of themselves: ``coef`` (n, d), ``level`` (n,) the intercepts.

    >>> found = Inference(np.array([[0.25]]), np.zeros(1), np.array([8.0]), np.array([80.0]))
    >>> fit = statistics(np.array([[3.0]]), np.zeros(1), found, np.array([5]), False)
    >>> fit.bse.item(), fit.rsquared.item()
    (0.7071067811865476, 0.9)
    """
    from scipy.stats import t as student  # slow to import, and seldom needed

    df = nobs - coef.shape[1] - int(intercept)
    free = np.where(df > 0, df, np.nan)
    scale = inference.unexplained / free
    bse = np.sqrt(inference.variance * scale[:, None])
    base = np.sqrt(inference.base * scale) if intercept else np.full(len(level), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):  # a perfect fit: infinite, as it should be
        t, t_base = coef / bse, level / base
        missing = inference.unexplained / inference.total
    return Statistics(
        bse=bse,
        tvalues=t,
        pvalues=np.asarray(2 * student.sf(np.abs(t), free[:, None])),
        intercept_bse=base,
        intercept_tvalue=t_base,
        intercept_pvalue=np.asarray(2 * student.sf(np.abs(t_base), free)),
        nobs=nobs,
        df_resid=df,
        scale=scale,
        rsquared=1 - missing,
        rsquared_adj=1 - missing * (nobs - int(intercept)) / free,
    )
