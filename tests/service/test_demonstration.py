"""Tests of efface.service.demonstration."""

from __future__ import annotations

import subprocess
import time
from importlib.resources import files
from itertools import islice

import httpx
import numpy as np
from command_line import COMMAND

from efface.service.demonstration import BATCH, FEATURES, MODEL, PEOPLE, arrivals, prepare

DATA = files("efface.files").joinpath("sample", "bikeshare.csv")


def test_batches_arrive_without_end_for_people_who_do_not_exist(tmp_path):
    parts = list(islice(arrivals(DATA), 1_800))  # the file has 8,645 rows
    assert all(part.X.shape == (BATCH, len(FEATURES)) for part in parts)
    assert np.array_equal(parts[0].X, parts[1_729].X)
    assert {owner for part in parts for owner in part.owners} == set(PEOPLE)
    with prepare(tmp_path / "demo") as store:
        store.learn_many(parts[:3])
        assert store.status()["models"] == {MODEL: 15}


def test_the_demonstration_serves_rows_that_arrive_and_removes_its_store():
    process = subprocess.Popen(
        [*COMMAND, "serve", "--demo", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        url = process.stdout.readline().split(" at ")[1].strip()
        token = process.stdout.readline().split(": ")[1].strip()
        headers = {"authorization": f"Bearer {token}"}
        with httpx.Client(base_url=url, headers=headers, trust_env=False) as client:
            counts = set()
            until = time.monotonic() + 60
            while len(counts) < 3:
                assert time.monotonic() < until
                counts.add(client.get("/models").json()["models"][0]["rows"])
                time.sleep(0.1)
        assert max(counts) > min(counts)
    finally:
        process.terminate()
        code = process.wait(60)
        process.stdout.close()
    assert code == 0
