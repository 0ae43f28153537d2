"""Fig. 1: the protocol, drawn: the window, the row that arrives and the rows that left."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from efface.paper.drawing import new_figure

_ROWS, _MEMORY, _STEPS = 9, 4, 3
_LIVE, _NEW, _GONE = "#56B4E9", "#E69F00", "#EEEEEE"
_ORDER = (
    "1  x(t) arrives     2  predict ŷ(t)     3  y(t) arrives     "
    "4  pay, learn     5  delete row t − s"
)


def draw_protocol() -> Figure:
    """Three steps of a window of four rows."""
    drawn = new_figure(2.9)
    axis = drawn.subplots()
    axis.set_xlim(-2.1, _ROWS + 3.4)
    axis.set_ylim(-1.75, _STEPS + 0.05)
    axis.axis("off")
    for step in range(_STEPS):
        _draw_step(axis, step, height=_STEPS - 1 - step)
    axis.text(-2.0, -0.75, "At each step:", fontsize=7.5, fontweight="bold", va="center")
    axis.text(-0.25, -0.75, _ORDER, fontsize=7.5, va="center")
    _legend(axis)
    return drawn


def _draw_step(axis: Axes, step: int, height: int) -> None:
    t = _MEMORY + 1 + step  # the row that arrives
    axis.text(-2.0, height + 0.3, f"step t = {t}", fontsize=7.5, va="center")
    for row in range(1, _ROWS + 1):
        if row < t - _MEMORY:
            _box(axis, row, height, _GONE, "0.75", "")
        elif row < t:
            leaves = row == t - _MEMORY
            _box(axis, row, height, _LIVE, "0.2", f"$z_{{{row}}}$", dashed=leaves)
        elif row == t:
            _box(axis, row, height, _NEW, "0.2", f"$x_{{{row}}}$")
        else:
            axis.text(row - 0.55, height + 0.3, "·", color="0.6", ha="center", va="center")
    window = f"$\\hat y_{{{t}}}$ from $x_{{{t}}}$ and $z_{{{t - _MEMORY}}}$ to $z_{{{t - 1}}}$ only"
    axis.text(_ROWS + 0.35, height + 0.3, window, fontsize=7.5, va="center")
    axis.annotate(
        "leaves after the step", (t - _MEMORY - 0.55, height + 0.56),
        (t - _MEMORY - 0.55, height + 0.86), fontsize=6.5, ha="center", va="center", color="0.3",
        arrowprops={"arrowstyle": "<-", "color": "0.3", "linewidth": 0.8},
    )  # fmt: skip


def _box(
    axis: Axes, row: int, height: float, fill: str, edge: str, text: str, *, dashed: bool = False
) -> None:
    style = "--" if dashed else "-"
    axis.add_patch(
        FancyBboxPatch(
            (row - 0.92, height + 0.06), 0.74, 0.48, boxstyle="round,pad=0.02,rounding_size=0.06",
            facecolor=fill, edgecolor=edge, linestyle=style, linewidth=0.8,
        )
    )  # fmt: skip
    axis.text(row - 0.55, height + 0.3, text, fontsize=8.5, ha="center", va="center")


def _legend(axis: Axes) -> None:
    places = ((0.67, _LIVE, "row in the window"), (4.3, _NEW, "row that arrives"))
    for x, colour, text in (*places, (7.6, _GONE, "row that left: nothing of it remains")):
        _box(axis, x, -1.75, colour, "0.4", "")  # type: ignore[arg-type]
        axis.text(x, -1.45, text, fontsize=7.5, va="center")
