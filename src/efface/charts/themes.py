"""The colours of the light and the dark theme, by name.

Charts and pages refer to colours by name. The page switches themes without drawing anew.
"""

from __future__ import annotations

from collections.abc import Mapping

_COLOURS = {  # light, dark
    "ground": ("#f5f6f8", "#12161c"),
    "card": ("#ffffff", "#1a2028"),
    "border": ("#e1e5ea", "#2d3540"),
    "ink": ("#1c2430", "#e8ecf2"),
    "muted": ("#5b6675", "#a3adbb"),
    "grid": ("#e6e9ee", "#2b323d"),
    "good": ("#117a43", "#55cf8b"),
    "bad": ("#b4301f", "#ff8a75"),
    "warn": ("#b4431f", "#ff9068"),
    "model": ("#1d5fd1", "#6ea8ff"),
    "interval": ("#9dbdf2", "#2f568f"),
    "observed": ("#39424f", "#cfd6e0"),
    "0": ("#c77700", "#f2b04a"),
    "1": ("#0b8a7d", "#45d0bf"),
    "2": ("#7b53cc", "#b79cff"),
    "3": ("#c2408f", "#f285c4"),
    "4": ("#5d7a00", "#b5d334"),
    "5": ("#8c4a1f", "#d99a6c"),
    "6": ("#8a94a3", "#77818f"),
}
LIGHT = {name: light for name, (light, _) in _COLOURS.items()}
DARK = {name: dark for name, (_, dark) in _COLOURS.items()}


def css_variables(theme: Mapping[str, str]) -> str:
    """The colours of a theme as CSS custom properties.

    >>> css_variables({"ink": "#000", "0": "#c70"})
    '--ink: #000; --0: #c70;'
    """
    return " ".join(f"--{name}: {colour};" for name, colour in theme.items())


def series_colour(position: int) -> str:
    """The colour name of a series: the model is first, then the value before, then baselines."""
    return "model" if position == 0 else "6" if position == 1 else str((position - 2) % 6)
