"""The report in a real browser: drawn, interactive, in both themes, on a phone, offline."""

from __future__ import annotations

import html
import io
import re

import numpy as np
import pytest
from browser import Visit, launched
from PIL import Image

from efface.charts.themes import DARK, LIGHT
from efface.files.formatting import figure
from efface.files.job import Job, run
from efface.files.report import coverage_card
from efface.files.schema import RequestedColumns

NAMES = (
    "predictions",
    "coefficients",
    "errors",
    "coverage",
    "rank",
    "condition",
    "leverage_oldest",
    "frt",
)
N = 2_000
EVIL = "</script><script>window.broken=1</script><b>&"


def write_rows(path):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(N, 2)).round(5)
    y = (X @ [2.0, -1.0] + 5 + np.sin(np.arange(N) / 150) + 0.3 * rng.normal(size=N)).round(5)
    times = np.datetime64("2020-01-01T00") + np.arange(N)
    lines = [f"{t},{a},{b},{v}\n" for t, (a, b), v in zip(times, X, y, strict=True)]
    path.write_text(f'when,a,"{EVIL}","y{EVIL}"\n' + "".join(lines))


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    place = tmp_path_factory.mktemp("report")
    write_rows(place / "rows.csv")
    (place / "requests.csv").write_text("row,id\n900,880\n1500,3\n1500,7777\n")
    roles = RequestedColumns(f"y{EVIL}", ["a", EVIL], time="when")
    job = Job(str(place / "rows.csv"), roles, model="ridge", window=100, compare=True)
    run(Job(**{**vars(job), "forget": str(place / "requests.csv")}), place / "out")
    return place / "out" / "report.html"


@pytest.fixture(scope="module")
def browser():
    with launched() as browser:
        yield browser


def drawn(visit):
    """Wait until all charts are drawn."""
    visit.page.wait_for_function(
        "() => window.Bokeh && Bokeh.documents.length && Bokeh.documents[0].is_idle"
        f" && Bokeh.documents[0].roots().length == {len(NAMES)}"
    )
    visit.page.wait_for_timeout(300)
    return visit


def colours(visit, name):
    """The pixels of a section."""
    shot = visit.page.locator(f"#{name}").screenshot()
    return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB")).reshape(-1, 3)


def near(pixels, colour, tolerance=12):
    """How many pixels have almost this colour."""
    wanted = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    return int((np.abs(pixels.astype(int) - wanted).max(axis=1) <= tolerance).sum())


def axis(visit):
    return visit.page.evaluate(
        "() => Bokeh.documents[0].roots().map(p => [p.x_range.start, p.x_range.end])"
    )


def test_the_page_loads_nothing_from_elsewhere(report):
    text = report.read_text("utf-8")
    assert not re.search(
        r"""<(script|link|img|iframe)[^>]+(src|href)\s*=\s*["']?(https?:)?//""", text
    )
    assert report.stat().st_size < 3_000_000
    assert EVIL not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert html.escape(EVIL) in text


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_charts_are_drawn_in_the_theme_and_fit_the_width(browser, report, scheme, width):
    visit = drawn(Visit(browser, report, scheme=scheme, width=width, touch=width == 390))
    theme = LIGHT if scheme == "light" else DARK
    for name in NAMES:
        line = "warn" if name == "frt" else "model"
        pixels = colours(visit, name)
        assert near(pixels, theme[line]) > 40, name
        ground = pixels[0].mean()
        assert (ground > 200) == (scheme == "light"), name
        assert near(pixels, theme["muted"], 40) > 20, name  # labels of the axes
    page = visit.page
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate("window.broken") is None
    wide = page.locator("#predictions").bounding_box()["width"]
    assert page.locator("#predictions canvas").first.bounding_box()["width"] <= wide
    assert visit.console_errors == []
    assert visit.requests == [report.as_uri()]


