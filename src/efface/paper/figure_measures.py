"""The numbers that decide the findings on Figs. 2 to 7, computed from the runs of the experiments.

A measure yields one number with its standard error for each setting and method of a finding. Its
last positional argument is the evidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from efface.paper.evidence import Evidence, MeasuredSubplot, Places
from efface.paper.methods import START, Line, Method
from efface.paper.settings import EQUAL_VARIANCE, SIGMAS
from efface.paper.verdicts import Place, growth_exponent, jackknife, ratio_of_means
from efface.theory.geometry import Array

Quantity = Callable[[MeasuredSubplot, Line], Array]

ADAPTIVE = Line("adaptive")
AUTO = Line("auto")


def _over_best(one: Array, others: Array) -> float:
    """The mean of a sample over the smallest mean of the columns."""
    return float(one.mean() / others.mean(axis=0).min())


def name_of(line: Line) -> str:
    """The method, and the penalty of a fixed one."""
    return line.method if line.penalty is None else f"{line.method} {line.penalty:.4g}"


def _table(
    quantity: Quantity, measured: MeasuredSubplot, lines: Sequence[Line]
) -> tuple[Array, str]:
    """A quantity with one column per line, and the name of the best line."""
    table = np.column_stack([quantity(measured, line) for line in lines])
    return table, f"best {name_of(lines[int(table.mean(axis=0).argmin())])}"


def _halves(measured: MeasuredSubplot) -> tuple[int, float]:
    """The index of half of the horizon, and the logarithm of the growth of t from there."""
    predictions = measured.setting.times - measured.setting.rows_needed
    half = int(np.searchsorted(predictions, predictions[-1] / 2))
    return half, math.log(predictions[-1] / predictions[half])


def growth_exponents(figure: str, evidence: Evidence) -> Places:
    """p of R ~ (number of predictions)^p over the second half of the horizon."""
    for measured in evidence.subplots(figure):
        half, growth = _halves(measured)
        for line in measured.paper_lines:
            regret = measured.line("regret", line)
            samples = regret[:, -1], regret[:, half]
            yield measured.place(partial(growth_exponent, growth), *samples, detail=name_of(line))


def exponent_steps(figure: str, evidence: Evidence) -> Places:
    """p of R ~ t^p over the second half, minus that of the next smaller noise level."""
    for column in evidence.rows(figure, "sigma", "k"):
        for before, after in pairwise(column):
            half, growth = _halves(after)

            def step(a: Array, b: Array, c: Array, d: Array, growth: float = growth) -> float:
                return growth_exponent(growth, a, b) - growth_exponent(growth, c, d)

            for old, new in zip(before.paper_lines, after.paper_lines, strict=True):
                regrets = after.line("regret", new), before.line("regret", old)
                samples = [each[:, at] for each in regrets for at in (-1, half)]
                start = f"from sigma={before.setting.sigma:g}"
                yield after.place(step, *samples, detail=f"{name_of(new)}, {start}")


def step_ratios(
    figure: str,
    along: str,
    across: str,
    quantity: Quantity,
    evidence: Evidence,
    *,
    lines: slice = slice(None),
) -> Places:
    """The ratio of a method's quantity to that of the previous panel, along a row or column."""
    for row in evidence.rows(figure, along, across):
        for before, after in pairwise(row):
            pairs = list(zip(before.paper_lines, after.paper_lines, strict=True))
            for old, new in pairs[lines]:
                samples = quantity(after, new), quantity(before, old)
                start = f"{along}={getattr(before.setting, along):g}"
                yield after.place(ratio_of_means, *samples, detail=f"{name_of(new)}, from {start}")


def ratios_to_the_best(
    figure: str, quantity: Quantity, evidence: Evidence, *, sigmas: Sequence[float] = SIGMAS
) -> Places:
    """A quantity of the adaptive ridge over that of the best fixed penalty."""
    for measured in evidence.subplots(figure):
        if measured.setting.sigma in sigmas:
            table, best = _table(quantity, measured, measured.fixed_lines)
            yield measured.place(_over_best, quantity(measured, ADAPTIVE), table, detail=best)


