"""Figures with matplotlib, which the extra ``plot`` installs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from efface.errors import MissingExtra
from efface.inputs.types import Vector

BAND = 1.96  # standard errors on each side: 95 % of normal noise
COLOURS = ("#1d5fd1", "#c77700", "#0b8a7d", "#c2408f", "#7b53cc", "#5d7a00", "#b4301f", "#39424f")


def axes(ax: Any, width: float = 8.0, height: float = 4.0) -> Any:
    """The given axes, or new ones."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtra("matplotlib", "plot") from error
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def tidy(ax: Any) -> Any:
    """Without a frame, with a light grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", alpha=0.25)
    return ax


def plot_path(ax: Any, x: Any, values: Vector, errors: Vector | None, name: str, k: int) -> None:
    """One coefficient over time, with a band of ``BAND`` standard errors."""
    colour = COLOURS[k % len(COLOURS)]
    ax.plot(x, values, color=colour, label=name, linewidth=1.4)
    if errors is not None:
        low, high = values - BAND * errors, values + BAND * errors
        ax.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)


def plot_coefficients(names: Sequence[str], coef: Vector, errors: Vector, ax: Any = None) -> Any:
    """Coefficients as dots with bars of ``BAND`` standard errors, the largest at the top."""
    ax = axes(ax, height=0.6 + 0.32 * len(names))
    order, places = np.argsort(np.abs(coef)), np.arange(len(coef))
    widths = np.where(np.isnan(errors), 0.0, BAND * errors)[order]
    ax.errorbar(coef[order], places, xerr=widths, fmt="o", color=COLOURS[0], capsize=3)
    ax.set_yticks(places, [names[k] for k in order])
    ax.axvline(0.0, color="#5b6675", linewidth=0.8)
    ax.set_xlabel("coefficient, with 95% interval")
    ax.spines[["top", "right"]].set_visible(False)
    return ax
