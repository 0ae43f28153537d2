"""The files of deploy/: linted everywhere, built where Docker runs and EFFACE_DOCKER is set."""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from efface.cli.app import app
from efface.service.connections import MOST, RESERVED

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
INSTRUCTIONS = {
    *("FROM", "RUN", "COPY", "USER", "WORKDIR", "VOLUME", "EXPOSE", "STOPSIGNAL"),
    *("HEALTHCHECK", "ENTRYPOINT", "CMD"),
}


def dockerfile():
    text = (DEPLOY / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [tuple(line.split(" ", 1)) for line in lines]


def commands():
    return {command.name or command.callback.__name__ for command in app.registered_commands} | {
        group.name for group in app.registered_groups
    }


def options_of_serve():
    text = (ROOT / "src" / "efface" / "cli" / "serve.py").read_text("utf-8")
    names = re.findall(r"^    (\w+): Annotated", text, re.MULTILINE)
    return {f"--{name.replace('_', '-')}" for name in names}


def test_the_image_runs_an_existing_command_as_an_own_user():
    found = dockerfile()
    assert {word for word, _ in found} == INSTRUCTIONS
    by_word = dict(found)
    assert by_word["USER"] == "efface"
    words = [word for word, _ in found]
    assert words.index("USER") > max(at for at, word in enumerate(words) if word == "RUN")
    assert json.loads(by_word["ENTRYPOINT"]) == ["efface"]
    command = json.loads(by_word["CMD"])
    assert command[0] in commands()
    assert {word for word in command if word.startswith("--")} <= options_of_serve()
    assert "/health" in json.loads(by_word["HEALTHCHECK"].removeprefix("CMD "))[-1]


def test_the_image_copies_files_that_exist_and_installs_extras_that_exist():
    for word, rest in dockerfile():
        if word == "COPY":
            names = [name for name in rest.split()[:-1] if "--from=build" not in rest]
            assert all((ROOT / name).exists() for name in names)
    extras = re.search(
        r"\[([\w,]+)\]\"$", (DEPLOY / "Dockerfile").read_text("utf-8"), re.MULTILINE
    )[1]
    assert {"cli", "service"} <= set(extras.split(","))


def test_the_services_start_in_order_and_open_no_port_to_others():
    found = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    services = found["services"]
    assert set(services) == {"database", "create", "efface"}
    for service in services.values():
        assert set(service.get("depends_on", {})) <= set(services)
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
        for volume in service["volumes"]:
            assert volume.split(":")[0] in found["volumes"]
    assert "efface store init" in services["create"]["command"][0]
    assert (DEPLOY / services["efface"]["build"]["context"]).resolve() == ROOT


def test_the_unit_of_systemd_runs_an_existing_command():
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str
    parser.read(DEPLOY / "efface.service", encoding="utf-8")
    program, command, *_ = parser["Service"]["ExecStart"].split()
    assert program.endswith("/efface")
    assert command in commands()
    found = parser["Service"]
    assert (found["LimitCORE"], found["Type"]) == ("0", "notify")
    assert int(found["LimitNOFILE"]) >= MOST + RESERVED
    assert int(found["WatchdogSec"]) > 1  # the service tells every second that it is alive


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_knows_every_line_of_the_unit(tmp_path):
    text = (DEPLOY / "efface.service").read_text("utf-8")
    unit = tmp_path / "efface.service"
    unit.write_text(text.replace("/opt/efface/bin/efface", "/bin/true"))
    found = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Unknown" not in found.stderr, found.stderr
    assert "Failed to parse" not in found.stderr, found.stderr


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_finds_the_unit_little_exposed():
    unit = str(DEPLOY / "efface.service")
    command = ["systemd-analyze", "security", "--offline=yes", "--no-pager", "--threshold=30", unit]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout[-300:] + found.stderr
    assert "exposure level" in found.stdout


def test_images_are_pinned_services_restart_and_passwords_are_secrets():
    found = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    images = [service["image"] for service in found["services"].values() if "image" in service]
    for image in (dict(dockerfile())["FROM"], *images):
        assert re.search(r":\d+\.\d+(\.\d+)?-\w+", image), image
    assert all(service["restart"] != "no" for service in found["services"].values())
    assert "PASSWORD:" not in (DEPLOY / "compose.yaml").read_text("utf-8")
    assert set(found["secrets"]) == {"postgres_password"}


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("EFFACE_DOCKER"), reason="EFFACE_DOCKER is not set")
def test_the_image_builds_and_answers():
    build = ["docker", "build", "-f", "deploy/Dockerfile", "-t", "efface-test", "."]
    subprocess.run(build, cwd=ROOT, check=True)
    run = ["docker", "run", "--rm", "efface-test", "--version"]
    found = subprocess.run(run, capture_output=True, text=True, check=True)
    assert found.stdout.startswith("efface ")
