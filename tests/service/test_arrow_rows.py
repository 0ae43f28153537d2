"""Tests of efface.service.arrow_rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from service_cases import Running, add_demand, fingerprint

from efface.errors import InvalidValue
from efface.service.arrow_rows import MEDIA_TYPE, arrow_request, read_table

COLUMNS = {
    "temp": [1.0, 2.0],
    "hum": [3.0, 4.0],
    "y": [5.0, 6.0],
    "id": ["a", "b"],
    "owner": ["ann", None],
}


def stream(columns, **options):
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as file:
        file.write_table(table)
    return sink.getvalue().to_pybytes()


def test_a_table_becomes_a_request():
    found = arrow_request("m", stream(COLUMNS), ["temp", "hum"])
    assert found.X.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert (found.y.tolist(), found.ids) == ([5.0, 6.0], ["a", "b"])
    assert (found.owners, found.at) == (["ann", None], None)


def test_times_and_weights_are_columns_too():
    times = pa.array([0, 1_000], pa.timestamp("us", "UTC"))
    more = {**COLUMNS, "at": times, "until": pa.array([None, 2.0]), "weight": [1, 2]}
    found = arrow_request("m", stream(more), ["temp", "hum"])
    assert found.at.astype(np.int64).tolist() == [0, 1_000]
    assert (found.until, found.sample_weight.tolist()) == ([None, 2.0], [1.0, 2.0])


FAR = [
    pa.array([253_402_214_400, 0], pa.timestamp("s")),  # the year 9999
    pa.array([253_402_214_400, None], pa.timestamp("s", "UTC")),
    pa.array([2**62, 0], pa.timestamp("us")),
    pa.array([2**31 - 1, None], pa.date32()),
    pa.array([-(2**40), 0], pa.timestamp("s")),
    pa.array([2**63 - 1, 0], pa.timestamp("ns")),
]


def test_times_that_the_library_does_not_keep_are_refused(tmp_path):
    add_demand(tmp_path / "orders", 0)
    with Running(tmp_path / "orders") as running:
        client, headers = running.client(), {"content-type": MEDIA_TYPE}
        before = fingerprint(running.folder)
        for column in FAR:
            for name in ("until", "at", "id", "owner"):
                body = stream({**COLUMNS, name: column})
                found = client.post("/models/demand/rows", content=body, headers=headers)
                assert found.status_code == 422, (name, column.type, found.text)
                assert f"'{name}" in found.json()["detail"]
        assert fingerprint(running.folder) == before


def test_a_keyed_model_has_a_column_of_keys():
    found = arrow_request("m", stream({**COLUMNS, "key": ["shop 1", "shop 2"]}), ["temp", "hum"])
    assert found.keys == ["shop 1", "shop 2"]
    assert arrow_request("m", stream(COLUMNS), ["temp", "hum"]).keys is None


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_compressed_tables_are_refused_before_they_are_read(codec):
    bomb = stream({"temp": np.zeros(2_000_000)}, compression=codec)
    assert len(bomb) < 400_000
    with pytest.raises(InvalidValue, match="compressed"):
        read_table(bomb)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"ARROW1",
        stream(COLUMNS)[:-40],
        stream({**COLUMNS, "temp": ["a", "b"]}),
        stream({**COLUMNS, "temp": [1.0, None]}),
        stream({**COLUMNS, "temp": [1.0, float("nan")]}),
        stream({"temp": [1.0], "y": [1.0]}),
        stream({"temp": np.zeros(10_001), "hum": np.zeros(10_001), "y": np.zeros(10_001)}),
        stream(pa.table({name: pa.array(values)[:0] for name, values in COLUMNS.items()})),
        stream({**COLUMNS, "owner": pa.array(["a", "b"]).dictionary_encode()}),
    ],
    ids=range(10),
)
def test_other_bodies_are_refused(body):
    with pytest.raises(InvalidValue):
        arrow_request("m", body, ["temp", "hum"])


def test_the_service_learns_arrow_and_refuses_flipped_bytes(tmp_path):
    add_demand(tmp_path / "orders", 0)
    with Running(tmp_path / "orders") as running:
        client, headers = running.client(), {"content-type": MEDIA_TYPE}
        body = stream(COLUMNS)
        found = client.post("/models/demand/rows", content=body, headers=headers)
        assert found.json() == {"ids": ["a", "b"], "learned": 2, "skipped": 0}
        before, rng = fingerprint(running.folder), np.random.default_rng(0)
        for _ in range(40):
            flipped = bytearray(body)
            flipped[rng.integers(len(flipped))] ^= 1 << rng.integers(8)
            answer = client.post("/models/demand/rows", content=bytes(flipped), headers=headers)
            assert answer.status_code in (200, 409, 422), answer.text
            if answer.status_code != 200:
                assert fingerprint(running.folder) == before
            before = fingerprint(running.folder)
