"""A real browser for the tests that look at a page: Debian's Chromium, driven by playwright.

Where there is none, tests that need it are skipped with the reason; where EFFACE_REQUIRE_BROWSER is
set, as CI sets it, they fail instead.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager

import pytest

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def chromium():
    """Where it is; skips the test, or fails it where a browser is required."""
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if path := shutil.which(name):
            return path
    reason = "no Chromium here: `apt-get install chromium`, or `make browser` as root"
    if os.environ.get("EFFACE_REQUIRE_BROWSER"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def launched():
    """A browser of one test."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """A page opened from disk without a network, and what it complained about."""

    def __init__(self, browser, path, *, width=1280, scheme="light", touch=False):
        self.complaints, self.requests = [], []
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            has_touch=touch,
            is_mobile=touch,
            offline=True,
        )
        self.page = context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def _heard(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)