def test_charts_follow_a_change_of_theme(browser, report):
    visit = drawn(Visit(browser, report))
    assert near(colours(visit, "errors"), LIGHT["model"]) > 40
    visit.page.emulate_media(color_scheme="dark")
    visit.page.wait_for_timeout(500)
    assert near(colours(visit, "errors"), DARK["model"]) > 40
    assert near(colours(visit, "errors"), LIGHT["model"]) < 5


def test_dragging_zooms_all_charts_and_shows_single_rows(browser, report):
    visit = drawn(Visit(browser, report))
    page, before = visit.page, axis(visit)
    visible = "() => Bokeh.documents[0].roots()[0].renderers.map(r => r.visible)"
    far = page.evaluate(visible)
    chart = page.locator("#errors .bk-Figure")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.4 * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], y, steps=8)
    page.mouse.up()
    page.wait_for_timeout(300)
    after = axis(visit)
    assert len({tuple(each) for each in after}) == 1
    assert after[0][1] - after[0][0] < 0.4 * (before[0][1] - before[0][0])
    assert page.evaluate(visible) == [not each for each in far]
    page.get_by_role("button", name="all rows").click()
    page.wait_for_timeout(200)
    np.testing.assert_allclose(axis(visit), before)
    assert page.evaluate(visible) == far
    assert visit.console_errors == []


@pytest.mark.parametrize("name", ["predictions", "errors", "coverage"])
def test_hovering_shows_a_tooltip(browser, report, name):
    visit = drawn(Visit(browser, report))
    page = visit.page
    chart = page.locator(f"#{name} .bk-Figure")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.6 * box["height"])
    page.mouse.move(box["x"] + 0.52 * box["width"], box["y"] + 0.6 * box["height"], steps=3)
    tip = page.locator(".bk-tooltip-content").first
    tip.wait_for(timeout=5_000)
    text = tip.inner_text()
    assert "2020-" in text
    expected = {"predictions": "interval", "errors": "never forget", "coverage": "nominal"}
    assert expected[name] in text
    assert visit.console_errors == []


def test_a_line_can_be_hidden(browser, report):
    visit = drawn(Visit(browser, report))
    before = near(colours(visit, "errors"), LIGHT["model"])
    visit.page.locator("#table input").first.uncheck()
    visit.page.wait_for_timeout(300)
    assert near(colours(visit, "errors"), LIGHT["model"]) < before / 10


def test_requests_are_listed_with_the_verdict(browser, report):
    page = drawn(Visit(browser, report)).page
    lines = page.locator("#forgotten tr").all_inner_texts()[1:]
    cells = [line.split("\t") for line in lines]
    assert [(c[0], c[1], c[3], c[4]) for c in cells] == [
        ("id 880", "row 900", "forgotten", "1"),
        ("id 3", "row 1,500", "already gone", "0"),
        ("id 7777", "row 1,500", "unknown", "0"),
    ]
    assert all(re.fullmatch(r"[\d.]+ (µs|ms|s)", c[5]) for c in cells)
    assert [c[6][0] for c in cells] == ["✓", "✓", "✗"]
    assert "2 of 3" in page.locator(".figures").inner_text()


def test_a_phone_can_zoom_by_buttons_and_scroll_by_dragging(browser, report):
    visit = drawn(Visit(browser, report, width=390, touch=True))
    before = axis(visit)
    visit.page.get_by_role("button", name="last 200").tap()
    visit.page.wait_for_timeout(300)
    after = axis(visit)
    assert after[0][1] - after[0][0] < 0.2 * (before[0][1] - before[0][0])
    drags = "() => Bokeh.documents[0].roots().map(p => p.toolbar.active_drag)"
    assert visit.page.evaluate(drags) == [None] * len(NAMES)