def small_penalties(evidence: Evidence) -> Places:
    """The regret of the penalties sigma and 10 sigma over the best of the four, top left."""
    measured = evidence.subplots("fig3")[0]
    table, best = _table(MeasuredSubplot.total, measured, measured.paper_lines)
    for factor in (1.0, 10.0):
        line = measured.fixed(factor)
        detail = f"{name_of(line)}, {best}"
        yield measured.place(_over_best, measured.total(line), table, detail=detail)


def regret_ratios(
    figure: str,
    top: Method | float,
    bottom: Method | float,
    evidence: Evidence,
    *,
    sigmas: Sequence[float] = SIGMAS,
) -> Places:
    """The regret of one method over that of another; a number is a fixed penalty over sigma."""
    for measured in evidence.subplots(figure):
        if measured.setting.sigma in sigmas:
            one, other = (_line(measured, line) for line in (top, bottom))
            samples = measured.total(one), measured.total(other)
            yield measured.place(
                ratio_of_means, *samples, detail=f"{name_of(one)} / {name_of(other)}"
            )


def _line(measured: MeasuredSubplot, wanted: Method | float) -> Line:
    return measured.fixed(wanted) if isinstance(wanted, float) else measured.only(wanted)


def oracle_over_best(figure: str, evidence: Evidence) -> Places:
    """The regret of the oracle penalty over that of the best of the paper's methods."""
    for measured in evidence.subplots(figure):
        table, best = _table(MeasuredSubplot.total, measured, measured.paper_lines)
        oracle = measured.total(measured.only("oracle"))
        yield measured.place(_over_best, oracle, table, detail=best)


def auto_over_best(figure: str, evidence: Evidence) -> Places:
    """The regret of AutoRidge over that of the best of the paper's fixed penalties."""
    for measured, auto in evidence.paired_with_auto(figure):
        table, best = _table(MeasuredSubplot.total, measured, measured.fixed_lines)
        yield measured.place(_over_best, auto.total(AUTO), table, detail=best)


def auto_ratios(figure: str, bottom: Method, evidence: Evidence) -> Places:
    """The regret of AutoRidge over that of another method."""
    for measured, auto in evidence.paired_with_auto(figure):
        line = measured.only(bottom)
        samples = auto.total(AUTO), measured.total(line)
        yield measured.place(ratio_of_means, *samples, detail=f"auto / {name_of(line)}")


def floor_ratios(figure: str, evidence: Evidence, *, methods: Sequence[Method] = ()) -> Places:
    """The regret of each line over the floor under that of every method (``regret_floor``)."""
    every = [*evidence.subplots(figure)]
    if not methods:
        every += [auto for _, auto in evidence.paired_with_auto(figure)]
    for measured in every:
        floor = float(measured.setting.floor[-1]) / measured.steps
        for line in measured.setting.lines:
            if not methods or line.method in methods:
                yield measured.place(
                    lambda total, floor=floor: float(total.mean() / floor),
                    measured.total(line),
                    detail=name_of(line),
                )


def l2_levels(evidence: Evidence) -> Places:
    """The L2 error of the adaptive ridge, averaged over time."""
    for measured in evidence.subplots("fig3"):
        yield measured.place(np.mean, measured.mean_l2(ADAPTIVE), detail="adaptive")


def l2_bars(evidence: Evidence) -> Places:
    """The width of the adaptive error bars over that of each fixed penalty, averaged over time."""

    def widths(adaptive: Array, fixed: Array) -> float:
        return float(adaptive.std(axis=0, ddof=1).mean() / fixed.std(axis=0, ddof=1).mean())

    for measured in evidence.subplots("fig3"):
        if measured.runs < 3:
            yield Place(measured.setting.id, math.inf, math.inf, "too few runs")
            continue
        for line in measured.fixed_lines:
            samples = measured.line("l2", ADAPTIVE), measured.line("l2", line)
            yield measured.place(widths, *samples, detail=f"over {name_of(line)}")


