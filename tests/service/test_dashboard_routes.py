"""The dashboard in a real browser: sign in, watch rows arrive, forget a person, get a receipt."""

from __future__ import annotations

import csv
import json
import re

import pytest
from browser import launched
from command_line import run
from service_cases import Running, add_demand, rows

from efface.errors import UnknownOwner
from efface.service.dashboard_routes import style

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def browser():
    with launched() as running:
        yield running


class Tab:
    """A page of the service, with what the console said and which hosts were asked."""

    def __init__(self, browser, service, token, *, width=1280, scheme="light"):
        self.errors, self.dialogs, self.hosts = [], [], set()
        self.service = service
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, accept_downloads=True
        )
        self.page = page = context.new_page()
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.hosts.add(request.url.split("/")[2]))
        page.on("dialog", lambda dialog: (self.dialogs.append(dialog), dialog.dismiss()))
        page.goto(service.url)
        page.fill("#token", token)
        page.keyboard.press("Enter")

    def _on_console(self, message):
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def expect(self, place, text):
        """Wait for a text; the page's policy forbids to wait for a script."""
        from playwright.sync_api import expect

        expect(self.page.locator(place).first).to_have_text(text, timeout=30_000)

    def look_up(self, owner):
        self.page.click("nav >> text=People")
        self.page.fill("#owner", owner)
        self.page.keyboard.press("Enter")

    def check(self):
        assert self.errors == []
        assert self.dialogs == []
        assert self.hosts == {self.service.url.removeprefix("http://")}


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_person_is_looked_up_and_forgotten_and_the_receipt_verifies(
    browser, tmp_path, width, scheme
):
    add_demand(tmp_path / "orders", 40)
    with Running(tmp_path / "orders") as running:
        api = running.client()
        tab = Tab(browser, running, running.all, width=width, scheme=scheme)
        page = tab.page
        page.wait_for_selector(".model")
        tab.expect("[data-figure=rows]", "40")
        for first, count in ((100, 5), (105, 20)):
            content = {"rows": rows(count, first=first)}
            api.post("/models/demand/rows", json=content).raise_for_status()
        tab.expect("[data-figure=rows]", "65")
        page.wait_for_selector("svg.chart path")
        overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert overflow <= 0
        tab.look_up("person 3")
        page.wait_for_selector("#held")
        assert page.locator("#held tbody tr").count() == 13
        page.click("#open-confirm")
        assert "13 rows of person 3 in demand will be deleted" in page.inner_text("#confirm-text")
        page.click("#keep")
        assert running.store.status()["rows"] == 65
        page.click("#open-confirm")
        page.click("#forget")
        page.wait_for_selector("#receipt")
        receipt, secret = (
            downloaded(page, title) for title in ("Download the receipt", "Download its secret")
        )
        tab.look_up("person 3")
        tab.expect("#message", re.compile("has no live row"))
        assert page.locator("#held").count() == 0
        page.click("nav >> text=Receipts")
        assert page.inner_text("#chain").startswith("1 receipt: every signature")
        page.click("nav >> text=Audit")
        page.click("#start-audit")
        tab.expect("#audit-step", "1 of 1 audited")
        assert page.inner_text("#audit-table").split("\t")[1].startswith("holds: 52 live rows")
        public_key = api.get("/receipts").json()["public_key"]
        found = [text for text in tab.errors if "404" in text]  # of the person who is gone
        tab.errors = [text for text in tab.errors if text not in found]
        tab.check()
        with pytest.raises(UnknownOwner):
            running.store.held("person 3")
    (tmp_path / "receipt.json").write_text(receipt)
    (tmp_path / "secret").write_text(secret)
    verified = verify(tmp_path, public_key, "person 3")
    assert "13 rows forgotten (demand 13)" in verified.stdout
    assert "unaltered, and signed by this key" in verified.stdout
    assert verified.returncode == 0
    assert verify(tmp_path, public_key, "person 2").returncode == 2


def verify(folder, public_key, owner):
    """``efface receipt verify`` on what was downloaded."""
    return run(
        *("receipt", "verify", str(folder / "receipt.json"), "--public-key", public_key),
        *("--secret", str(folder / "secret"), "--owner-stdin"),
        input=f"{owner}\n",
    )


def downloaded(page, title):
    with page.expect_download() as waiting:
        page.click(f"a:text-is('{title}')")
    return waiting.value.path().read_text("utf-8")


