"""The command `trust`: confirm the model and the folders that an index asks for, and its owner."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from cdesearch.cli.named_index import FolderArgument, IndexOption, named_index
from cdesearch.cli.usage import agrees
from cdesearch.errors import IndexUntrustedError, StorageError
from cdesearch.terminal import printable


def trust(
    folder: FolderArgument = None,
    index: IndexOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm without a question.")] = False,
) -> None:
    """Trust an index. Shows the model and folders that it asks for and its owner, and confirms them if you agree."""
    from cdesearch.encode.backends.endpoint import KEY
    from cdesearch.store.filesystem import user_name
    from cdesearch.store.finding import find_index
    from cdesearch.store.index import Index
    from cdesearch.store.trust import confirm, trust_file, unconfirmed

    def find(start: Path) -> Path:
        return find_index(start, check=lambda _: None)  # the owner is what this command asks about

    opened = Index.open(named_index(folder, index, find) or find(Path.cwd()))
    request = opened.trust_request
    typer.echo(f"index   {printable(str(opened.place))}")
    if request.is_empty:
        typer.echo("It needs only its own folder and the default model, so there is nothing to confirm.")
        return
    if request.model is not None:
        typer.echo(f"model   {printable(request.model)}")
    if request.server is not None:
        sent = f"texts of the indexed files, your queries{f' and the key in ${KEY}' if os.environ.get(KEY) else ''}"
        typer.echo(f"sends   {sent} to {printable(request.server)}")
    for source in request.folders:
        typer.echo(f"reads   {printable(source)}")
    if request.owner is not None:
        typer.echo(f"owner   {user_name(request.owner)}, who decides what is found in it; your commands only read it")
    if unconfirmed(opened.place, request).is_empty:
        typer.echo(f"This is already confirmed in {trust_file()}.")
        return
    if not yes and not (sys.stdin.isatty() and agrees("Do you trust this index with all this?")):
        raise IndexUntrustedError("Nothing is confirmed.", "`cdesearch trust --yes` confirms without a question.")
    try:
        confirm(opened.place, request)
        typer.echo(f"Confirmed in {trust_file()}. To undo it, remove the entry from that file.")
    except OSError as error:
        raise StorageError(
            f"The confirmation cannot be stored ({error}).",
            "Name the model with --model, and the folders, in each command.",
        ) from None
