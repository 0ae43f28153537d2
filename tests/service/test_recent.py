"""Tests of efface.service.recent."""

from __future__ import annotations

import numpy as np
import pytest
from service_cases import Running, add_demand, rows

from efface.service.published import PublishedModel
from efface.service.recent import POINTS, SHOWN, Errors, RecentPast

MODEL = PublishedModel("m", "Ridge", {}, ("a",) * 9, 5, 1, np.arange(9.0), 0.0, 1.0, None)


def test_points_are_bounded_and_dropped():
    past = RecentPast()
    for at in range(POINTS + 5):
        past.add(MODEL, Errors(3, 0.5, 1.0), float(at))
    found = past.of("m")
    assert (len(found["points"]), found["points"][0]["at"], found["dropped"]) == (POINTS, 5.0, None)
    assert len(found["points"][0]["coefficients"]) == SHOWN
    past.drop("m", 9.0)
    assert past.of("m") == {"points": [], "dropped": 9.0}


def test_forgetting_drops_the_past_of_the_touched_models_alone(tmp_path):
    add_demand(tmp_path / "orders", 0)
    with Running(tmp_path / "orders") as running:
        client = running.client()
        client.put("/models/other", json={"kind": "Ridge", "features": ["a"]})
        for first in (0, 10, 20):
            client.post("/models/demand/rows", json={"rows": rows(10, first=first)})
            client.post("/models/other/rows", json={"rows": [{"x": [1.0], "y": first}] * 2})
        before = client.get("/models/demand/history").json()
        assert [point["rows"] for point in before["points"]] == [10, 20, 30]
        assert before["points"][1]["error"] == pytest.approx(0.1, abs=0.3)
        client.post("/erasures", json={"owner": "person 2"}).raise_for_status()
        after = client.get("/models/demand/history").json()
        assert [(point["rows"], point["error"]) for point in after["points"]] == [(24, None)]
        assert after["dropped"] is not None
        assert len(client.get("/models/other/history").json()["points"]) == 3
