"""A real browser for tests of HTML pages: Chromium, driven by playwright.

Without Chromium these tests are skipped. If EFFACE_REQUIRE_BROWSER is set, as in CI, they fail.
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
    """The path of Chromium; without it, skips the test or fails it."""
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if path := shutil.which(name):
            return path
    reason = "Chromium is not installed: run `apt-get install chromium`, or `make browser` as root"
    if os.environ.get("EFFACE_REQUIRE_BROWSER"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def launched():
    """A running browser."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """A page opened from disk without a network, with its requests and console errors."""

    def __init__(self, browser, path, *, width=1280, scheme="light", touch=False):
        self.console_errors, self.requests = [], []
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            has_touch=touch,
            is_mobile=touch,
            offline=True,
        )
        self.page = context.new_page()
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.console_errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def _on_console(self, message):
        if message.type in ("error", "warning"):
            self.console_errors.append(message.text)
