"""Standard errors, t- and p-values and R² of many least-squares fits at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from efface.batch.inference import Inference, RobustVariances
from efface.inputs.types import Ints, Matrix, Vector


@dataclass(frozen=True, eq=False)
class Statistics:
    """Inference on the coefficients of each window, for noise of constant variance or robust.

    NaN where the rows do not determine the coefficients, or leave no degree of freedom. p-values
    are two-sided, of Student's t. R² is centred with an intercept and uncentred without one.
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
    coef: Matrix,
    intercept: Vector,
    inference: Inference,
    nobs: Ints,
    fit_intercept: bool,
    robust: RobustVariances | None = None,
) -> Statistics:
    """The statistics of n fits: ``coef`` has the shape (n, d), ``intercept`` the shape (n,).

    With ``robust`` the standard errors are those.

    >>> found = Inference(np.array([[0.25]]), np.zeros(1), np.array([8.0]), np.array([80.0]))
    >>> fit = statistics(np.array([[3.0]]), np.zeros(1), found, np.array([5]), False)
    >>> fit.bse.item(), fit.rsquared.item()
    (0.7071067811865476, 0.9)
    """
    from scipy.stats import t as student  # slow to import, and seldom needed

    df = nobs - coef.shape[1] - int(fit_intercept)
    freedom = np.where(df > 0, df, np.nan)
    scale = inference.unexplained / freedom
    variance, base = inference.variance * scale[:, None], inference.base * scale
    if robust is not None:
        variance, base = robust
    bse = np.sqrt(np.where(df[:, None] > 0, variance, np.nan))
    intercept_bse = np.sqrt(np.where(df > 0, base, np.nan))
    if not fit_intercept:
        intercept_bse = np.full(len(intercept), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):  # a perfect fit has infinite t-values
        t, intercept_t = coef / bse, intercept / intercept_bse
        unexplained = inference.unexplained / inference.total
    return Statistics(
        bse=bse,
        tvalues=t,
        pvalues=np.asarray(2 * student.sf(np.abs(t), freedom[:, None])),
        intercept_bse=intercept_bse,
        intercept_tvalue=intercept_t,
        intercept_pvalue=np.asarray(2 * student.sf(np.abs(intercept_t), freedom)),
        nobs=nobs,
        df_resid=df,
        scale=scale,
        rsquared=1 - unexplained,
        rsquared_adj=1 - unexplained * (nobs - int(fit_intercept)) / freedom,
    )
