"""A River pipeline that forgets: which window predicts a drifting target best?

Five pollsters publish approval ratings. The target is a weighted average of the five, day by day.
The weights drift, so old days mislead. Windows of several sizes run in River's progressive
validation: predict, score, learn. River's linear regression runs on the same days. Its gradient
steps follow the drift and fade old days, but it cannot forget a given day. The first 100 days do
not count, because all models start without data. Data: FiveThirtyEight's ratings, shipped with
River.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
from river import compose, datasets, evaluate, linear_model, metrics, preprocessing

from efface import Ridge
from efface.models.river import Regressor

WINDOWS = [10, 20, 50, 200, None]
polls = datasets.TrumpApproval()


def errors(model) -> np.ndarray:
    """The absolute error of each day's prediction, made before the day was learned."""
    pipeline = compose.Discard("ordinal_date") | model
    steps = evaluate.iter_progressive_val_score(
        polls, pipeline, metrics.MAE(), step=1, yield_predictions=True
    )
    return np.abs([step["Prediction"] - y for step, (_, y) in zip(steps, polls, strict=False)])


runs = {window: errors(Regressor(Ridge(window=window, alpha=1.0))) for window in WINDOWS}
sgd = errors(preprocessing.StandardScaler() | linear_model.LinearRegression(intercept_lr=0.1))

print("window  mean absolute error after the first 100 days")
for window, run in runs.items():
    print(f"{window or 'all':>6}  {run[100:].mean():.3f}")
print(f" River  {sgd[100:].mean():.3f}")

figure, axes = plt.subplots(figsize=(7.2, 3.8), layout="constrained")
colours = plt.colormaps["viridis"](np.linspace(0, 0.85, len(WINDOWS)))


def draw(run: np.ndarray, label: str, **style) -> None:
    recent = np.lib.stride_tricks.sliding_window_view(run[100:], 100).mean(axis=1)
    axes.plot(199 + np.arange(len(recent)), recent, label=label, **style)


for (window, run), colour in zip(runs.items(), colours, strict=True):
    draw(run, f"last {window} days" if window else "all days", color=colour)
draw(sgd, "River, gradient descent", color="#d62728", linestyle="--")
axes.set(xlabel="day", ylabel="mean absolute error\nof the last 100 days", ylim=(0, 1))
axes.set_title("Predicting an average of polls from the five polls of the day", size=10)
axes.legend(frameon=False, ncols=2)
axes.spines[["top", "right"]].set_visible(False)
figure.savefig(sys.argv[1], dpi=160)