@pytest.fixture(scope="module")
def regions(tmp_path_factory):
    """Three groups whose coefficients and errors differ, after a replay."""
    place, rng = tmp_path_factory.mktemp("regions"), np.random.default_rng(5)
    names = rng.choice(["north", "south", "east"], size=N)
    slope = {"north": 2.0, "south": -1.0, "east": 0.5}
    X = rng.normal(size=(N, 2)).round(4)
    noise = 0.1 * rng.normal(size=N) * np.where(names == "east", 20.0, 1.0)
    y = X[:, 0] * [slope[name] for name in names] + 10.0 * X[:, 1] + noise
    lines = [f"{g},{a},{b},{v:.4f}\n" for g, (a, b), v in zip(names, X, y, strict=True)]
    (place / "rows.csv").write_text("region,temp,price,sales\n" + "".join(lines))
    roles = RequestedColumns("sales", group="region")
    summary = run(Job(str(place / "rows.csv"), roles, model="ols", window=100), place / "out")
    return place / "out" / "report.html", summary


def shown_values(visit, chart, column):
    """The finite values of a column that a chart draws now."""
    source = f"Bokeh.documents[0].roots()[{chart}].renderers.at(-1).data_source.data[{column!r}]"
    return np.array([v for v in visit.page.evaluate(f"() => Array.from({source})") if v == v])


def test_a_reader_chooses_the_feature_and_the_group_of_the_coefficients(browser, regions):
    visit = drawn(Visit(browser, regions[0]))
    page = visit.page
    groups = page.locator("#path-group option").all_inner_texts()
    assert sorted(groups) == ["east", "north", "south"]
    assert page.locator("#path-feature option").all_inner_texts() == ["temp", "price"]
    for group, feature, expected in (
        ("north", "temp", 2.0),
        ("south", "temp", -1.0),
        ("south", "price", 10.0),
        ("north", "price", 10.0),
    ):
        before = colours(visit, "coefficients")
        page.select_option("#path-group", group)
        page.select_option("#path-feature", feature)
        page.wait_for_timeout(300)
        assert np.median(shown_values(visit, 1, "coef")) == pytest.approx(expected, abs=0.05)
        low, high = (np.median(shown_values(visit, 1, name)) for name in ("lower", "upper"))
        assert low < expected < high
        bounds = "() => (r => [r.start, r.end])(Bokeh.documents[0].roots()[1].y_range)"
        assert page.evaluate(bounds)[0] < expected < page.evaluate(bounds)[1]
        after = colours(visit, "coefficients")
        assert group == groups[0] or len(after) != len(before) or (after != before).any()
    assert visit.console_errors == []


@pytest.mark.parametrize("width", [1280, 390])
def test_a_report_without_groups_asks_for_none(browser, report, width):
    page = drawn(Visit(browser, report, width=width)).page
    assert page.locator("#path-feature").is_visible()
    assert not page.locator("#path-group").is_visible()


def test_a_reader_chooses_the_group_of_the_errors(browser, regions):
    path, summary = regions
    visit = drawn(Visit(browser, path))
    cells, scores = visit.page.locator("#table tr.model td.number"), summary["groups"]
    assert cells.first.inner_text() == figure(summary["errors"]["OLS"]["mae"])
    for group in ("east", "north"):
        visit.page.select_option("#error-group", group)
        visit.page.wait_for_timeout(200)
        mae = scores[group]["errors"]["OLS"]["mae"]
        assert cells.first.inner_text() == figure(mae)
        assert shown_values(visit, 2, "OLS").mean() == pytest.approx(mae, rel=0.2)
    assert scores["east"]["errors"]["OLS"]["mae"] > 5 * scores["north"]["errors"]["OLS"]["mae"]
    assert sum(found["rows"] for found in scores.values()) == summary["rows"]["scored"]
    assert visit.console_errors == []


def test_a_long_stream_opens_on_the_latest_rows_with_the_whole_band(browser, erasures):
    visit = drawn(Visit(browser, erasures[0]))
    (start, end), *_ = axis(visit)
    assert end - start < 1_100
    rows = "() => Object.fromEntries(Object.entries(Bokeh.documents[0].roots()[0].renderers[0]"
    data = visit.page.evaluate(rows + ".data_source.data).map(([k, v]) => [k, Array.from(v)]))")
    inside = np.array(data["x"]) >= start
    limits = "() => (r => [r.start, r.end])(Bokeh.documents[0].roots()[0].y_range)"
    low, high = visit.page.evaluate(limits)
    assert low < np.array(data["lower"])[inside].min()
    assert high > np.array(data["upper"])[inside].max()


