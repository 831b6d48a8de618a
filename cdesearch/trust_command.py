"""The `trust` command."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from cdesearch.errors import StorageError
from cdesearch.terminal import printable


def trust(
    index: Annotated[Path | None, typer.Argument(help="Index folder; default: the nearest one upward.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm without asking.")] = False,
) -> None:
    """Confirm what an index asks for. Shows its model and folders, and confirms them on this computer after asking."""
    from cdesearch.index import Index
    from cdesearch.trust import asked_by, confirm, trust_file

    opened = Index.open(index)
    asked = asked_by(opened)
    typer.echo(f"index   {printable(str(opened.folder))}")
    if asked.is_nothing:
        typer.echo("It asks for nothing but its own folder and the model that ships: there is nothing to confirm.")
        return
    if asked.model is not None:
        typer.echo(f"model   {printable(asked.model)}")
    for folder in asked.folders:
        typer.echo(f"reads   {printable(folder)}")
    if not yes and not (sys.stdin.isatty() and typer.confirm("Do you trust this index with that?")):
        typer.echo("Nothing is confirmed. `cdesearch trust --yes` confirms without asking.")
        return
    try:
        confirm(opened.folder, asked)
        typer.echo(f"Confirmed in {trust_file()}. To take it back, remove the entry there.")
    except OSError as error:
        raise StorageError(
            f"What you confirm cannot be kept ({error}).",
            "Name the model with --model, and the folders, in each command.",
        ) from None
