"""``--redact``: what may be shown when the outputs must not speak of forgotten rows.

A row is hidden if some request of the file names its id or its owner, whenever it came. Hidden rows
go through the model like all others, so that requests are answered and audited. They are in no
output: not in predictions, charts, errors or coverage, and the baselines never see them. Other rows
are hidden where the model had hardly more live rows than coefficients: there a prediction can equal
the response of a live row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.files.requests import Id, Requests
from efface.files.row_batches import RowBatch
from efface.files.run_log import RequestOutcome

Mask = NDArray[np.bool_]


class Redaction:
    """Which rows may be shown; ``least`` live rows let a prediction reveal one of them."""

    def __init__(self, requests: Requests, least: int) -> None:
        self._ids, self._owners, self._least = requests.ids, requests.owners, least

    def unnamed(self, rows: RowBatch, ids: Sequence[Id]) -> Mask:
        """Which rows no request names."""
        owners = rows.owners or [None] * len(rows)
        named = [
            id in self._ids or (owner is not None and owner in self._owners)
            for id, owner in zip(ids, owners, strict=True)
        ]
        return ~np.array(named, dtype=bool)

    def safe(self, n_rows: NDArray[Any]) -> Mask:
        """Where the model had enough live rows."""
        return np.asarray(n_rows > self._least)


def redacted(outcome: RequestOutcome) -> RequestOutcome:
    """An outcome without id, owner and row number; its line in the file identifies it."""
    verdict = outcome.verdict
    if not outcome.holds and outcome.status != "unknown":  # an audit names what it found
        verdict = "fails: run again without --redact to see the reason"
    return replace(outcome, id=None, owner=None, arrived=None, verdict=verdict)