@pytest.mark.parametrize(
    ("coverage", "tone", "text"),
    [(0.949, "good", "nominal"), (0.9, "bad", "too low: errors"), (0.99, "warn", "too high")],
)
def test_a_coverage_that_misses_its_level_is_coloured_and_explained(coverage, tone, text):
    interval = {"coverage": coverage, "level": 0.95, "method": "gaussian"}
    card = coverage_card(interval, 5_000)
    assert card.tone == tone
    assert text in card.note


PEOPLE, ASKED, VISITS = 2_000, 200, 4_000


@pytest.fixture(scope="module")
def erasures(tmp_path_factory):
    """A file with 2,000 owners and 200 requests by owner, after a replay."""
    place, rng = tmp_path_factory.mktemp("erasures"), np.random.default_rng(8)
    owners = np.concatenate([rng.permutation(PEOPLE), rng.integers(0, PEOPLE, VISITS - PEOPLE)])
    X = rng.normal(size=(VISITS, 2)).round(4)
    y = (X @ [2.0, -1.0] + 5.0 + 0.3 * rng.normal(size=VISITS)).round(4)
    lines = [f"c{k:04d},{a},{b},{v}" for k, (a, b), v in zip(owners, X, y, strict=True)]
    (place / "visits.csv").write_text("customer,a,b,y\n" + "\n".join(lines) + "\n")
    asked = rng.choice(PEOPLE, ASKED, replace=False)
    rows = np.sort(rng.integers(PEOPLE, VISITS + 1, ASKED))
    lines = [f"{row},c{k:04d}" for row, k in zip(rows, asked, strict=True)]
    (place / "requests.csv").write_text("row,owner\n" + "\n".join(lines) + "\n")
    roles = RequestedColumns("y", ["a", "b"], owner="customer")
    job = Job(str(place / "visits.csv"), roles, model="ridge", window=1_200)
    summary = run(Job(**{**vars(job), "forget": str(place / "requests.csv")}), place / "out")
    return place / "out" / "report.html", summary, lines


def test_two_hundred_people_are_forgotten_and_every_request_is_audited(browser, erasures):
    path, summary, lines = erasures
    assert summary["audits"] == {"held": ASKED, "failed": 0}
    statuses = [each["status"] for each in summary["requests"]]
    assert set(statuses) == {"forgotten", "already gone"}
    assert statuses.count("forgotten") == summary["people"]["forgotten"] > 60
    assert all(each["seconds"] > 0 for each in summary["requests"])
    visit = drawn(Visit(browser, path))
    cells = [line.split("\t") for line in visit.page.locator("#forgotten tr").all_inner_texts()[1:]]
    assert [c[0] for c in cells] == [f"owner {line.split(',')[1]}" for line in lines]
    assert [c[3] for c in cells] == statuses
    assert all(
        re.match("✓ holds: .* none of the 1 forgotten owner has a live row", c[6]) for c in cells
    )
    assert sum(int(c[4]) for c in cells) == summary["left"]["asked"]
    cards = " ".join(visit.page.locator(".figures").inner_text().split())
    assert f"People forgotten {statuses.count('forgotten')} of 2,000 in the file" in cards
    assert "Audits passed 200 of 200" in cards
    assert re.search(
        r"Time to forget [\d.]+ (µs|ms) median of \d+ requests that removed rows", cards
    )
    box = visit.page.locator("#forgotten .tall").bounding_box()
    assert box["height"] <= 561  # the other requests are a scroll away
    assert visit.console_errors == []


def test_the_list_of_requests_fits_a_phone(browser, erasures):
    visit = drawn(Visit(browser, erasures[0], width=390, touch=True))
    assert visit.page.evaluate("document.documentElement.scrollWidth") == 390
    assert visit.console_errors == []