def test_names_are_shown_as_text_and_run_nothing(browser, tmp_path):
    with Running(tmp_path / "orders") as running:
        api = running.client()
        path = "/models/%3Cscript%3Ealert(1)%3C%2Fscript%3E"
        features = ["<img src=x onerror=alert(2)>", "b"]
        api.put(path, json={"kind": "Ridge", "features": features}).raise_for_status()
        content = [
            {"x": [float(k), 1.0], "y": 1.0, "owner": "<b onclick=alert(3)>bold</b>"}
            for k in range(5)
        ]
        for _ in range(2):
            api.post(f"{path}/rows", json={"rows": content}).raise_for_status()
        tab = Tab(browser, running, running.all)
        tab.page.wait_for_selector(".legend li")
        assert tab.page.inner_text(".model h2") == SCRIPT
        assert tab.page.inner_text(".legend li >> nth=0").strip() == features[0]
        tab.look_up("<b onclick=alert(3)>bold</b>")
        tab.page.wait_for_selector("#held")
        assert tab.page.inner_text("#held h2") == "<b onclick=alert(3)>bold</b>"
        assert tab.page.locator("#held b, .model img, .model script").count() == 0
        tab.check()


def test_means_are_of_the_last_rows_and_the_first_fits_do_not_set_the_scale(browser, tmp_path):
    with Running(tmp_path / "orders") as running:
        page = Tab(browser, running, running.all).page
        page.wait_for_selector("nav")
        points = [
            {"learned": 60, "error": 4.0},
            {"learned": 40, "error": 9.0},
            {"learned": 0, "error": None},
            {"learned": 60, "error": 1.0},
            {"learned": 500, "error": 2.0},
        ]
        means = page.evaluate("(points) => movingMean(points, 'error')", points)
        assert means == [4.0, 6.0, None, (40 * 9.0 + 60 * 1.0) / 100, 2.0]
        values = [-500.0, 900.0, *[1.0] * 18, 7.0]
        assert set(page.evaluate("(values) => settled([{ values }])", values)) == {1.0, 7.0}


def test_the_model_of_a_key_is_shown_and_names_may_be_numbers(browser, tmp_path):
    with Running(tmp_path / "orders") as running:
        api = running.client()
        body = {"kind": "Ridge", "features": ["temp", "hum"], "keyed": True}
        api.put("/models/sales", json=body).raise_for_status()
        content = [{**row, "key": 7, "owner": 42} for row in rows(9)]
        content += [{**row, "key": "<b>shop</b>"} for row in rows(4, first=20)]
        api.post("/models/sales/rows", json={"rows": content}).raise_for_status()
        tab = Tab(browser, running, running.all, width=390)
        tab.page.wait_for_selector(".model")
        tab.expect("[data-figure=keys]", "2")
        for key, shown in (("7", "7: 9 rows"), ("<b>shop</b>", "<b>shop</b>: 4 rows")):
            tab.page.fill(".key input", key)
            tab.page.keyboard.press("Enter")
            tab.expect(".of-key p", re.compile(f"^{re.escape(shown)}, penalty 1"))
        assert tab.page.locator(".of-key tr").count() == 3
        api.post("/erasures", json={"ids": [row["id"] for row in content[9:]]}).raise_for_status()
        tab.expect(".of-key p", re.compile("has no live row"))
        overflow = tab.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert overflow <= 0
        tab.look_up("42")
        tab.page.wait_for_selector("#held")
        assert tab.page.locator("#held tbody tr").count() == 9
        tab.errors = [text for text in tab.errors if "404" not in text]  # of texts that are numbers
        tab.check()


def test_a_token_without_the_role_sees_no_button_and_is_refused(browser, tmp_path):
    add_demand(tmp_path / "orders", 10)
    with Running(tmp_path / "orders") as running:
        token = running.tokens.create(["read", "held"])
        tab = Tab(browser, running, token)
        tab.page.wait_for_selector(".model")
        tab.look_up("person 1")
        tab.page.wait_for_selector("#held")
        assert tab.page.locator("#open-confirm").count() == 0
        status = tab.page.evaluate(
            """async () => (await fetch("/erasures", {method: "POST", body: '{"owner": "person 1"}',
            headers: {"content-type": "application/json"}})).status"""
        )
        assert status == 403
        assert running.store.status()["rows"] == 10
        running.tokens.revoke(token.split("_")[1])
        tab.page.click("nav >> text=Models")
        tab.page.wait_for_selector("#sign-in", state="visible")


def test_the_page_shows_nothing_before_a_sign_in(browser, tmp_path):
    add_demand(tmp_path / "orders", 10)
    with Running(tmp_path / "orders") as running:
        tab = Tab(browser, running, "eff_00000000_" + "A" * 43)
        tab.expect("#message", re.compile("no valid token"))
        assert tab.page.locator("#signed-in").is_hidden()
        assert "demand" not in tab.page.content()


