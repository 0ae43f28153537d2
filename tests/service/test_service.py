"""The promises of the service: who may do what, refusals that change nothing, nothing in logs."""

from __future__ import annotations

import json
import logging
import os
import random
import re
import signal
import socket
import time
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from service_cases import FEATURES, JSON, Running, add_demand, add_sales, fingerprint, rows
from service_load import Server, loaded, open_files
from service_requests import ASK, BAD, ERASE, LEARN, ROUTES

from efface.errors import UnknownOwner
from efface.service.bodies import BODIES
from efface.service.tokens import ROLES, TokenFile
from efface.store import Store
from efface.store.receipts import verify_chain


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("service") / "orders"
    add_demand(folder)
    add_sales(folder)
    with Running(folder) as running:
        running.client().post("/erasures", json={"owner": "person 4"}).raise_for_status()
        yield running


def ask(client, method, address, body):
    return (
        client.request(method, address, json=body)
        if body is not None
        else client.request(method, address)
    )


def refused(response, status):
    """Whether a response is a problem of this status with a clear text."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    found = response.json()
    assert found["status"] == status
    assert len(found["detail"]) > 10
    return found["detail"]


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_refuses_every_caller_but_those_with_its_roles(service, route):
    method, address, body, roles, _ = ROUTES[route]
    before = fingerprint(service.folder)
    gone = service.tokens.create(ROLES)
    service.tokens.revoke(gone.split("_")[1])
    before["tokens.json"] = fingerprint(service.folder)["tokens.json"]
    for role in ROLES:
        if {role} != roles:
            detail = refused(ask(service.client(role), method, address, body), 403)
            assert any(name in detail for name in roles)
    forged = service.all[:-1] + ("A" if service.all[-1] != "A" else "B")
    for token in ("", gone, forged, "eff_00000000_" + "A" * 43, "Bearer", "é"[:0] or "x" * 5000):
        refused(ask(service.client(token), method, address, body), 401)
    assert fingerprint(service.folder) == before


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_answers_those_with_its_roles(tmp_path, route):
    add_demand(tmp_path / "orders")
    method, address, body, roles, status = ROUTES[route]
    if route == "key":
        add_sales(tmp_path / "orders")
    with Running(tmp_path / "orders") as running:
        if route == "receipt":
            running.client().post("/erasures", json={"owner": "person 4"})
        token = running.tokens.create(sorted(roles))
        found = ask(running.client(token), method, address, body)
        assert found.status_code == status, found.text


def test_health_is_open_to_all_and_says_nothing_else(service):
    assert service.client("").get("/health").json() == {"status": "ok"}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_and_the_store_keeps_its_bytes(service, case):
    method, address, text, status = BAD[case]
    before, counts = fingerprint(service.folder), service.store.status()
    response = service.client().request(method, address, content=text.encode(), headers=JSON)
    refused(response, status)
    assert fingerprint(service.folder) == before
    assert service.store.status() == counts


def test_large_and_encoded_bodies_are_refused_before_they_are_parsed(service):
    client, before = service.client(), fingerprint(service.folder)
    large = b" " * ((16 << 20) + 1)
    refused(client.post(LEARN, content=large, headers=JSON), 413)
    refused(client.post(LEARN, content=iter([large[: 9 << 20]] * 2), headers=JSON), 413)
    refused(client.post(LEARN, content=b"{}", headers={**JSON, "content-encoding": "gzip"}), 415)
    refused(client.post(LEARN, content=b"{}", headers={"content-type": "text/plain"}), 415)
    assert fingerprint(service.folder) == before


def test_other_hosts_and_foreign_pages_are_refused(service):
    client = service.client()
    refused(client.get("/models", headers={"host": "evil.example"}), 421)
    refused(client.get("/", headers={"host": "127.0.0.1.evil.example"}), 421)
    browser = service.client("")
    origin = {"origin": service.url}
    signed = browser.post("/session", json={"token": service.all}, headers=origin)
    assert signed.status_code == 200
    assert "HttpOnly; SameSite=Strict" in signed.headers["set-cookie"]
    for bad in ({}, {"origin": "http://evil.example"}, {"origin": "null"}):
        refused(browser.post(ERASE, json={"owner": "person 0"}, headers=bad), 403)
    assert browser.get("/models").status_code == 200
    refused(service.client("").post("/session", json={"token": service.all}), 403)
    assert browser.delete("/session", headers=origin).status_code == 200
    refused(browser.get("/models"), 401)


def test_repeated_requests_learn_nothing_twice(tmp_path):
    add_demand(tmp_path / "orders", 0)
    with Running(tmp_path / "orders") as running:
        client, body = running.client(), {"rows": rows(10)}
        assert client.post(LEARN, json=body).json()["learned"] == 10
        before = fingerprint(running.folder)
        again = client.post(LEARN, json=body).json()
        assert (again["learned"], again["skipped"]) == (0, 10)
        body["rows"][3]["y"] += 1.0
        refused(client.post(LEARN, json=body), 409)
        assert fingerprint(running.folder) == before
        assert running.store.status()["rows"] == 10


def test_a_repeated_erasure_gets_the_same_receipt(tmp_path):
    add_demand(tmp_path / "orders")
    with Running(tmp_path / "orders") as running:
        body = {"owner": "person 1", "secret": "ab" * 32}
        first, second = (running.client().post(ERASE, json=body).json() for _ in range(2))
        assert first == second
        assert first["rows"] == 4


def test_planted_names_are_in_no_log_no_error_no_address_and_no_metric(tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    logging.getLogger("efface.service").setLevel(logging.DEBUG)
    names = ["Zyxowner", "Zyxid", "Zyxkey", "8675309.25"]
    content = [{"x": [8675309.25, 1.0], "y": 1.0, "id": "Zyxid", "owner": "Zyxowner"}]
    add_demand(tmp_path / "orders")
    add_sales(tmp_path / "orders")
    with Running(tmp_path / "orders") as running:
        client, texts = running.client(), []
        keyed = {"rows": [{**content[0], "key": "Zyxkey"}]}
        client.post("/models/sales/rows", json=keyed).raise_for_status()
        texts += [client.get(path).text for path in ("/models/sales", "/models/sales/history")]
        client.post("/models/sales/keys", json={"key": "Zyxkey"}).raise_for_status()
        client.post(ERASE, json={"owner": "Zyxowner"}).raise_for_status()
        texts.append(refused(client.post("/models/sales/keys", json={"key": "Zyxkey"}), 404))
        asked = {"rows": [{"x": [1.0, 2.0], "key": "Zyxkey"}]}
        texts.append(refused(client.post("/models/sales/predictions", json=asked), 404))
        client.post(LEARN, json={"rows": content}).raise_for_status()
        content[0]["y"] = 2.0
        texts.append(refused(client.post(LEARN, json={"rows": content}), 409))
        for broken in ({"Zyxowner": 1}, {"x": {"Zyxid": "Zyxowner"}, "y": "Zyxowner"}):
            found = client.post(LEARN, json={"rows": [{**content[0], **broken}]})
            texts.append(found.text)
            assert found.status_code == 422
        client.post(ASK, json={"owner": "Zyxowner"}).raise_for_status()
        client.post(ERASE, json={"owner": "Zyxowner", "forever": True}).raise_for_status()
        texts.append(client.post(ERASE, json={"owner": "Zyxowner"}).text)
        assert client.post(ASK, json={"owner": "Zyxowner"}).json()["refused"]
        texts.append(client.post(LEARN, json={"rows": content}).text)
        texts.append(client.get("/metrics").text)
        texts.append(client.get("/models/demand/history").text)
    captured = capfd.readouterr()
    texts += [caplog.text, captured.out, captured.err]
    assert "efface_rows_forgotten_total" in "".join(texts)
    assert [name for name in names for text in texts if name in text] == []


def test_a_log_has_the_id_of_the_request_and_of_the_token_also_if_it_is_refused(tmp_path):
    add_demand(tmp_path / "orders", 0)
    token = TokenFile(tmp_path / "orders").create(["read"])
    server = Server(tmp_path / "orders")
    headers = {"authorization": f"Bearer {token}", "x-request-id": "Zyxowner"}
    with httpx.Client(base_url=server.url, headers=headers, trust_env=False) as client:
        answers = [client.post(ERASE, json={"owner": "ann"}) for _ in range(2)]
    assert server.stop() == 0
    text = (tmp_path / "orders.log").read_text("utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    ids = [answer.headers["x-request-id"] for answer in answers]
    assert [(line["request"], line["status"]) for line in lines] == [(id, 403) for id in ids]
    assert ids[0] != ids[1]
    assert {line["token"] for line in lines} == {token.split("_")[1]}


def test_a_client_that_hangs_up_is_no_failure_of_the_service(service):
    host, port = service.url.removeprefix("http://").split(":")
    head = f"POST {LEARN} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {service.all}\r\n"
    head += "content-type: application/json\r\ncontent-length: 1000\r\n\r\n{"
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head.encode())
    route = 'efface_requests_total{method="POST",route="/models/{name}/rows",status='
    until = time.monotonic() + 30
    while f'{route}"499"}}' not in (text := service.client().get("/metrics").text):
        assert time.monotonic() < until
        time.sleep(0.01)
    assert f'{route}"500"' not in text


def test_an_origin_that_cannot_be_parsed_is_refused(service):
    body = {"token": service.all}
    refused(service.client("").post("/session", json=body, headers={"origin": "http://["}), 403)


def test_a_read_token_learns_nothing_about_a_person(service):
    client = service.client("read")
    for method, address, bodies in (
        ("POST", "/audits", [{"forgotten_owners": [f"person {k}"]} for k in (0, 99)]),
        ("POST", "/audits", [{"forgotten": [f"r{k}"]} for k in (0, 9_999)]),
        ("POST", "/models/sales/keys", [{"key": f"shop {k}"} for k in (1, 99)]),
        ("POST", ASK, [{"owner": f"person {k}"} for k in (0, 99)]),
    ):
        known, unknown = (client.request(method, address, json=body) for body in bodies)
        assert known.status_code == unknown.status_code == 403
        assert known.json() == unknown.json()


# No request makes the service fail

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=True, allow_infinity=True)
    | st.text(max_size=8)
    | st.sampled_from(["r0", "demand", "Ridge", "90d", "person 0", "2026-01-01", "ok", "raise"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5) | st.sampled_from(FEATURES), inner, max_size=3)
    ),
    max_leaves=12,
)
numbers = st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1e-320, 1e149, -1e150, 1e155, 1e308])
times = st.datetimes().map(lambda time: f"{time.isoformat()}Z")  # of the years 1 to 9999
good_rows = st.fixed_dictionaries(
    {"x": st.lists(numbers, min_size=2, max_size=2), "y": numbers},
    optional={
        "id": st.integers() | st.text(max_size=4),
        "owner": st.none() | st.text(max_size=4),
        "at": numbers | times,
        "until": st.none() | numbers | times,
        "weight": numbers,
        "key": st.text(max_size=2) | st.integers(0, 3),
    },
)


def of_schema(schema, definitions, depth=0):
    """Values that a JSON schema allows, and others in the place of some."""
    if "$ref" in schema:
        return of_schema(definitions[schema["$ref"].rpartition("/")[2]], definitions, depth)
    if "anyOf" in schema:
        return st.one_of([of_schema(each, definitions, depth) for each in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "object" if "properties" in schema:
            fields = {
                name: of_schema(each, definitions, depth + 1) | json_values
                for name, each in schema["properties"].items()
            }
            needed = {name: fields.pop(name) for name in schema.get("required", ())}
            return st.fixed_dictionaries(needed, optional=fields)
        case "array":
            inner = of_schema(schema["items"], definitions, depth + 1)
            return st.lists(inner, max_size=3)
        case "integer":
            return st.integers(-(2**65), 2**65)
        case "number":
            return numbers
        case "string":
            return st.text(max_size=6) | st.just("ab" * 32)
        case "boolean":
            return st.booleans()
    return json_values


@pytest.fixture(scope="module")
def operations(service):
    document = service.client().get("/openapi.json").json()
    assert set(document["components"]["schemas"]) >= {body.__name__ for body in BODIES}
    return document, [
        (method.upper(), path) for path, found in document["paths"].items() for method in found
    ]


@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_request_makes_the_service_fail(service, operations, data):
    document, known = operations
    method, path = data.draw(st.sampled_from(known))
    names = st.sampled_from(["demand", "sales", "other", "1", "0", "%2e%2e", "a%2Fb", "%ff", "%00"])
    address = "/".join(data.draw(names) if part[:1] == "{" else part for part in path.split("/"))
    content = document["paths"][path][method.lower()].get("requestBody", {}).get("content")
    body = b""
    if content:
        schema = content["application/json"]["schema"]
        made = of_schema(schema, document["components"]["schemas"]) | json_values
        if path.endswith(("rows", "events")):
            made |= st.fixed_dictionaries({"rows": st.lists(good_rows, min_size=1, max_size=3)})
        body = json.dumps(data.draw(made)).encode()
    response = service.client().request(method, address, content=body, headers=JSON)
    assert response.status_code < 500, (method, path, body, response.text)
    assert not service.backend.failed


def test_the_store_still_holds_after_all_that(service):
    assert service.client().post("/audits", json={}).json()["holds"]


# The process


def check_answers(folder, workers):
    """Every answered request is true: rows that were learned are there, forgotten ones are not."""
    with Store(folder) as store:
        ids = set(store._models["demand"].seqs)
        owners = set(store._models["demand"].model.owners_)
        assert all(audit.holds for audit in store.audit().values())
        receipts = store.receipts()
    verify_chain(receipts)
    for worker in workers:
        assert worker.surprises == []
        sure = {id for id, row in worker.known.items() if row["owner"] not in worker.perhaps_gone}
        assert sure <= ids
        assert not worker.gone & owners
    possible = {id for worker in workers for id in (*worker.known, *worker.unsure)}
    return ids, possible, len(receipts)


def kill_rounds(folder, rounds, seed):
    add_demand(folder, 0)
    token, delays = TokenFile(folder).create(ROLES), random.Random(seed)
    workers, everyone = [], []
    for at in range(rounds):
        server = Server(folder)
        workers = loaded(server.url, token, first=1_000 * at, seconds=delays.uniform(0.2, 1.2))
        assert server.kill() == -signal.SIGKILL
        for worker in workers:
            worker.join(30)
        everyone += workers
        ids, possible, receipts = check_answers(folder, everyone)
        assert ids <= possible
        assert receipts >= sum(len(worker.gone) for worker in everyone)
    assert sum(worker.answers for worker in everyone) > 10 * rounds
    assert "Traceback" not in Path(f"{folder}.log").read_text("utf-8")


def test_every_answer_is_true_after_the_server_was_killed_under_load(tmp_path):
    kill_rounds(tmp_path / "orders", 3, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_answer_is_true_after_many_kills(tmp_path):
    kill_rounds(tmp_path / "orders", 20, seed=2)


def test_sigterm_finishes_what_was_accepted_and_exits_cleanly(tmp_path):
    folder = tmp_path / "orders"
    add_demand(folder, 0)
    server = Server(folder)
    workers = loaded(server.url, TokenFile(folder).create(ROLES), count=4)
    assert server.stop() == 0
    assert "all that was accepted is done" in server.rest
    for worker in workers:
        worker.join(30)
    ids, possible, _ = check_answers(folder, workers)
    assert ids <= possible
    assert "Traceback" not in Path(f"{folder}.log").read_text("utf-8")


def test_an_erasure_survives_the_disconnect_of_its_client(tmp_path):
    folder = tmp_path / "orders"
    add_demand(folder, 2_000)
    with Running(folder) as running:
        host, port = running.url.removeprefix("http://").split(":")
        body = json.dumps({"owner": "person 3"}).encode()
        head = (
            f"POST /erasures HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {running.all}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(head.encode() + body)
        until = time.monotonic() + 30
        while running.store.status()["receipts"] == 0:
            assert time.monotonic() < until
            time.sleep(0.01)
    with Store(folder) as store:
        assert store.status()["rows"] == 1_600
        with pytest.raises(UnknownOwner):
            store.held("person 3")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ten_minutes_of_mixed_load_leak_nothing(tmp_path):
    folder = tmp_path / "orders"
    add_demand(folder, 0, window=5_000)
    token = TokenFile(folder).create(ROLES)
    server = Server(folder)
    workers = loaded(server.url, token, count=4)
    headers = {"authorization": f"Bearer {token}"}
    with httpx.Client(base_url=server.url, headers=headers, trust_env=False) as client:
        while metric(client, LEARNED) < 10_000:  # the window is full, all kernels are loaded
            assert all(worker.is_alive() for worker in workers)
            time.sleep(1)
        before = memory(client), open_files(server.process.pid), metric(client, LEARNED)
        time.sleep(float(os.environ.get("EFFACE_LOAD_SECONDS", "540")))
        after = memory(client), open_files(server.process.pid), metric(client, LEARNED)
        assert all(worker.is_alive() for worker in workers)
        for worker in workers:
            worker.over = True
        for worker in workers:
            worker.join(30)
        counted = client.get("/models/demand").json()["rows"]
    assert server.stop() == 0
    assert after[2] > before[2] + 20_000
    assert after[0] <= 1.05 * before[0], (before, after)
    assert abs(after[1] - before[1]) <= 2
    with Store(folder) as store:
        assert store.status()["rows"] == counted
    assert all(worker.surprises == [] for worker in workers)


LEARNED = "efface_rows_learned_total"


def memory(client):
    """The resident memory of the service, in bytes."""
    return metric(client, "process_resident_memory_bytes")


def metric(client, name):
    text = client.get("/metrics").text
    return float(re.search(rf"^{name} (\S+)$", text, re.MULTILINE)[1])
