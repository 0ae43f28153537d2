"""The site builds without warnings, is complete, and works offline on screens of all widths."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
import zlib
from importlib import import_module

import pytest
from browser import Visit, launched
from snippets import ROOT

import efface

WIDTHS = (1280, 1100, 820, 390)
LOOKED_AT = ("docs/index", "docs/theory", "docs/reference", "docs/gallery", "paper/README")


def build(source, folder):
    """Build as `make docs` does, into another folder."""
    options = ["--fail-on-warning", "--keep-going", "--fresh-env", "--quiet"]
    return subprocess.run(
        [sys.executable, "-m", "sphinx", *options, "--conf-dir", ROOT / "docs", source, folder],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    result = build(ROOT, folder)
    assert result.returncode == 0, result.stderr
    return folder


def entries(site):
    """The names in the reference."""
    content = (site / "objects.inv").read_bytes()
    listing = zlib.decompress(content.split(b"\n", 4)[4]).decode()
    return {line.split(" ")[0] for line in listing.splitlines() if " py:" in line}


def test_make_docs_uses_the_same_options():
    recipe = (ROOT / "Makefile").read_text("utf-8").split("\ndocs:")[1].split("\n\n")[0]
    for option in ("--fail-on-warning", "--fresh-env", "--conf-dir docs", ". site"):
        assert option in recipe


@pytest.mark.parametrize(
    "text", ["[gone](gone.md)", "[there](#nowhere)", "```{eval-rst}\n:py:func:`efface.gone`\n```"]
)
def test_a_broken_link_stops_the_build(text, tmp_path):
    page = tmp_path / "source" / "docs" / "index.md"
    page.parent.mkdir(parents=True)
    page.write_text(f"# A page\n\n{text}\n")
    result = build(tmp_path / "source", tmp_path / "site")
    assert result.returncode != 0
    assert "WARNING" in result.stderr


def test_the_reference_has_every_public_name(site):
    known = entries(site)
    for name in efface.__all__:
        home = getattr(efface, name).__module__
        assert known & {f"efface.{name}", f"{home}.{name}"}, name


RESULTS = (efface.Audit, efface.Diagnosis, efface.Forecast, efface.Replay, efface.Rolling)


@pytest.mark.parametrize("kind", RESULTS)
def test_the_reference_has_every_field_of_a_result(site, kind):
    names = {f"efface.{kind.__name__}.{field.name}" for field in dataclasses.fields(kind)}
    assert names <= entries(site)


def test_the_reference_has_every_method_of_the_models(site):
    kinds = (
        import_module("efface.models.regression").Model,
        import_module("efface.models.base").LiveEstimator,
    )
    names = {
        f"{kind.__module__}.{kind.__name__}.{name}"
        for kind in kinds
        for name in vars(kind)
        if not name.startswith(("_", "set_", "window"))
    }
    assert {"efface.models.regression.Model.fit", "efface.models.base.LiveEstimator.forget"} < names
    assert names <= entries(site)


def test_every_page_of_the_repository_is_on_the_site(site):
    pages = {path.relative_to(ROOT / "docs").stem for path in (ROOT / "docs").glob("*.md")}
    assert {path.stem for path in (site / "docs").glob("*.html")} == pages
    front = (site / "docs" / "index.html").read_text("utf-8")
    for name in (*(pages - {"index"}), "../README", "../CHANGELOG", "../paper/README"):
        assert f'href="{name}.html"' in front, name
    assert "docs/index.html" in (site / "index.html").read_text("utf-8")


def test_pages_load_nothing_from_other_hosts(site):
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        loaded = re.findall(r'(?:src|<link[^>]*href)="([^"]*)"', text)
        assert [address for address in loaded if "//" in address] == [], page
    for style in site.rglob("*.css"):
        assert re.findall(r"url\(['\"]?https?:|@import", style.read_text("utf-8")) == [], style


def test_pages_fit_every_width_and_make_no_requests(site):
    with launched() as browser:
        for name, width in ((n, w) for n in LOOKED_AT for w in WIDTHS):
            visit = Visit(browser, site / f"{name}.html", width=width, scheme="dark")
            assert visit.console_errors == []
            assert [url for url in visit.requests if not url.startswith(("file:", "data:"))] == []
            assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
            images = "[...document.images].every(image => image.naturalWidth > 0)"
            assert visit.page.evaluate(images)


def test_the_search_works_offline(site):
    with launched() as browser:
        page = Visit(browser, site / "search.html").page
        page.fill("input.sidebar-search", "forecast_forgetting")
        page.press("input.sidebar-search", "Enter")
        page.wait_for_selector("#search-results a", timeout=20_000)
        assert "diagnostics.html" in page.inner_html("#search-results")
