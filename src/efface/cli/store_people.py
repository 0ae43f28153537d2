"""``efface store forget``, ``held`` and ``remove``: the answers to erasure and access requests.

Owners and ids of rows are read from a prompt or from standard input, never from the command line,
which other users of a machine can see.
"""

from __future__ import annotations

import json as json_text
import os
import secrets
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from efface.cli.store_options import (
    Folder,
    Json,
    KeyCommand,
    KeyFile,
    Name,
    counted,
    example,
    open_store,
    show,
)


def _people(from_stdin: bool, what: str = "Owner") -> list[str]:
    """Names from standard input, one per line, or one from a prompt."""
    from efface.errors import InvalidValue

    found = [line.strip() for line in sys.stdin] if from_stdin else [typer.prompt(what, err=True)]
    names = [name for name in found if name]
    if not names:
        raise InvalidValue(f"'{what.lower()}' is empty: expected one per line.")
    return names


Stdin = Annotated[
    bool, typer.Option("--owner-stdin", help="Read owners from standard input, one per line.")
]


def forget(
    folder: Folder,
    owner_stdin: Stdin = False,
    ids_stdin: Annotated[
        bool, typer.Option("--ids-stdin", help="Read ids of rows from standard input instead.")
    ] = False,
    model: Annotated[str | None, typer.Option(help="Only in this model.", metavar="MODEL")] = None,
    missing: Annotated[
        str, typer.Option(help="'ok' gives a receipt of 0 rows for who is unknown.")
    ] = "raise",
    forever: Annotated[
        bool, typer.Option("--forever", help="Refuse all later rows of these owners.")
    ] = False,
    receipt: Annotated[
        Path | None, typer.Option(help="File for the receipt.", metavar="FILE")
    ] = None,
    secret: Annotated[
        Path | None,
        typer.Option(help="File of the secret of the request; made if it is not there."),
    ] = None,
    master_key: KeyFile = None,
    master_key_command: KeyCommand = None,
    json: Json = False,
) -> None:
    """Forget people, or rows by id, in every model; the owner is asked for at a prompt."""
    names = _people(owner_stdin or ids_stdin, "Id" if ids_stdin else "Owner")
    drawn = _secret(secret)
    with open_store(folder, master_key, master_key_command) as store:
        if ids_stdin:
            wanted: dict[str, Any] = {"ids": store.resolve(names, owners=False)}
        else:
            wanted = {"owners": store.resolve(names)}
        options: dict[str, Any] = {"model": model, "missing": missing, "forever": forever}
        made = store.forget(**wanted, **options, secret=drawn)
    if receipt is not None:
        receipt.write_text(made.json + "\n", encoding="utf-8")
    about = {"rows": made.fields["rows"], "number": made.number, "head": made.head}
    text = f"{made.rows:,} rows forgotten ({counted(made.fields['rows'])})\n"
    text += f"receipt {made.number}, head of the chain {made.head}"
    if secret is None:
        text += f"\nsecret of the request, for the person alone: {drawn.hex()}"
    show({**about, "secret": drawn.hex(), "receipt": made.json}, json, text)


def _secret(path: Path | None) -> bytes:
    """The secret of a request: from a file, or drawn and written to it."""
    if path is not None and path.exists():
        return bytes.fromhex(path.read_text("ascii").strip())
    drawn = secrets.token_bytes(32)
    if path is not None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(drawn.hex() + "\n")
    return drawn


def held(
    folder: Folder,
    owner_stdin: Stdin = False,
    master_key: KeyFile = None,
    master_key_command: KeyCommand = None,
) -> None:
    """Print all that the store holds about a person, as JSON; asks for the owner."""
    names = _people(owner_stdin)
    with open_store(folder, master_key, master_key_command) as store:
        found: dict[str, list[dict[str, Any]]] = {}
        for owner in store.resolve(names):
            for model, rows in store.held(owner).items():
                columns = rows.to_columns()
                found.setdefault(model, []).extend(
                    dict(zip(columns, values, strict=True))
                    for values in zip(*columns.values(), strict=True)
                )
    print(json_text.dumps(found, indent=2, ensure_ascii=False))


def remove(
    folder: Folder,
    name: Name,
    receipt: Annotated[
        Path | None, typer.Option(help="File for the receipt.", metavar="FILE")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    master_key: KeyFile = None,
    master_key_command: KeyCommand = None,
    json: Json = False,
) -> None:
    """Remove a model with all its rows: their keys are destroyed; asks first."""
    from efface.errors import UnknownModel

    with open_store(folder, master_key, master_key_command) as store:
        known = store.models()
        if name not in known:
            text = f"'MODEL' is {name!r}: expected one of {', '.join(known) or 'none'}"
            raise UnknownModel(f"{text}; see 'efface store status'.")
        question = f"Remove {name} and destroy the keys of its {known[name]['rows']:,} rows?"
        if not (yes or typer.confirm(question, err=True)):
            raise typer.Exit(2)
        made = store.remove(name)
    if receipt is not None:
        receipt.write_text(made.json + "\n", encoding="utf-8")
    about = {"rows": made.rows, "number": made.number, "head": made.head, "receipt": made.json}
    text = f"{name} is removed, with {made.rows:,} rows\n"
    show(about, json, f"{text}receipt {made.number}, head of the chain {made.head}")


COMMANDS = (
    (forget, example("efface store forget orders --receipt ann.json --secret ann.secret")),
    (held, example("efface store held orders")),
    (remove, example("efface store remove orders demand --receipt demand.json")),
)
