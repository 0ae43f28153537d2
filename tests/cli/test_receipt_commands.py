"""``efface receipt verify`` and ``efface receipts check``: offline, with exit codes that differ."""

from __future__ import annotations

import io
import json

import pytest
from command_line import here
from store_cases import filled

from efface.store import Store


@pytest.fixture
def verify(monkeypatch, capsys, tmp_path):
    secret = bytes(range(32))
    with filled(tmp_path / "orders") as store:
        receipt = store.forget(owner="person 1", secret=secret)
        key = store.status()["public_key"]
    (tmp_path / "ann.json").write_text(receipt.json)
    (tmp_path / "ann.secret").write_text(secret.hex() + "\n")
    monkeypatch.chdir(tmp_path)

    def run(*arguments, stdin="", group=("receipt", "verify")):
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        code = here(*group, *arguments, monkeypatch=monkeypatch)
        shown = capsys.readouterr()
        return code or 0, shown.out + shown.err

    run.key = key
    return run


def test_a_receipt_verifies_under_the_key_of_the_store(verify):
    code, text = verify("ann.json", "--public-key", verify.key)
    assert code == 0
    assert "5 rows forgotten (demand 5)" in text
    assert "signed by this key" in text


def test_without_the_key_the_signer_is_unknown(verify):
    code, text = verify("ann.json")
    assert code == 1
    assert "signer unknown" in text


def test_the_secret_and_the_owner_match_the_receipt(verify):
    about = ("ann.json", "--public-key", verify.key, "--secret", "ann.secret", "--owner-stdin")
    assert verify(*about, stdin="person 1\n")[0] == 0
    code, text = verify(*about, stdin="person 2\n")
    assert code == 2
    assert "does not name" in text
    assert "person" not in text
    assert verify("ann.json", "--owner-stdin")[0] == 2


def test_forged_and_altered_receipts_do_not_verify(verify, tmp_path):
    assert verify("ann.json", "--public-key", "00" * 32)[0] == 2
    found = json.loads((tmp_path / "ann.json").read_text())
    found["payload"] = found["payload"].replace('"demand":5', '"demand":6')
    (tmp_path / "altered.json").write_text(json.dumps(found))
    code, text = verify("altered.json")
    assert code == 2
    assert "altered" in text


def test_a_receipt_of_an_earlier_key_verifies_with_the_record_of_its_change(verify, tmp_path):
    with Store(tmp_path / "orders") as store:
        record = store.rotate_signing_key()
        new = store.status()["public_key"]
    (tmp_path / "changes.jsonl").write_text(f"{record.json}\n")
    assert verify("ann.json", "--public-key", new)[0] == 2
    code, text = verify("ann.json", "--public-key", new, "--changes", "changes.jsonl")
    assert code == 0
    assert "signed by a key that was changed to this one" in text
    chain = ("--changes", "orders/receipts.jsonl")
    assert verify("ann.json", "--public-key", new, *chain)[0] == 0
    assert verify("ann.json", "--public-key", "00" * 32, *chain)[0] == 2
    (tmp_path / "change.json").write_text(record.json)
    assert f"changes to {new}" in verify("change.json", "--public-key", verify.key)[1]
    assert verify("orders", group=("receipts", "check"))[0] == 0


def test_the_chain_of_a_store_is_checked_while_it_is_open(verify, tmp_path):
    group = ("receipts", "check")
    with Store(tmp_path / "orders") as store:
        store.forget(owner="person 2")
        code, text = verify("orders", group=group)
    assert code == 0
    assert "2 receipts verify" in text
    path = tmp_path / "orders" / "receipts.jsonl"
    path.write_text(path.read_text().splitlines()[1] + "\n")
    assert verify("orders", group=group)[0] == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("missing.json",),
        ("orders",),
        ("ann.json", "--secret", "missing.secret", "--owner-stdin"),
        ("ann.json", "--secret", "ann.json", "--owner-stdin"),
        ("ann.json", "--public-key", "KEY", "--changes", "missing.jsonl"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_and_no_signer_unknown(verify, arguments):
    given = [verify.key if each == "KEY" else each for each in arguments]
    code, text = verify(*given, stdin="person 1\n")
    assert code == 2
    assert "efface: '" in text
    assert "Traceback" not in text
