"""Tests of efface.service.documents."""

from __future__ import annotations

import json
import re

from service_cases import Running

from efface.service.bodies import BODIES, NewRows
from efface.service.documents import described_body


def test_the_document_describes_every_route_and_body(tmp_path):
    with Running(tmp_path / "orders") as running:
        found = running.client().get("/openapi.json").json()
    assert found["info"]["title"] == "efface"
    assert set(found["paths"]) == {
        "/models",
        "/models/{name}",
        "/models/{name}/history",
        "/models/{name}/keys",
        "/models/{name}/rows",
        "/models/{name}/predictions",
        "/models/{name}/events",
        "/access-requests",
        "/erasures",
        "/receipts",
        "/receipts/{number}",
        "/audits",
        "/backups",
        "/health",
        "/ready",
        "/metrics",
        "/openapi.json",
    }
    names = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(found)))
    assert names <= set(found["components"]["schemas"])
    assert {body.__name__ for body in BODIES} <= set(found["components"]["schemas"])
    parameters = found["paths"]["/models/{name}"]["get"]["parameters"]
    assert [each["name"] for each in parameters] == ["name"]


def test_a_body_may_have_other_content_types():
    content = described_body(NewRows, "a/b")["requestBody"]["content"]
    assert set(content) == {"application/json", "a/b"}
