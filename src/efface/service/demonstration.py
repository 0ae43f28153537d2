"""``efface serve --demo``: bicycle hires arrive at a visible pace, of people who do not exist."""

from __future__ import annotations

import asyncio
import csv
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from fastapi import FastAPI

from efface import AutoRidge
from efface.service.backend import Backend
from efface.store import Store
from efface.store.learning import LearnRequest

MODEL = "bicycle hires"
FEATURES = ["temperature", "humidity", "wind", "working day", "night", "rush hour"]
KEPT = "10m"
BATCH, PAUSE = 5, 0.25  # rows, seconds
_FIRST = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana")
_LAST = ("Adler", "Brook", "Castle", "Dale", "Ember")
PEOPLE = [f"{first} {last}" for first, last in product(_FIRST, _LAST)]


def prepare(folder: Path) -> Store:
    """A store with the model of the demonstration, and no row."""
    store = Store(folder)
    store.add(MODEL, AutoRidge(window=KEPT), features=FEATURES)
    return store


def arrivals(path: Path) -> Iterator[LearnRequest]:
    """Batches of rows with made-up owners, without end."""
    rng = random.Random(0)
    rows = list(_rows(path))
    first = 0
    while True:
        part = [rows[(first + k) % len(rows)] for k in range(BATCH)]
        X, y = [features for features, _ in part], [hires for _, hires in part]
        yield _request(X, y, [rng.choice(PEOPLE) for _ in part])
        first += BATCH


def _request(X: list[list[float]], y: list[float], owners: list[str]) -> LearnRequest:
    now = np.datetime64("now", "ns")
    return LearnRequest(MODEL, np.array(X), np.array(y), owners=owners, at=np.repeat(now, len(y)))


def _rows(path: Path) -> Iterator[tuple[list[float], float]]:
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            hour, working = int(row["hr"]), float(row["workingday"])
            rush = working * (hour in (7, 8, 17, 18))
            weather = [float(row[name]) for name in ("temp", "hum", "windspeed")]
            yield [*weather, working, float(hour < 6), rush], float(row["bikers"])


def run_with(app: FastAPI, path: Path) -> None:
    """Let rows arrive while the application runs."""
    before: Any = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with before(app):
            feeding = asyncio.create_task(_feed(app.state.service.backend, path))
            try:
                yield
            finally:
                feeding.cancel()

    app.router.lifespan_context = lifespan


async def _feed(backend: Backend, path: Path) -> None:
    arriving = arrivals(path)
    while True:
        await backend.learn(partial(next, arriving))
        await backend.expire()
        await asyncio.sleep(PAUSE)
