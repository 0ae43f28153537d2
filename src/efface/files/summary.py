"""A journey in figures: what ``summary.json`` holds, and what the report and the terminal show.

==============  ============================================================================
format          1, the version of this layout
efface          the version that wrote it
source          file, target, columns (one_hot: with how many levels), features (what became of
                them), time, id, group and weight: the columns and their roles
model           name, window (rows), keep (duration), alpha, theta_max, standardize; what does not
                apply is null
rows            read, skipped for gaps, scored (the first of each group are not), groups, alive
span            the first and the last time; null without times
interval        level, method, coverage, mean_width; null without one
errors          by contender, the model first: mae, rmse, r2, skill (against the value before)
left            rows that left: asked, window_full, time_up
requests        one entry a request: id, asked, row, arrived, status, verdict, error, holds
audits          held and failed
run             compiling (seconds, before any row), seconds and rows_per_second
==============  ============================================================================

Numbers that do not exist are null.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from efface import __version__
from efface.files.baselines import LAST
from efface.files.schema import Roles, shown
from efface.files.streaming import Journey

FORMAT = 1


def summarise(
    journey: Journey,
    *,
    file: str,
    roles: Roles,
    model: Mapping[str, Any],
    interval: Mapping[str, Any],
    compiling: float,
    seconds: float,
) -> dict[str, Any]:
    """Everything that can be said of a journey in numbers and texts."""
    log, naive = journey.log, journey.log.scores[LAST]
    alive = sum(each.n_rows_ for each in journey.models.values())
    asked = sum(outcome.status == "forgotten" for outcome in log.outcomes)
    rest = log.rows - alive - asked
    held = sum(outcome.holds for outcome in log.outcomes)
    summary = {
        "format": FORMAT,
        "efface": __version__,
        "source": {
            "file": file,
            "target": roles.target,
            "columns": list(roles.features),
            "one_hot": {name: len(levels) for name, levels in roles.levels.items()},
            "features": roles.names,
            **{role: getattr(roles, role) for role in ("time", "id", "group", "weight")},
        },
        "model": dict(model),
        "rows": {
            "read": log.rows + log.skipped,
            "skipped": log.skipped,
            "scored": naive.count,
            "groups": len(journey.models),
            "alive": alive,
        },
        "span": None if log.first is None else [shown(log.first), shown(log.last)],
        "interval": {
            **interval,
            "coverage": log.coverage.rate,
            "mean_width": log.coverage.width,
        },
        "errors": {
            name: {
                "mae": score.mae,
                "rmse": score.rmse,
                "r2": score.r2,
                "skill": score.skill(naive),
            }
            for name, score in log.scores.items()
        },
        "left": {
            "asked": asked,
            "window_full": 0 if model["keep"] else rest,
            "time_up": rest if model["keep"] else 0,
        },
        "requests": [asdict(outcome) for outcome in log.outcomes],
        "audits": {"held": held, "failed": len(log.outcomes) - held},
        "run": {
            "compiling": compiling,
            "seconds": seconds,
            "rows_per_second": log.rows / seconds,
        },
    }
    plain: dict[str, Any] = _plain(summary)
    return plain


def manner(summary: Mapping[str, Any]) -> str:
    """How rows were regressed on, to be said after a comma; nothing where it was plainly.

    >>> manner({"model": {"standardize": True}, "source": {"weight": "n"}})
    ', features standardised, rows weighed by n'
    """
    text = ", features standardised" if summary["model"]["standardize"] else ""
    weight = summary["source"]["weight"]
    return text if weight is None else f"{text}, rows weighed by {weight}"


def _plain(value: Any) -> Any:
    """As JSON knows it."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, np.datetime64):
        return shown(value)
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