def test_pages_are_usable_by_keyboard_alone(browser, tmp_path):
    add_demand(tmp_path / "orders", 10)
    with Running(tmp_path / "orders") as running:
        tab = Tab(browser, running, running.all)
        page = tab.page
        page.wait_for_selector(".model")
        reached = []
        for _ in range(12):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.textContent.trim()"))
        assert {"Models", "People", "Receipts", "Audit", "Sign out"} <= set(reached)
        tab.look_up("person 1")
        page.wait_for_selector("#open-confirm")
        page.focus("#open-confirm")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "keep"
        page.keyboard.press("Escape")
        assert running.store.status()["rows"] == 10
        tab.check()


def test_every_response_has_a_strict_policy_and_the_page_loads_only_its_own_files(tmp_path):
    with Running(tmp_path / "orders") as running:
        client = running.client("")
        for path in (
            "/",
            "/assets/style.css",
            "/assets/dashboard.js",
            "/health",
            "/none",
            "/models",
        ):
            headers = client.get(path).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert headers["cache-control"] == "no-store"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["x-content-type-options"] == "nosniff"
        assert "http" not in client.get("/").text
        assert client.get("/assets/..%2Ftokens.py").status_code == 404


def test_the_style_is_that_of_the_report():
    assert "--model: #1d5fd1" in style()
    assert "prefers-color-scheme: dark" in style()


def test_a_session_tells_its_roles_and_ends(tmp_path):
    with Running(tmp_path / "orders") as running:
        client = running.client("")
        origin = {"origin": running.url}
        body = json.dumps({"token": running.token["read"]})
        found = client.post(
            "/session", content=body, headers={**origin, "content-type": "application/json"}
        )
        assert found.json() == {"roles": ["read"]}
        assert client.get("/session").json() == {"roles": ["read"]}
        assert client.delete("/session", headers=origin).json() == {"roles": []}
        assert client.get("/session").json() == {"roles": []}


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light")])
def test_what_is_held_is_exported_and_the_secret_is_kept_before_the_page_is_left(
    browser, tmp_path, width, scheme
):
    add_demand(tmp_path / "orders", 10)
    with Running(tmp_path / "orders") as running:
        tab = Tab(browser, running, running.all, width=width, scheme=scheme)
        page = tab.page
        tab.look_up("person 1")
        with page.expect_download() as exported:
            page.click("text=Export as JSON")
        found = json.loads(exported.value.path().read_text())
        assert (found["owner"], found["rows"]) == ("person 1", 2)
        with page.expect_download() as exported:
            page.click("text=Export as CSV")
        lines = list(csv.reader(exported.value.path().read_text().splitlines()))
        assert lines[0] == ["model", "row", "column", "value"]
        values = found["models"]["demand"]["features"]["temp"]
        assert ["demand", "r1", "temp", str(values[0])] in lines
        page.click("#open-confirm")
        page.click("#forget")
        page.wait_for_selector("#unkept")
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        page.close(run_before_unload=True)
        page.wait_for_timeout(500)
        assert [dialog.type for dialog in tab.dialogs] == ["beforeunload"]  # dismissed: it stays
        tab.look_up("person 2")  # would replace the receipt
        tab.expect("#message", re.compile("secret of the receipt first"))
        assert page.locator("#receipt").count() == 1
        with page.expect_download():
            page.click("text=Download its secret")
        assert page.locator("#unkept").count() == 0
        page.emulate_media(media="print")
        assert page.locator("#receipt").is_visible()
        assert "efface receipt verify" in page.inner_text("#receipt")
        assert not page.locator("nav").is_visible()
        assert page.pdf(format="A4").count(b"/Type /Page\n") == 1
        page.emulate_media(media="screen")
        page.reload()
        assert len(tab.dialogs) == 1
        assert tab.errors == []


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_who_is_refused_for_ever_and_a_store_that_only_reads_are_shown(
    browser, tmp_path, width, scheme
):
    add_demand(tmp_path / "orders", 10)
    with Running(tmp_path / "orders") as running:
        api = running.client()
        api.post("/erasures", json={"owner": "person 1", "forever": True}).raise_for_status()
        tab = Tab(browser, running, running.all, width=width, scheme=scheme)
        page = tab.page
        tab.look_up("person 1")
        tab.expect("#refused p", re.compile("forgotten for ever.*Nothing is held"))
        assert page.locator("#held").count() == 0
        assert not page.locator("#condition").is_visible()
        running.backend._store._writer.condition.ended("the disk is full")
        tab.expect("#condition", re.compile("^Writes do not get through: .*the disk is full"))
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        tab.check()
