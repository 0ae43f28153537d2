"""The caption of each figure, and its last values as a table, as Markdown beside the figure."""

from __future__ import annotations

from collections.abc import Sequence

from efface.paper.drawing import Row, values_of
from efface.paper.plots import LineStyle, methods_in
from efface.paper.verdicts import with_error

_NOISE = {
    "fig3": "Gaussian noise of standard deviation σ.",
    "fig4": "Student-t noise with df degrees of freedom, not rescaled (σ = 1); its variance is "
    "df / (df − 2).",
    "fig4-variance": "Student-t noise with df degrees of freedom, divided by its standard "
    "deviation: the variance is 1 in every row, only the tails differ.",
    "fig5": "Gaussian noise of standard deviation σ. At each step k rows arrive and one leaves.",
}
_MARKED = "Lines marked with * are not the paper's. Bars are standard errors."
_FIXED = {
    "fig1": "**Fig. 1.** The online forgetting process with a constant memory of s rows (here "
    "s = 4). Only the rows of the window predict.",
    "fig2": "**Fig. 2.** The rank of the window as rows arrive and leave. Contexts are uniform on "
    "the unit vectors e1 .. e100. The lower row shows the last 300 steps, each at its own scale.",
    "fig6": "**Fig. 6.** The L2 error of the estimate over time. The last row shows the adaptive "
    'ridge alone, at its own scale, so that "at most 1" can be read.',
    "fig7": "**Fig. 7.** The penalty over time; for the adaptive ridge also that of the first run.",
    "memory": "**Error against memory.** The expected squared regret of one prediction after n "
    "rows, d = 100, coefficients of length 1. The vertical line is at n = d. Lines marked with * "
    "are not the paper's. Least squares has an infinite mean for n from 100 to 101.",
}


def caption(figure: str, rows: Sequence[Row]) -> str:
    """The caption of a figure, with its reading and its number of runs."""
    name = figure.removesuffix("-relative")
    text = _FIXED.get(name) or _regret_caption(figure, name)
    if name in ("fig1",):
        return text
    runs = ", ".join(f"{count}" for count in values_of(rows, "runs"))
    if name in ("fig2", "memory"):
        return f"{text} {runs} runs."
    return f"{text} {rows[0]['reading'].capitalize()} contexts, d = 100, {runs} runs. {_MARKED}"


def _regret_caption(figure: str, name: str) -> str:
    version = ", at equal variance" if name == "fig4-variance" else ""
    head = f"**Fig. {name[3]}{version}.** "
    if figure != name:
        what = "The regret divided by that of the best of the paper's three fixed penalties"
        return f"{head}{what} (logarithmic axis). {_NOISE[name]}"
    return f"{head}Cumulative regret. {_NOISE[name]}"


def last_values(figure: str, rows: Sequence[Row]) -> str:
    """The last value of each line in each subplot with its standard error; empty for Figs. 1, 2."""
    if figure in ("fig1", "fig2"):
        return _rank_table(rows) if rows else ""
    if figure == "memory":
        return _memory_table(rows)
    quantity = {"fig6": "l2", "fig7": "lambda"}.get(figure, "regret")
    down = "df" if figure.startswith("fig4") else "sigma"
    along = "k" if figure == "fig5" else "s"
    subplots = [(a, b) for a in values_of(rows, down) for b in values_of(rows, along)]
    ends = {
        subplot: _ends([r for r in rows if (r[down], r[along]) == subplot]) for subplot in subplots
    }
    styles = [style for style, _ in methods_in(rows)]
    symbol = "σ" if down == "sigma" else down
    head = ["", *(style.label for style in styles)]
    lines = [_line(*head), _line(*["---"] * len(head))]
    for (a, b), found in ends.items():
        cells = [_cell(found.get(style), quantity) for style in styles]
        lines.append(_line(f"{symbol} = {a:g}, {along} = {b:g}", *cells))
    return "\n".join(lines)


def _ends(rows: Sequence[Row]) -> dict[LineStyle, Row]:
    return {style: line[-1] for style, line in methods_in(rows)}


def _cell(row: Row | None, quantity: str) -> str:
    if row is None:
        return ""
    mean, error = row[f"{quantity}_mean"], row[f"{quantity}_se"]
    return with_error(mean, error) or f"{mean:.4g}"


def _rank_table(rows: Sequence[Row]) -> str:
    lines = [_line("s", "expected rank", "mean rank", "steps that lower the rank")]
    lines.append(_line(*["---"] * 4))
    for s in values_of(rows, "s"):
        part = [row for row in rows if row["s"] == s]
        mean = sum(row["rank_mean"] for row in part) / len(part)
        falls = f"{part[-1]['falls_mean']:,.0f} of {len(part) - 1:,}"
        lines.append(_line(str(s), f"{part[0]['rank_expected']:.2f}", f"{mean:.2f}", falls))
    return "\n".join(lines)


def _memory_table(rows: Sequence[Row]) -> str:
    methods = values_of(rows, "method")
    names = {"ols": "least squares", "oracle": "best ridge", "auto": "AutoRidge"}
    lines = [_line("", "floor", *(names.get(m, m) for m in methods))]
    lines.append(_line(*["---"] * (2 + len(methods))))
    for sigma in values_of(rows, "sigma"):
        for n in values_of(rows, "n"):
            part = {r["method"]: r for r in rows if (r["sigma"], r["n"]) == (sigma, n)}
            floor = f"{next(iter(part.values()))['floor']:.4g}"
            cells = [_cell(part[method], "error") for method in methods]
            lines.append(_line(f"σ = {sigma:g}, n = {n}", floor, *cells))
    return "\n".join(lines)


def _line(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"
