"""``efface store backup``, ``restore`` and ``rotate``: copies of a store, and its master key."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from efface.cli.store_options import (
    Folder,
    Json,
    KeyCommand,
    KeyFile,
    example,
    open_folder,
    read_key,
    show,
)

if TYPE_CHECKING:
    from efface.store import RestoreCounts


def backup(
    folder: Folder,
    target: Annotated[Path, typer.Argument(help="New folder of the copy.")],
    keys: Annotated[
        bool,
        typer.Option(
            "--keys",
            help="With keys: it can be read, also for rows forgotten later. Keep it for days.",
        ),
    ] = False,
    master_key: KeyFile = None,
    master_key_command: KeyCommand = None,
) -> None:
    """Write a copy of the rows, or with --keys of everything."""
    with open_folder(folder, master_key, master_key_command) as store:
        store.backup(target, keys=keys)
    held = "rows and keys: delete it within days" if keys else "rows without keys"
    print(f"{target}  {held}")


def restore(
    folder: Folder,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", help="Copy of the rows; by default those of the store.", metavar="COPY"
        ),
    ] = None,
    destroyed: Annotated[
        Path | None, typer.Option(help="Log of destroyed numbers, applied first.", metavar="FILE")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    master_key: KeyFile = None,
    master_key_command: KeyCommand = None,
    json: Json = False,
) -> None:
    """Bring rows and keys together that are not of one time; shows what is lost, then asks."""
    from efface.store import restore as bring_together

    answered = False

    def confirm(counts: RestoreCounts) -> bool:
        nonlocal answered
        print(_restored(counts), file=sys.stderr)
        answered = yes or typer.confirm("Go on?", err=True)
        return answered

    key = read_key(master_key, master_key_command)
    counts = bring_together(folder, source, destroyed=destroyed, master_key=key, confirm=confirm)
    if not answered:
        raise typer.Exit(2)
    show(counts._asdict(), json, f"{counts.kept:,} rows are there")


def _restored(counts: RestoreCounts) -> str:
    return "\n".join(
        [
            f"{counts.kept:>12,}  rows are kept",
            f"{counts.forgotten:>12,}  rows were forgotten since: they do not come back",
            f"{counts.unreadable:>12,}  rows cannot be read: they are lost, with their keys",
            f"{counts.without_row:>12,}  keys have no row: they are destroyed",
        ]
    )


def rotate(
    folder: Folder,
    new_master_key: Annotated[
        Path | None, typer.Option(help="File of the next master key.", metavar="FILE")
    ] = None,
    remove: Annotated[
        bool, typer.Option("--remove-master-key", help="Store keys without one from now on.")
    ] = False,
    master_key: KeyFile = None,
    master_key_command: KeyCommand = None,
) -> None:
    """Wrap the keys by another master key; without the old one older copies are unreadable."""
    from efface.errors import InvalidValue
    from efface.store.master_key import from_file

    if (new_master_key is None) is not remove:
        text = "'--new-master-key' or '--remove-master-key'"
        raise InvalidValue(f"{text}: expected one of them; make a key of 32 random bytes.")
    with open_folder(folder, master_key, master_key_command) as store:
        store.rotate(None if new_master_key is None else from_file(new_master_key))
        epoch = store.status()["epoch"]
    print(f"epoch {epoch} of the keys; destroy the old master key and its copies")


COMMANDS = (
    (backup, example("efface store backup orders /backup/orders-monday")),
    (restore, example("efface store restore orders --from /backup/orders-monday")),
    (
        rotate,
        example("efface store rotate orders --master-key old.key --new-master-key new.key"),
    ),
)
