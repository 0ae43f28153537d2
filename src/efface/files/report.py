"""The report of a journey: one page of HTML that needs nothing else, no network and no server."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from bokeh.embed import components
from bokeh.resources import Resources
from jinja2 import Environment, StrictUndefined

from efface.files.baselines import LAST
from efface.files.canvas import DARK, LIGHT
from efface.files.charts import draw
from efface.files.formatting import figure, share
from efface.files.streaming import Log
from efface.files.summary import manner

_LISTED = 500  # requests in the table
_NEVER = "never forget (growing OLS)"


class Card(NamedTuple):
    """A figure at the head of the page."""

    label: str
    value: str
    note: str
    tone: str = ""


def write_report(path: Path, summary: Mapping[str, Any], log: Log) -> None:
    """Write the page."""
    path.write_text(page(summary, log), encoding="utf-8")


def page(summary: Mapping[str, Any], log: Log) -> str:
    """The page as text."""
    gallery = draw(summary, log)
    embed, divs = components({chart.name: chart.figure for chart in gallery.charts})
    requests = summary["requests"]
    text: str = _template().render(
        summary=summary,
        lead=_lead(summary),
        cards=_cards(summary),
        charts=[chart._replace(figure=divs[chart.name]) for chart in gallery.charts],
        forgotten=_forgotten(summary),
        requests=requests[:_LISTED],
        more=max(0, len(requests) - _LISTED),
        footer=_footer(summary),
        scripts=Resources(mode="inline", components=["bokeh"]).render_js(),
        embed=embed,
        themed=gallery.themed,
        lines=gallery.lines,
        axis=gallery.axis,
        views=gallery.views,
        themes={"light": LIGHT, "dark": DARK},
    )
    return text


def _template() -> Any:
    text = files("efface.files").joinpath("templates", "report.html").read_text("utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters |= {"figure": figure, "share": share}
    return environment.from_string(text)


def _lead(summary: Mapping[str, Any]) -> str:
    rows, span, model = summary["rows"], summary["span"], summary["model"]
    read = rows["read"] - rows["skipped"]
    kept = f"{model['keep']} of rows" if model["keep"] else f"the newest {model['window']:,} rows"
    text = f"{read:,} rows of {len(summary['source']['features'])} features"
    text += f", {span[0]} to {span[1]}" if span else ""
    text += (
        f", in {rows['groups']:,} groups with a model each" if summary["source"]["group"] else ""
    )
    text += manner(summary)
    text += f". Each row was predicted, then learned; the model keeps {kept} and forgets the rest."
    return text + (f" {rows['skipped']:,} rows with gaps were skipped." if rows["skipped"] else "")


def _cards(summary: Mapping[str, Any]) -> list[Card]:
    errors, interval = summary["errors"], summary["interval"]
    ours, audits, left = errors[summary["model"]["name"]], summary["audits"], summary["left"]
    cards = [Card("Mean absolute error", figure(ours["mae"]), _beside(summary))]
    if interval["coverage"] is not None:
        note = f"of {interval['level']:.0%} promised, {interval['method']}"
        cards.append(Card("Intervals held the truth", f"{interval['coverage']:.1%}", note))
    why = "their time was up" if summary["model"]["keep"] else "the window was full"
    gone = left["window_full"] + left["time_up"]
    note = f"{gone:,} as {why}, {left['asked']:,} as asked"
    cards.append(Card("Rows that left", f"{gone + left['asked']:,}", note))
    if summary["requests"]:
        total = audits["held"] + audits["failed"]
        tone = "bad" if audits["failed"] else "good"
        note = "requests audited against a refit"
        cards.append(Card("Proven forgotten", f"{audits['held']} of {total}", note, tone))
    rate = summary["run"]["rows_per_second"]
    cards.append(Card("Rows a second", f"{rate:,.0f}", _took(summary["run"])))
    return cards


def _took(run: Mapping[str, Any]) -> str:
    text = f"{run['seconds']:.1f} s in all"
    return text + (f", after {run['compiling']:.0f} s to compile" if run["compiling"] >= 1 else "")


def _beside(summary: Mapping[str, Any]) -> str:
    errors, name = summary["errors"], summary["model"]["name"]
    other = _NEVER if _NEVER in errors else LAST
    mine, theirs = errors[name]["mae"], errors[other]["mae"]
    if mine is None or not theirs:
        return "too few rows to compare"
    what = "never forgetting" if other == _NEVER else "repeating the value before"
    change = 1 - mine / theirs
    return f"{abs(change):.0%} {'below' if change >= 0 else 'above'} {what}"


def _forgotten(summary: Mapping[str, Any]) -> str:
    left, rows = summary["left"], summary["rows"]
    reasons = {
        "as the window was full": left["window_full"],
        "as their time was up": left["time_up"],
        "because someone asked": left["asked"],
    }
    parts = [f"{count:,} rows left {why}" for why, count in reasons.items() if count]
    text = "; ".join(parts) or "No row has left yet"
    text += f". {rows['alive']:,} are alive. "
    if summary["requests"]:
        text += (
            "After each request an audit compared the model with a refit on the rows left, and "
            "looked for the id among them."
        )
    return text


def _footer(summary: Mapping[str, Any]) -> str:
    levels = summary["source"]["one_hot"]
    features = [
        f"{name} ({levels[name]} levels)" if name in levels else name
        for name in summary["source"]["columns"]
    ]
    return (
        f"Features: {', '.join(features)}. The rows one by one are in the file of predictions "
        "beside this page, all figures in summary.json. This page loads nothing from elsewhere."
    )
