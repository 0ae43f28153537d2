"""A replay in figures: the content of ``summary.json``, which report and terminal show.

==============  ============================================================================
format          1, the version of this layout
efface          the version of efface that wrote it
source          file, target, columns (one_hot: with the number of levels), features (the columns
                of X); time, id, group and weight: the columns that have these roles
model           name, window (rows), keep (duration), alpha, theta_max, standardize; null where
                the model has no such option
rows            read, skipped for gaps, scored (the first of each group are not), groups, alive
span            the first and the last time; null without times
interval        level, method, coverage, mean_width; null without intervals
errors          by contender, the model first: mae, rmse, r2, skill (against the value before)
left            rows that left: asked, window_full, time_up
requests        one entry per request: id, asked, row, arrived, status, verdict, error, holds
audits          held and failed
run             compiling (seconds, before the first row), seconds and rows_per_second
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
from efface.files.formatting import time_text
from efface.files.model_options import phrases
from efface.files.run_log import RunLog
from efface.files.schema import Schema
from efface.files.streaming import StreamRun

FORMAT = 1


def summarise(
    run: StreamRun,
    *,
    file: str,
    schema: Schema,
    model: Mapping[str, Any],
    interval: Mapping[str, Any],
    compiling: float,
    seconds: float,
) -> dict[str, Any]:
    """The summary of a finished run."""
    log = run.log
    alive = sum(each.n_rows_ for each in run.models.values())
    held = sum(outcome.holds for outcome in log.outcomes)
    summary = {
        "format": FORMAT,
        "efface": __version__,
        "source": _source(file, schema),
        "model": dict(model),
        "rows": {
            "read": log.rows + log.skipped,
            "skipped": log.skipped,
            "scored": log.scores[LAST].count,
            "groups": len(run.models),
            "alive": alive,
        },
        "span": None if log.first is None else [time_text(log.first), time_text(log.last)],
        "interval": {**interval, "coverage": log.coverage.rate, "mean_width": log.coverage.width},
        "errors": _errors(log),
        "left": _left(log, alive, timed=bool(model["keep"])),
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


def settings_text(summary: Mapping[str, Any]) -> str:
    """The options of the model and the weights, each after a comma.

    >>> settings_text({"model": {"standardize": True}, "source": {"weight": "n"}})
    ', features standardised, rows weighted by n'
    """
    weight = summary["source"]["weight"]
    weighted = [] if weight is None else [f"rows weighted by {weight}"]
    return "".join(f", {phrase}" for phrase in [*phrases(summary["model"]), *weighted])


def _source(file: str, schema: Schema) -> dict[str, Any]:
    return {
        "file": file,
        "target": schema.target,
        "columns": list(schema.features),
        "one_hot": {name: len(levels) for name, levels in schema.levels.items()},
        "features": schema.names,
        **{role: getattr(schema, role) for role in ("time", "id", "group", "weight")},
    }


def _errors(log: RunLog) -> dict[str, dict[str, float]]:
    naive = log.scores[LAST]
    return {
        name: {"mae": s.mae, "rmse": s.rmse, "r2": s.r2, "skill": s.skill(naive)}
        for name, s in log.scores.items()
    }


def _left(log: RunLog, alive: int, *, timed: bool) -> dict[str, int]:
    """Rows that left, by the reason."""
    asked = sum(outcome.status == "forgotten" for outcome in log.outcomes)
    rest = log.rows - alive - asked
    return {"asked": asked, "window_full": 0 if timed else rest, "time_up": rest if timed else 0}


def _plain(value: Any) -> Any:
    """A value as JSON types; numbers that are not finite become None."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, np.datetime64):
        return time_text(value)
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
