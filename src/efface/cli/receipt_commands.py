"""``efface receipt`` and ``efface receipts``: check what a store stated, without the store."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

EXAMPLE = """[bold]Example[/bold]

  efface receipt verify ann.json --public-key 9f8c...

[dim]Exit code 0: unaltered, and signed by the given key. 1: unaltered, but the signer is unknown:
no --public-key was given. 2: it does not verify, or does not name the owner.[/dim]"""
CHECK_EXAMPLE = """[bold]Example[/bold]

  efface receipts check orders

[dim]Exit code 0: the chain is whole. 2: it is not, the error says why.[/dim]"""

receipt = typer.Typer(help="Verify a receipt.", no_args_is_help=True, rich_markup_mode="rich")
receipts = typer.Typer(
    help="Check the receipts of a store.", no_args_is_help=True, rich_markup_mode="rich"
)


@receipt.callback()
def _one() -> None:
    """Verify a receipt."""


@receipts.callback()
def _all() -> None:
    """Check the receipts of a store."""


@receipt.command(epilog=EXAMPLE)
def verify(
    file: Annotated[Path, typer.Argument(help="File of the receipt.")],
    public_key: Annotated[
        str | None,
        typer.Option(help="Public key of the store as it was published: the key, or its file."),
    ] = None,
    changes: Annotated[
        Path | None,
        typer.Option(
            help="Published records of changes of the key, or a chain that has them.",
            metavar="FILE",
        ),
    ] = None,
    secret: Annotated[
        Path | None, typer.Option(help="File of the secret of the request.", metavar="FILE")
    ] = None,
    owner_stdin: Annotated[
        bool, typer.Option("--owner-stdin", help="Read the owner from standard input.")
    ] = False,
) -> None:
    """Verify a receipt offline: who signed it, that it is unaltered, and whom it names."""
    from efface.errors import BadReceipt, InvalidValue
    from efface.store.receipts import Receipt, linked_keys, read_receipts

    if owner_stdin is (secret is None):
        raise InvalidValue("'--secret' and '--owner-stdin' belong together: give both or none.")
    found = Receipt.parse(_text(file), str(file))
    known = None if public_key is None else _published(public_key)
    about = found.fields
    if known is not None and changes is not None:
        _text(changes)
        linked = linked_keys(known, read_receipts(changes, f"{changes}, line"))
        known = str(about["key"]) if about["key"] in linked else known
    found.verify(known)
    counts = ", ".join(f"{name} {count:,}" for name, count in about.get("rows", {}).items())
    print(f"receipt {found.number} of store {about['store']}, {about['time']}")
    if "next_key" in about:
        print(f"the signing key changes to {about['next_key']}")
    elif "removed" in about:
        print(f"model {about['removed']} removed, with {found.rows:,} rows")
    else:
        print(f"{found.rows:,} rows forgotten ({counts or 'none'})")
    if secret is not None:
        key, owner = _secret(secret), sys.stdin.readline().strip()
        number = int(owner) if owner.removeprefix("-").isdecimal() else owner
        if not (found.names(key, owner) or found.names(key, number)):
            raise BadReceipt("'receipt' does not name this owner under this secret.")
        print("it names this owner")
    if public_key is None:
        print(f"unaltered; signer unknown: expected --public-key (it names {about['key']})")
        raise typer.Exit(1)
    same = known == _published(public_key)
    print(
        f"unaltered, and signed by {'this key' if same else 'a key that was changed to this one'}"
    )


def _text(path: Path) -> str:
    """The text of a file that was named."""
    from efface.errors import InvalidValue

    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise InvalidValue(f"'{path}' cannot be read: {reason}; name another file.") from None


def _secret(path: Path) -> bytes:
    from efface.errors import InvalidValue

    try:
        return bytes.fromhex(_text(path).strip())
    except ValueError:
        text = f"'{path}' is no secret: expected 64 hexadecimal digits"
        raise InvalidValue(f"{text}; name the file that the person got.") from None


def _published(text: str) -> str:
    """A public key: 64 hexadecimal digits, or a file of them."""
    path = Path(text)
    return path.read_text("ascii").strip() if len(text) != 64 and path.is_file() else text


@receipts.command(epilog=CHECK_EXAMPLE)
def check(
    folder: Annotated[Path, typer.Argument(help="Folder of the store.", metavar="STORE")],
) -> None:
    """Check every signature and link of the chain of receipts; the store may be in use."""
    from efface.store.layout import RECEIPTS, About
    from efface.store.receipts import NO_PAYLOAD, read_receipts, verify_chain

    file = folder / RECEIPTS
    about, found = About.read(folder), read_receipts(file, f"{file}, line")
    count = verify_chain(found, about.signer)
    print(f"{count:,} receipts verify, head {found[-1].head if found else NO_PAYLOAD}")