def sensitivities(figure: str, along: str, evidence: Evidence) -> Places:
    """Growth of the regret of small fixed penalties along a column, over that of the adaptive."""

    def contrast(a: Array, b: Array, c: Array, d: Array) -> float:
        return ratio_of_means(a, b) / ratio_of_means(c, d)

    for row in evidence.rows(figure, along, "s"):
        low, high = (row[-1], row[0]) if along == "df" else (row[0], row[-1])
        for factor in (1.0, 10.0):
            fixed = [each.total(each.fixed(factor)) for each in (high, low)]
            adaptive = [each.total(ADAPTIVE) for each in (high, low)]
            detail = f"lam = {factor:g} sigma, against {low.setting.id.split(',')[1]}"
            yield high.place(contrast, *fixed, *adaptive, detail=detail)


def memory_sensitivities(evidence: Evidence) -> Places:
    """The largest over the smallest regret as s varies, over that of the adaptive ridge."""

    def spread(*columns: Array) -> float:
        means = np.array([column.mean() for column in columns]).reshape(2, -1)
        fixed, adaptive = means.max(axis=1) / means.min(axis=1)
        return float(fixed / adaptive)

    for row in evidence.rows("fig3", "s", "sigma"):
        for factor in (1.0, 10.0):
            fixed = [each.total(each.fixed(factor)) for each in row]
            adaptive = [each.total(ADAPTIVE) for each in row]
            detail = f"lam = {factor:g} sigma, s = 20 to 80"
            yield row[-1].place(spread, *fixed, *adaptive, detail=detail)


def penalty_variation(evidence: Evidence) -> Places:
    """The standard deviation of the adaptive penalty over time, over its mean, in a run."""
    for measured in evidence.subplots("fig3"):
        penalty = measured.line("lambda", ADAPTIVE)
        variation = penalty.std(axis=1) / penalty.mean(axis=1)
        yield measured.place(np.mean, variation, detail="adaptive")


def penalty_over_oracle(evidence: Evidence) -> Places:
    """The mean adaptive penalty over the oracle penalty."""
    for measured in evidence.subplots("fig3"):
        oracle = measured.only("oracle").penalty
        penalty = measured.line("lambda", ADAPTIVE).mean(axis=1) / oracle
        yield measured.place(np.mean, penalty, detail=f"oracle {oracle:g}")


def tail_ratios(evidence: Evidence) -> Places:
    """The regret at df = 5 over that at df = 15, at equal variance."""
    for row in evidence.rows(EQUAL_VARIANCE, "df", "s"):
        heavy, light = row[0], row[-1]
        for line, other in zip(heavy.paper_lines, light.paper_lines, strict=True):
            samples = heavy.total(line), light.total(other)
            yield heavy.place(ratio_of_means, *samples, detail=f"{name_of(line)}, over df=15")


def switch_rules(evidence: Evidence) -> Places:
    """The steps of a panel at which "more than 2d rows" and "at least 2d rows" differ."""
    for measured in evidence.subplots("fig5"):
        setting = measured.setting
        rows = START + ((setting.k or 1) - 1) * np.arange(setting.horizon)
        differ = int(np.count_nonzero((rows > 2 * setting.d) != (rows >= 2 * setting.d)))
        yield Place(setting.id, float(differ), 0.0, f"at {2 * setting.d} rows")


def rank_falls(evidence: Evidence) -> Places:
    """The share of steps that lower the rank."""
    for setting, numbers in evidence.ranks.items():
        falls = (np.diff(numbers["rank"], axis=1) < 0).mean(axis=1)
        yield Place(setting.id, *jackknife(np.mean, falls), "share of steps that lower the rank")


def rank_steps(evidence: Evidence) -> Places:
    """The largest change of the rank in one step."""
    for setting, numbers in evidence.ranks.items():
        largest = np.abs(np.diff(numbers["rank"], axis=1)).max()
        yield Place(setting.id, float(largest), 0.0, f"{len(numbers['rank'])} runs")
