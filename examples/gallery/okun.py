"""Okun's law, quarter by quarter: a rolling regression with standard errors.

When an economy grows, unemployment falls. The size of this effect changes over the decades, so the
regression uses the last ten years at every quarter. `rolling` returns the slope with its standard
error, and statsmodels gives the same values on the same windows. `min_rows` allows shorter windows
at the start, from five years on. Data: US quarters from 1959 to 2009, in the public domain, shipped
with statsmodels.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
import statsmodels.api as sm
from statsmodels.regression.rolling import RollingOLS

from efface import rolling

WINDOW, FIRST = 40, 20  # quarters in a full window and in the first one

data = sm.datasets.macrodata.load_pandas().data
growth = 100 * np.diff(np.log(data["realgdp"]))
change = np.diff(data["unemp"])
quarters = data["year"].to_numpy()[1:] + (data["quarter"].to_numpy()[1:] - 1) / 4

ours = rolling(growth[:, None], change, WINDOW, fit_intercept=True, min_rows=FIRST, stats=True)
slope, error = ours.coef[:, 0], ours.stats.bse[:, 0]
theirs = RollingOLS(change, sm.add_constant(growth), WINDOW, min_nobs=FIRST, expanding=True).fit()

print("quarter  slope  std err      p     R²  rows")
for t in range(39, len(quarters), 40):
    year, quarter = divmod(quarters[t], 1)
    print(
        f"{year:.0f} Q{4 * quarter + 1:.0f}  {slope[t]:5.2f}    {error[t]:.3f}"
        f"  {ours.stats.pvalues[t, 0]:.0e}  {ours.stats.rsquared[t]:.2f}  {ours.stats.nobs[t]:4d}"
    )
apart = max(
    np.abs(theirs.params[FIRST - 1 :, 1] / slope[FIRST - 1 :] - 1).max(),
    np.abs(theirs.bse[FIRST - 1 :, 1] / error[FIRST - 1 :] - 1).max(),
)
print("equal to statsmodels to nine digits in every window:", apart < 1e-9)

figure, axes = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
axes.axhline(0, color="0.6", linewidth=0.8)
axes.fill_between(quarters, slope - 2 * error, slope + 2 * error, color="#1f77b4", alpha=0.2, lw=0)
axes.plot(quarters, slope, color="#1f77b4", label="slope, last ten years")
axes.set(ylabel="points of unemployment\nper percent of growth", xlim=(1959, 2010))
axes.set_title(
    "One percent of growth in a quarter, and unemployment (± 2 standard errors)", size=10
)
axes.spines[["top", "right"]].set_visible(False)
figure.savefig(sys.argv[1], dpi=160)
