"""The command line application, assembled from the modules of its commands."""

from __future__ import annotations

from typing import Annotated

import typer

import efface
from efface.cli import (
    access_tokens,
    receipt_commands,
    replay_file,
    reproduce,
    serve,
    store_commands,
    store_copies,
    store_people,
    theory_commands,
    tune,
)

app = typer.Typer(
    help="Linear regression that forgets exactly.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"efface {efface.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Linear regression that forgets exactly."""


app.command(epilog=replay_file.REPLAY_EXAMPLE)(replay_file.replay)
app.command(epilog=tune.EXAMPLE)(tune.tune)
app.command(epilog=replay_file.SAMPLE_EXAMPLE)(replay_file.sample)
app.command(epilog=reproduce.EXAMPLE)(reproduce.reproduce)
app.command(epilog=serve.EXAMPLE)(serve.serve)
app.add_typer(theory_commands.theory, name="theory")
app.add_typer(access_tokens.app, name="token")
app.add_typer(store_commands.store, name="store")
for _command, _example in store_people.COMMANDS + store_copies.COMMANDS:
    store_commands.store.command(epilog=_example)(_command)
app.add_typer(receipt_commands.receipt, name="receipt")
app.add_typer(receipt_commands.receipts, name="receipts")
