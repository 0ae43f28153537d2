"""Error scores and interval coverage, accumulated batch by batch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from efface.inputs.types import Ints, Matrix, Vector


@dataclass
class Score:
    """The errors of one model or baseline, in one pass.

    >>> score = Score()
    >>> score.add(np.array([1.0, 2.0, 6.0]), np.array([1.0, 3.0, 4.0]))
    >>> score.mae, round(score.rmse, 3), round(score.r2, 3)
    (1.0, 1.291, 0.643)
    """

    count: int = 0
    absolute: float = 0.0
    squared: float = 0.0
    _mean: float = 0.0  # of y
    _deviations: float = 0.0  # sum of squared deviations of y from its mean

    def add(self, y: Vector, prediction: Vector) -> None:
        """Add predictions."""
        if not y.size:
            return
        error = prediction - y
        self.absolute += float(np.abs(error).sum())
        self.squared += float(error @ error)
        mean, total = float(y.mean()), self.count + y.size
        shift = mean - self._mean
        self._deviations += (
            float(np.square(y - mean).sum()) + shift**2 * self.count * y.size / total
        )
        self._mean += shift * y.size / total
        self.count = total

    @property
    def mae(self) -> float:
        """The mean absolute error; NaN before the first prediction."""
        return self.absolute / self.count if self.count else math.nan

    @property
    def rmse(self) -> float:
        """The root mean squared error; NaN before the first prediction."""
        return math.sqrt(self.squared / self.count) if self.count else math.nan

    @property
    def r2(self) -> float:
        """The share of the variance of y that is explained; NaN if y is constant."""
        return 1.0 - self.squared / self._deviations if self._deviations > 0 else math.nan

    def skill(self, naive: Score) -> float:
        """1 - MAE / MAE of another score: 0 if they are equal, 1 without errors."""
        return 1.0 - self.absolute / naive.absolute if naive.absolute > 0 else math.nan


class GroupScores:
    """The errors of several models or baselines in each of many groups, which have numbers.

    >>> scores = GroupScores()
    >>> y, prediction = np.array([1.0, 5.0, 2.0]), np.array([1.0, 3.0, 3.0])
    >>> scores.add(np.array([0, 1, 0]), y, {"model": prediction})
    >>> {number: score["model"].mae for number, score in scores.items()}
    {0: 0.5, 1: 2.0}
    """

    def __init__(self) -> None:
        self._responses = np.zeros((3, 0))  # by group: count, mean of y, squared deviations of y
        self._errors: dict[str, Matrix] = {}  # by group: absolute and squared errors

    def add(self, groups: Ints, y: Vector, predictions: Mapping[str, Vector]) -> None:
        """Add predictions of rows, each of the group with its number."""
        count = max(self._responses.shape[1], int(groups.max(initial=-1)) + 1)
        self._responses = _widened(self._responses, count)
        self._merge(groups, y)
        for name, prediction in predictions.items():
            error = prediction - y
            sums = [np.bincount(groups, each, count) for each in (np.abs(error), error * error)]
            self._errors[name] = _widened(self._errors.get(name, np.zeros((2, 0))), count) + sums

    def _merge(self, groups: Ints, y: Vector) -> None:
        """Count responses, and move their means and squared deviations."""
        (before, mean, deviations), size = self._responses, self._responses.shape[1]
        came = np.bincount(groups, minlength=size)
        level = np.bincount(groups, y, size) / np.maximum(came, 1)
        total, shift = np.maximum(before + came, 1), np.where(came, level - mean, 0.0)
        deviations += np.bincount(groups, np.square(y - level[groups]), size)
        deviations += shift**2 * before * came / total
        mean += shift * came / total
        before += came

    def items(self) -> Iterator[tuple[int, dict[str, Score]]]:
        """The number and the scores of each group that has any."""
        for group in np.flatnonzero(self._responses[0]).tolist():
            count, mean, deviations = self._responses[:, group].tolist()
            scores = {
                name: Score(
                    int(count), float(total[group]), float(squares[group]), mean, deviations
                )
                for name, (total, squares) in self._errors.items()
            }
            yield group, scores


def _widened(sums: Matrix, count: int) -> Matrix:
    """Sums of ``count`` groups, those of the last being 0."""
    return np.pad(sums, ((0, 0), (0, count - sums.shape[1])))


@dataclass
class Coverage:
    """How often intervals contain y, and their width; rows without an interval do not count."""

    count: int = 0
    covered: int = 0
    widths: float = 0.0

    def add(self, y: Vector, lower: Vector, upper: Vector) -> Vector:
        """Add intervals; returns 1 where y is covered, 0 where not, NaN without an interval."""
        known = np.isfinite(lower) & np.isfinite(upper)
        inside = (lower <= y) & (y <= upper)
        self.count += int(known.sum())
        self.covered += int((known & inside).sum())
        self.widths += float((upper - lower)[known].sum())
        return np.where(known, inside.astype(np.float64), np.nan)

    @property
    def rate(self) -> float:
        """The share of intervals that contain y."""
        return self.covered / self.count if self.count else math.nan

    @property
    def width(self) -> float:
        """The mean width."""
        return self.widths / self.count if self.count else math.nan
