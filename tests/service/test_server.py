"""Tests of efface.service.server; test_service.py starts and stops the process."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from service_load import Server

from efface.errors import InvalidValue
from efface.service.server import Listen, bind, refuse_workers
from efface.service.tokens import TokenFile
from efface.store import Store


def test_only_this_machine_is_served_without_encryption(tmp_path):
    for host in ("0.0.0.0", "::", "192.168.0.1", "efface.example"):
        with pytest.raises(InvalidValue, match="--behind-proxy"):
            Listen(host)
    assert not Listen("127.0.0.1").secure
    assert Listen("0.0.0.0", behind_proxy=True).secure
    assert Listen("0.0.0.0", certificate=tmp_path / "c", key=tmp_path / "k").secure
    with pytest.raises(InvalidValue, match="both --tls-cert and --tls-key"):
        Listen(certificate=tmp_path / "c")


def test_the_hosts_are_its_own_and_those_that_were_named():
    assert Listen("::1", hosts=("efface.example",)).options.hosts == (
        "127.0.0.1",
        "localhost",
        "[::1]",
        "[::1]",
        "efface.example",
    )


def test_more_than_one_worker_is_refused(monkeypatch):
    monkeypatch.setenv("WEB_CONCURRENCY", "4")
    with pytest.raises(InvalidValue, match="'WEB_CONCURRENCY' is '4'"):
        refuse_workers()


def test_a_port_that_is_used_is_refused():
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = used.getsockname()[1]
        with pytest.raises(InvalidValue, match=f"'port' is {port}"):
            bind(Listen(port=port))


@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_DUMPABLE is of Linux")
def test_other_processes_cannot_read_the_memory():
    code = (
        "import ctypes; from efface.service.server import protect_memory; protect_memory(); "
        "print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"  # PR_GET_DUMPABLE
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "0\n"


def write_certificate(folder):
    """A certificate for this machine that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    hosts = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name)
    made = made.public_key(key.public_key()).serial_number(x509.random_serial_number())
    made = made.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(days=1))
    signed = made.add_extension(hosts, critical=False).sign(key, hashes.SHA256())
    (folder / "cert.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / "key.pem").write_bytes(private)
    return folder / "cert.pem", folder / "key.pem"


def test_a_certificate_makes_it_https_with_a_cookie_for_this_host_alone(tmp_path):
    Store(tmp_path / "orders").close()
    token = TokenFile(tmp_path / "orders").create(["read"])
    certificate, key = write_certificate(tmp_path)
    server = Server(tmp_path / "orders", "--tls-cert", str(certificate), "--tls-key", str(key))
    assert server.url.startswith("https://")
    trusted = ssl.create_default_context(cafile=str(certificate))
    with httpx.Client(base_url=server.url, verify=trusted, trust_env=False) as client:
        origin = {"origin": server.url}
        found = client.post("/session", json={"token": token}, headers=origin)
        assert found.headers["set-cookie"].startswith("__Host-efface=")
        assert "; Secure" in found.headers["set-cookie"]
        assert "strict-transport-security" in found.headers
        assert client.get("/models").json() == {"models": []}
    assert server.stop() == 0
