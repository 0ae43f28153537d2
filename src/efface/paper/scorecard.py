"""The verdicts on the paper's findings, and on others, as Markdown and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from efface.paper.findings import Claim
from efface.paper.verdicts import ERRORS, Place, Verdict, with_error

RULE = (
    f"In a setting, a finding holds if its number is at least {ERRORS:g} standard errors inside "
    "the range, fails if it is at least that far outside, and is open otherwise. Overall, a "
    "finding holds if it holds in every setting, fails if it fails in at least one, and is open "
    "otherwise. The tables show the deciding setting: the one furthest outside the range or, if "
    "none is outside, the one closest to its end."
)

#: Findings of which the report shows every setting.
DETAILED = (
    "close-to-best",
    "switching-wins",
    "switching-loses",
    "switching-loses-to-100",
    "theorem-1",
    "tails-not-variance",
    "frt-measures-regret",
    "deletion-cost",
    "corrected-tight",
    "any-penalty-ellipsoid",
    *(f"adaptive-near-oracle-{figure}" for figure in ("fig3", "fig4", "fig5")),
    *(f"floor-attained-{figure}" for figure in ("fig3", "fig5")),
)


_VERDICTS: tuple[Verdict, ...] = ("holds", "fails", "open")
_OURS = (
    "Lines that this package adds to the figures, the floor under the regret of every method, and "
    "statements that hold in place of the paper's."
)


def number(place: Place) -> str:
    """A number with its standard error.

    >>> number(Place("fig3/s=20,sigma=1", 1.0437, 0.00213))
    '1.0437 ± 0.0021'
    """
    if math.isnan(place.value):
        return "undefined"
    return with_error(place.value, place.error) or f"{place.value:.4g}"


def to_markdown(claims: Sequence[Claim], setting: str) -> str:
    """The counts, the tables of the paper's findings and of others, and some in every setting."""
    papers = [claim for claim in claims if not claim.finding.ours]
    ours = [claim for claim in claims if claim.finding.ours]
    parts = ["# The paper's findings, checked", setting, to_counts(claims), RULE]
    parts += ["## What the paper says", _table(papers)]
    if ours:
        parts += ["## Not the paper's", _OURS, _table(ours)]
    for finding in DETAILED:
        found = [claim for claim in claims if claim.finding.name == finding]
        parts += [_every_place(found)] if found else []
    return "\n\n".join(parts) + "\n"


def to_counts(claims: Sequence[Claim]) -> str:
    """How many findings hold, fail and are open under each reading, the paper's and others."""
    readings = readings_in(claims)
    lines = [_line("", "findings", *(f"{reading}: holds, fails, open" for reading in readings))]
    lines.append(_line(*["---"] * (2 + len(readings))))
    for name, ours in (("the paper's", False), ("not the paper's", True)):
        found = [part for part in by_finding(claims) if part[0].finding.ours is ours]
        cells = [
            ", ".join(str([c[i].verdict for c in found].count(v)) for v in _VERDICTS)
            for i in range(len(readings))
        ]
        if found:
            lines.append(_line(name, str(len(found)), *cells))
    return "\n".join(lines)


def to_verdicts(claims: Sequence[Claim]) -> str:
    """One line per finding and reading: the verdict, the number, the panel and the sentence."""
    lines = []
    for claim in claims:
        shown = f"{claim.verdict:<6} {number(claim.decided_by):<20} {claim.decided_by.setting:<24}"
        lines.append(f"{shown} {claim.reading:<13} {claim.finding.sentence}")
    return "\n".join(lines)


def readings_in(claims: Sequence[Claim]) -> list[str]:
    """The readings of the claims, in their order; "either" if all are the same under both."""
    found = dict.fromkeys(claim.reading for claim in claims if claim.reading != "either")
    return list(found) or ["either"]


def by_finding(claims: Sequence[Claim]) -> Iterator[list[Claim]]:
    """The claims of each finding, one per reading."""
    readings = max(1, len(readings_in(claims)))
    for name in dict.fromkeys(claim.finding.name for claim in claims):
        found = [claim for claim in claims if claim.finding.name == name]
        yield found * readings if found[0].reading == "either" else found


def _table(claims: Sequence[Claim]) -> str:
    """One line per finding: where it is, its number and range, and the cell of each reading."""
    readings = readings_in(claims)
    lines = [_line("finding", "name", "where", "number", "must be", "command", *readings)]
    lines.append(_line(*["---"] * (6 + len(readings))))
    for found in by_finding(claims):
        first, cells = found[0].finding, [_cell(claim) for claim in found]
        texts = first.sentence, f"`{first.name}`", first.source, first.number, str(first.wanted)
        lines.append(_line(*texts, f"`efface reproduce {first.target}`", *cells))
    return "\n".join(lines)


def _cell(claim: Claim) -> str:
    place, total = claim.decided_by, len(claim.places)
    where = ", ".join(part for part in (f"`{place.setting}`", place.detail) if part)
    count = f"; holds in {claim.counts['holds']} of {total}" if total > 1 else ""
    return f"**{claim.verdict}**: {number(place)} ({where}{count})"


def _every_place(claims: Sequence[Claim]) -> str:
    """Every setting of one finding, with one column per reading."""
    finding = claims[0].finding
    number_text = finding.number[:1].upper() + finding.number[1:]
    lines = [f"## {finding.sentence}", "", f"{number_text}.", ""]
    lines.append(_line("panel", *(claim.reading for claim in claims)))
    lines.append(_line(*["---"] * (1 + len(claims))))
    for places in zip(*(claim.places for claim in claims), strict=True):
        cells = (
            f"{number(place)}" + (f" ({place.detail})" if place.detail else "") for place in places
        )
        lines.append(_line(f"`{places[0].setting}`", *cells))
    return "\n".join(lines)


def _line(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def to_json(claims: Iterable[Claim], setting: dict[str, Any]) -> str:
    """All claims as JSON; nan and infinity become null."""
    document = {"setting": setting, "rule": RULE, "claims": [_as_dict(claim) for claim in claims]}
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _as_dict(claim: Claim) -> dict[str, Any]:
    finding = claim.finding
    return {
        "finding": finding.name,
        "sentence": finding.sentence,
        "source": finding.source,
        "target": finding.target,
        "ours": finding.ours,
        "reading": claim.reading,
        "number": finding.number,
        "low": _rounded(finding.wanted.low),
        "high": _rounded(finding.wanted.high),
        "verdict": claim.verdict,
        "counts": dict(claim.counts),
        "decided_by": _place_as_dict(claim.decided_by),
        "places": [_place_as_dict(place) for place in claim.places],
    }


def _place_as_dict(place: Place) -> dict[str, Any]:
    return {
        "panel": place.setting,
        "detail": place.detail,
        "value": _rounded(place.value),
        "error": _rounded(place.error),
    }


def _rounded(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None
