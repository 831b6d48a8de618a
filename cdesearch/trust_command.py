"""The `trust` command."""

from pathlib import Path
from typing import Annotated

import typer

from cdesearch.errors import StorageError
from cdesearch.terminal import printable


def trust(
    index: Annotated[Path | None, typer.Argument(help="Index folder; default: the nearest one upward.")] = None,
) -> None:
    """Show which model and folders an index asks for, and confirm them on this computer."""
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
    try:
        confirm(opened.folder, asked)
        typer.echo(f"Confirmed in {trust_file()}. To take it back, remove the entry there.")
    except OSError as error:
        raise StorageError(
            f"What you confirm cannot be kept ({error}).",
            "Name the model with --model, and the folders, in each command.",
        ) from None
