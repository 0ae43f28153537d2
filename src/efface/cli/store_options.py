"""What the commands of ``efface store`` share: their arguments, opening a store, printing."""

from __future__ import annotations

import json as json_text
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from efface.service import Client
    from efface.store import Store

TOKEN = "EFFACE_TOKEN"  # the variable of the environment that has the token of a service

_CODES = (
    "\n\n[dim]Exit code 0: done. 1: an audit failed. 2: nothing was done, the error says why.[/dim]"
)


def example(*lines: str) -> str:
    """The end of a help page: an example, and the exit codes."""
    return "[bold]Example[/bold]\n\n" + "\n\n".join(f"  {line}" for line in lines) + _CODES


Folder = Annotated[
    Path,
    typer.Argument(help="Folder of the store, or the address of its service.", metavar="STORE"),
]
Name = Annotated[str, typer.Argument(help="Name of the model.", metavar="MODEL")]
_master = partial(typer.Option, rich_help_panel="Master key")
KeyFile = Annotated[
    Path | None,
    _master("--master-key", help="File of the master key that wraps the keys.", metavar="FILE"),
]
KeyCommand = Annotated[
    str | None, _master("--master-key-command", help="Command that prints it.", metavar="COMMAND")
]
Key = Annotated[
    str | None, typer.Option(help="Key of each row, for a keyed model; texts.", metavar="COL")
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
OneHot = Annotated[
    list[str] | None,
    typer.Option(
        help="Text column as 0/1 columns, with its levels; can be repeated.", metavar="COL=A,B"
    ),
]


def read_key(file: Path | None, command: str | None) -> bytes | None:
    """The master key: from a file, a command, or the credential that systemd passes."""
    from efface.errors import InvalidValue
    from efface.store.master_key import from_command, from_credential, from_file

    if file is not None and command is not None:
        raise InvalidValue("'--master-key' and '--master-key-command': give only one of them.")
    if file is not None:
        return from_file(file)
    return from_credential() if command is None else from_command(command)


def service_address(folder: Path) -> str | None:
    """The address of a service that is given in the place of a folder.

    >>> service_address(Path("https://efface.example")), service_address(Path("orders"))
    ('https://efface.example', None)
    """
    scheme, *rest = folder.parts
    return f"{scheme}//{'/'.join(rest)}" if scheme in ("http:", "https:") and rest else None


def _open_service(address: str) -> Client:
    from efface.errors import InvalidValue
    from efface.service import Client

    token = os.environ.get(TOKEN, "")
    if not token:
        text = f"'{TOKEN}' is not set: expected a token of the service"
        raise InvalidValue(f"{text}; set it in the environment, which other users cannot see.")
    return Client(address, token)


def open_store(folder: Path, file: Path | None, command: str | None) -> Store | Client:
    """The store in a folder, which must be one, or behind a service."""
    address = service_address(folder)
    return open_folder(folder, file, command) if address is None else _open_service(address)


def open_folder(folder: Path, file: Path | None, command: str | None) -> Store:
    """The store in a folder, which must be one."""
    from efface.errors import InvalidValue
    from efface.store import Store
    from efface.store.layout import is_store

    if not is_store(folder):
        raise InvalidValue(f"'{folder}' is no store: make one with 'efface store init {folder}'.")
    return Store(folder, master_key=read_key(file, command))


def show(result: dict[str, Any], json: bool, text: str) -> None:
    """Print a result, as JSON or in words."""
    print(json_text.dumps(result, indent=2) if json else text)


def counted(counts: dict[str, int]) -> str:
    """Rows per model, in words."""
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none"
