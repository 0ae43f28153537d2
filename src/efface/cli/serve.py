"""``efface serve``: a store over HTTP, with its dashboard."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from efface.cli.store_options import KeyCommand, KeyFile, read_key

if TYPE_CHECKING:
    from efface.service.server import Listen

EXAMPLE = """[bold]Example[/bold]: see it with data that arrives live

  efface serve --demo

[dim]Then with a store of your own:

  efface token create orders --role read --role forget

  efface serve orders

On a second host, to go on if the first is gone:

  efface serve orders --standby /srv/orders-keys --rows postgresql://second/orders[/dim]"""


def serve(
    store: Annotated[
        Path | None,
        typer.Argument(help="Folder of the store; a new one is made.", show_default=False),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 8000,
    tls_cert: Annotated[
        Path | None, typer.Option(help="Certificate, to serve HTTPS.", metavar="FILE")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(help="Private key of the certificate.", metavar="FILE")
    ] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy encrypts: other hosts may connect.")
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Host name to answer for; can be repeated.", metavar="NAME"),
    ] = None,
    backups: Annotated[
        Path | None, typer.Option(help="Folder below which POST /backups writes.", metavar="DIR")
    ] = None,
    master_key: KeyFile = None,
    master_key_command: KeyCommand = None,
    model_memory: Annotated[
        float, typer.Option(help="Memory that one model may need, in GB.", min=0.001)
    ] = 1.0,
    standby: Annotated[
        Path | None,
        typer.Option(
            help="Wait for the owner of this mirror to be gone, then take over and serve.",
            metavar="DIR",
            rich_help_panel="Standby",
        ),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(
            help="PostgreSQL address of the rows, for --standby.",
            metavar="ADDRESS",
            rich_help_panel="Standby",
        ),
    ] = None,
    standby_after: Annotated[
        float,
        typer.Option(
            help="Seconds for which the owner must be gone.", min=0.0, rich_help_panel="Standby"
        ),
    ] = 5.0,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve a new store with bicycle hires arriving live.")
    ] = False,
) -> None:
    """Serve a store over HTTP: learn, predict, forget a person, and see it on a page."""
    from efface.errors import invalid
    from efface.service.server import Listen

    hosts, most = tuple(allow_host or ()), int(model_memory * 1e9)
    listen = Listen(host, port, tls_cert, tls_key, behind_proxy, hosts, backups, most)
    if demo:
        _serve_demo(listen)
    elif store is None:
        raise invalid("STORE", None, "the folder of a store", "name it, or pass --demo")
    else:
        if standby is not None:
            _wait(store, standby, rows, standby_after, master_key, master_key_command)
        _serve_store(store, listen, read_key(master_key, master_key_command))


def _wait(
    path: Path, mirror: Path, rows: str | None, after: float, file: Path | None, command: str | None
) -> None:
    """Take a store over once its owner is gone; a store that was taken over before is there."""
    from efface.errors import invalid
    from efface.service.service_manager import notify
    from efface.store.layout import is_store
    from efface.store.takeover import take_over, wait_for_owner

    if is_store(path):
        return
    if rows is None:
        raise invalid("--rows", None, "the PostgreSQL address of the rows", "pass it too")

    def waiting() -> None:  # it is not ready, and has another minute to become that
        notify("EXTEND_TIMEOUT_USEC=60000000\nSTATUS=waits as a standby")

    print(f"efface waits for the owner of {mirror} to be gone", flush=True)
    key = read_key(file, command)
    wait_for_owner(mirror, rows, after=after, master_key=key, waiting=waiting)
    take_over(path, mirror, rows, master_key=read_key(file, command))
    print(f"efface took over {mirror}", flush=True)


def _serve_store(path: Path, listen: Listen, master_key: bytes | None) -> None:
    from efface.service.server import serve
    from efface.store import Store

    with Store(path, master_key=master_key) as opened:
        serve(opened, listen, lambda url: print(f"efface serves {path} at {url}", flush=True))
    print("efface stopped: all that was accepted is done", flush=True)


def _serve_demo(listen: Listen) -> None:
    from importlib.resources import as_file, files

    from efface.service.demonstration import MODEL, PEOPLE, prepare, run_with
    from efface.service.server import serve
    from efface.service.tokens import ROLES, TokenFile

    data = files("efface.files").joinpath("sample", "bikeshare.csv")
    with tempfile.TemporaryDirectory(prefix="efface-") as folder, as_file(data) as rows:
        path = Path(folder) / "demo"
        with prepare(path) as opened:
            token = TokenFile(path).create(ROLES)

            def ready(url: str) -> None:
                print(f"{MODEL.capitalize()} arrive live at {url}")
                print(f"Sign in with this token: {token}")
                print(f"Then look up a person, such as {PEOPLE[0]}, and forget them.")
                print("Ctrl+C ends it and removes the store.", flush=True)

            serve(opened, listen, ready, lambda app: run_with(app, rows))
