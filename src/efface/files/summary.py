"""A replay in figures: the content of ``summary.json``, which report and terminal show.

==============  ============================================================================
format          1, the version of this layout
efface          the version of efface that wrote it
source          file, target, columns (one_hot: with the number of levels), features (the columns
                of X); time, id, group, weight, owner and until: the columns that have these roles
model           name, window (rows), keep (duration), policy (as --policy takes it), and the
                options of the models; null where the model has no such option
rows            read, skipped for gaps, hidden by --redact, scored (the first of each group are
                not), groups, started (live in the model of --from), alive
span            the first and the last time; null without times
interval        level, method, limits lower and upper, coverage, mean_width; null without intervals
errors          by contender, the model first: mae, rmse, r2, skill (against the value before)
groups          by group: rows (scored) and errors, as above; null without groups
diagnostics     rank_falls (rows at which the rank is lower than before), largest_frt (the
                largest forgetting regret term)
left            rows that left: asked, window_full (or dropped by the policy), time_up (too old, or
                their end had come)
people          owners of rows: seen in the file, forgotten, and alive (they have live rows); null
                without owners
requests        one entry per request: line (of the file of requests), id, owner, asked, row,
                arrived, rows (removed), status, verdict, error, holds, by_owner, seconds (to
                forget), audit_seconds; with --redact, id, owner and arrived are null
audits          held and failed
forgetting      requests (those that removed rows), their median_seconds and most_seconds, and
                audit_seconds (of all requests, in total); null without requests
run             compiling (seconds, before the first row), seconds and rows_per_second
redacted        whether --redact was given
==============  ============================================================================

Numbers that do not exist are null.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np

from efface import __version__
from efface.files.baselines import LAST
from efface.files.formatting import time_text
from efface.files.model_options import phrases
from efface.files.requests import Group
from efface.files.run_log import RunLog
from efface.files.schema import ROLES, Schema
from efface.files.scores import Score
from efface.files.streaming import StreamRun

FORMAT = 1


@dataclass(frozen=True)
class Setting:
    """What a run was asked to do."""

    file: str
    schema: Schema
    model: Mapping[str, Any]
    interval: Mapping[str, Any]
    redact: bool = False


def summarise(
    run: StreamRun, setting: Setting, *, compiling: float, seconds: float
) -> dict[str, Any]:
    """The summary of a finished run."""
    log = run.log
    held = sum(outcome.holds for outcome in log.outcomes)
    coverage = {"coverage": log.coverage.rate, "mean_width": log.coverage.width}
    summary = {
        "format": FORMAT,
        "efface": __version__,
        "source": _source(setting),
        "model": dict(setting.model),
        "rows": _rows(run),
        "span": None if log.first is None else [time_text(log.first), time_text(log.last)],
        "interval": {**setting.interval, **coverage},
        "errors": _errors(log.scores),
        "groups": _groups(run) if setting.schema.group is not None else None,
        "diagnostics": {"rank_falls": log.rank_falls, "largest_frt": log.largest_frt},
        "left": _left(run, setting),
        "people": None if setting.schema.owner is None else _people(run),
        "requests": [asdict(outcome) for outcome in log.outcomes],
        "audits": {"held": held, "failed": len(log.outcomes) - held},
        "forgetting": _forgetting(log),
        "run": {"compiling": compiling, "seconds": seconds, "rows_per_second": log.rows / seconds},
        "redacted": setting.redact,
    }
    return {name: _plain(part) for name, part in summary.items()}


def settings_text(summary: Mapping[str, Any]) -> str:
    """The options of the model and the weights, each after a comma.

    >>> settings_text({"model": {"standardize": True}, "source": {"weight": "n"}})
    ', features standardised, rows weighted by n'
    """
    weight = summary["source"]["weight"]
    weighted = [] if weight is None else [f"rows weighted by {weight}"]
    return "".join(f", {phrase}" for phrase in [*phrases(summary["model"]), *weighted])


def _source(setting: Setting) -> dict[str, Any]:
    schema = setting.schema
    return {
        "file": setting.file,
        "target": schema.target,
        "columns": list(schema.features),
        "one_hot": {name: len(levels) for name, levels in schema.one_hot.items()},
        "features": schema.feature_names(redact=setting.redact),
        **{role: getattr(schema, role) for role in ROLES if role != "target"},
    }


def _rows(run: StreamRun) -> dict[str, int]:
    log = run.log
    return {
        "read": log.rows + log.skipped,
        "skipped": log.skipped,
        "hidden": log.hidden,
        "scored": log.scores[LAST].count,
        "groups": len(run.groups),
        "started": run.started,
        "alive": run.groups.held.n_rows_,
    }


def _people(run: StreamRun) -> dict[str, int]:
    alive = set(run.groups.held.owners_)
    asked = sum(outcome.rows > 0 and outcome.by_owner for outcome in run.log.outcomes)
    return {"seen": len(run.log.people), "forgotten": asked, "alive": len(alive)}


def _forgetting(log: RunLog) -> dict[str, float] | None:
    """How long the requests took."""
    if not log.outcomes:
        return None
    seconds = [outcome.seconds for outcome in log.outcomes if outcome.rows]
    return {
        "requests": len(seconds),
        "median_seconds": median(seconds) if seconds else math.nan,
        "most_seconds": max(seconds, default=math.nan),
        "audit_seconds": sum(outcome.audit_seconds for outcome in log.outcomes),
    }


def _errors(scores: Mapping[str, Score]) -> dict[str, dict[str, float]]:
    return {
        name: {"mae": s.mae, "rmse": s.rmse, "r2": s.r2, "skill": s.skill(scores[LAST])}
        for name, s in scores.items()
    }


def _groups(run: StreamRun) -> dict[Group, dict[str, Any]]:
    """The errors in each group."""
    return {
        name: {"rows": scores[LAST].count, "errors": _errors(scores)}
        for name, scores in run.group_scores().items()
    }


def _left(run: StreamRun, setting: Setting) -> dict[str, int]:
    """Rows that left, by the reason."""
    asked = sum(outcome.rows for outcome in run.log.outcomes)
    rest = run.started + run.log.rows - run.groups.held.n_rows_ - asked
    full = 0 if setting.model["keep"] else rest
    full = full if setting.schema.until is None else run.groups.full
    return {"asked": asked, "window_full": full, "time_up": rest - full}


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
