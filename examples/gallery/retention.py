"""Rows may be kept for 30 days: a stream with prediction intervals, checked month by month.

Each hour of a year of bicycle hires is predicted from the 30 days before it, then learned; older
rows have left. The intervals should cover 90 % of the hires. The script measures the coverage month
by month for two kinds: the t-interval, which assumes constant variance, and the conformal interval,
which adapts to the errors of the newest live rows. Data: Capital Bikeshare 2011, Fanaee-T and Gama
(2013), CC BY 4.0, shipped with efface.
"""

from __future__ import annotations

import sys
from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from efface import Ridge, replay

hours = pd.read_csv(files("efface.files") / "sample" / "bikeshare.csv", parse_dates=["time"])
angles = np.outer(hours["hr"], np.arange(1, 6)) * 2 * np.pi / 24
clock, working = np.hstack([np.sin(angles), np.cos(angles)]), hours[["workingday"]]
X = np.hstack([hours[["temp", "hum", "windspeed"]], working, clock, clock * working.to_numpy()])
y, months = hours["bikers"].to_numpy(float), hours["time"].dt.month.to_numpy()
known = months > 1  # the first month fills the window

runs = {}
for method in ("gaussian", "conformal"):
    model = Ridge(window="30d", alpha=0.1)
    runs[method] = replay(model, X, y, at=hours["time"], interval=0.9, method=method)
print(f"{len(y)} hours, {model.n_rows_} live rows at the end, the oldest has id {model.ids_[0]}")
inside = {name: (run.lower <= y) & (y <= run.upper) for name, run in runs.items()}
for name, hit in inside.items():
    width = np.median((runs[name].upper - runs[name].lower)[known])
    print(f"{name:>9}: {hit[known].mean():.1%} covered, median width {width:.0f} hires")

figure, (week, year) = plt.subplots(2, figsize=(7.2, 5.6), layout="constrained")
part = slice(4000, 4000 + 7 * 24)
run, times = runs["conformal"], hours["time"].to_numpy()
week.fill_between(times[part], run.lower[part], run.upper[part], color="#1f77b4", alpha=0.2, lw=0)
week.plot(
    times[part], run.prediction[part], color="#1f77b4", label="prediction, 90 % conformal interval"
)
week.plot(times[part], y[part], ".", color="black", ms=3, label="hires")
week.set_title("A week, each hour predicted from the 30 days before it", size=10)
week.legend(frameon=False, loc="upper left", ncols=2)
week.set(ylim=(-150, 800), ylabel="hires per hour")
week.xaxis.set_major_formatter(plt.matplotlib.dates.DateFormatter("%-d %b"))
for (name, hit), colour in zip(inside.items(), ("#ff7f0e", "#1f77b4"), strict=True):
    shares = [100 * hit[months == month].mean() for month in range(2, 13)]
    year.plot(range(2, 13), shares, "o-", color=colour, label=name)
year.axhline(90, color="0.6", linewidth=0.8)
year.set(xlabel="month of 2011", ylabel="% covered", ylim=(78, 100), xticks=range(2, 13))
year.set_title("Coverage of the 90 % intervals, month by month", size=10)
year.legend(frameon=False)
for axes in (week, year):
    axes.spines[["top", "right"]].set_visible(False)
figure.savefig(sys.argv[1], dpi=160)
