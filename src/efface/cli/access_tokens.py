"""``efface token``: who may use a service, and for what."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Tokens of a service: who may do what.")
Folder = Annotated[Path, typer.Argument(help="Folder of the store.", show_default=False)]


@app.command()
def create(
    store: Folder,
    role: Annotated[
        list[str],
        typer.Option(
            help="learn, predict, read (models, receipts, audits, metrics), held (access "
            "requests), forget or admin (create models); can be repeated.",
            show_default=False,
        ),
    ],
) -> None:
    """Make a token and print it; only its digest is kept."""
    from efface.service.tokens import TokenFile

    token = TokenFile(store).create(role)
    typer.echo(f"Keep this token of the role {', '.join(role)}; it is not shown again.", err=True)
    print(token)


@app.command(name="list")
def show(store: Folder) -> None:
    """List the tokens: id, roles, and when they were made."""
    from efface.service.tokens import TokenFile

    for token in TokenFile(store).all():
        print(f"{token.id}  {token.created}  {', '.join(token.roles)}")


@app.command()
def revoke(
    store: Folder,
    id: Annotated[str, typer.Argument(help="Id of the token: its second part.")],
) -> None:
    """Revoke a token: a running service refuses it from the next request on."""
    from efface.service.tokens import TokenFile

    TokenFile(store).revoke(id)
    print(f"{id} is revoked")
