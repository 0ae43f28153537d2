"""The verdicts on the paper's findings as text: the same claims, the same Markdown and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from efface.paper.claims import Claim
from efface.paper.verdicts import ERRORS, Place

RULE = (
    f"A number decides when it is {ERRORS:g} standard errors inside (holds) or outside (fails) the "
    "range; between, the finding is open. A finding holds if it holds in every place where it was "
    "checked, and fails if it fails in one. Shown is the place that decides: the one furthest "
    "outside the range, or else nearest to its end."
)


def number(place: Place) -> str:
    """A number with its standard error.

    >>> number(Place("fig3/s=20,sigma=1", 1.0437, 0.00213))
    '1.0437 ± 0.0021'
    """
    if math.isnan(place.value):
        return "no number"
    if not (math.isfinite(place.error) and place.error > 0):
        return f"{place.value:.4g}"
    digits = min(9, max(0, 1 - math.floor(math.log10(place.error))))
    return f"{place.value:,.{digits}f} ± {place.error:,.{digits}f}"


def to_markdown(claims: Sequence[Claim], setting: str) -> str:
    """A table with a line for each finding, then every place of those that say how close."""
    parts = ["# The paper's findings, checked", setting, to_summary(claims)]
    parts += ["## What decides", RULE, _table(claims)]
    for finding in ("close-to-best", "switching-wins", "switching-loses", "theorem-1"):
        parts.append(_every_place([claim for claim in claims if claim.finding == finding]))
    return "\n\n".join(parts) + "\n"


def to_summary(claims: Sequence[Claim]) -> str:
    """The short table: finding, command, and the number and verdict under each reading."""
    readings = _readings(claims)
    lines = [_line("finding", "command", *readings), _line(*["---"] * (2 + len(readings)))]
    for found in _by_finding(claims):
        cells = [f"**{claim.verdict}** {number(claim.decided_by)}" for claim in found]
        lines.append(_line(found[0].sentence, f"`efface reproduce {found[0].target}`", *cells))
    return "\n".join(lines)


def _readings(claims: Sequence[Claim]) -> list[str]:
    return list(dict.fromkeys(claim.reading for claim in claims if claim.reading != "either"))


def _by_finding(claims: Sequence[Claim]) -> Iterator[list[Claim]]:
    """The claims of each finding, one for each reading."""
    readings = len(_readings(claims))
    for name in dict.fromkeys(claim.finding for claim in claims):
        found = [claim for claim in claims if claim.finding == name]
        yield found * readings if found[0].reading == "either" else found


def _table(claims: Sequence[Claim]) -> str:
    readings = _readings(claims)
    lines = [_line("finding", "where", "number", "must be", *readings)]
    lines.append(_line(*["---"] * (4 + len(readings))))
    for found in _by_finding(claims):
        first, cells = found[0], [_cell(claim) for claim in found]
        lines.append(_line(first.sentence, first.source, first.number, str(first.wanted), *cells))
    return "\n".join(lines)


def _cell(claim: Claim) -> str:
    place, total = claim.decided_by, len(claim.places)
    where = ", ".join(part for part in (f"`{place.panel}`", place.detail) if part)
    count = f"; holds in {claim.counts['holds']} of {total}" if total > 1 else ""
    return f"**{claim.verdict}**: {number(place)} ({where}{count})"


def _every_place(claims: Sequence[Claim]) -> str:
    """All places of one finding, a column for each reading."""
    first = claims[0]
    lines = [f"## {first.sentence}", "", f"{first.number[:1].upper()}{first.number[1:]}.", ""]
    lines.append(_line("panel", *(claim.reading for claim in claims)))
    lines.append(_line(*["---"] * (1 + len(claims))))
    for places in zip(*(claim.places for claim in claims), strict=True):
        cells = (
            f"{number(place)}" + (f" ({place.detail})" if place.detail else "") for place in places
        )
        lines.append(_line(f"`{places[0].panel}`", *cells))
    return "\n".join(lines)


def _line(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def to_json(claims: Iterable[Claim], setting: dict[str, Any]) -> str:
    """Everything, for machines; numbers that do not exist or have no end become null."""
    document = {"setting": setting, "rule": RULE, "claims": [_plain(claim) for claim in claims]}
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _plain(claim: Claim) -> dict[str, Any]:
    return {
        "finding": claim.finding,
        "sentence": claim.sentence,
        "source": claim.source,
        "target": claim.target,
        "reading": claim.reading,
        "number": claim.number,
        "low": _rounded(claim.wanted.low),
        "high": _rounded(claim.wanted.high),
        "verdict": claim.verdict,
        "counts": dict(claim.counts),
        "decided_by": _plain_place(claim.decided_by),
        "places": [_plain_place(place) for place in claim.places],
    }


def _plain_place(place: Place) -> dict[str, Any]:
    return {
        "panel": place.panel,
        "detail": place.detail,
        "value": _rounded(place.value),
        "error": _rounded(place.error),
    }


def _rounded(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None
