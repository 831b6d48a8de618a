"""The command `clear`: remove an index."""

from typing import Annotated

import typer

from cdesearch.cli.named_index import FolderArgument, IndexOption, named_index
from cdesearch.errors import InputError

SHOWN = 3  # files that stay


def clear(
    folder: FolderArgument = None,
    index: IndexOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove an index. The indexed files stay as they are."""
    from cdesearch.store.finding import opened_place
    from cdesearch.store.folder import check_marker, is_older
    from cdesearch.store.place import on_disk
    from cdesearch.terminal import printable
    from indexer.generations.lock import remove_index

    remedy = "Remove the objects below this prefix with a tool of its provider."
    found = on_disk(opened_place(named_index(folder, index)), "clear", remedy)
    if not is_older(found):
        check_marker(found)
    shown = printable(str(found))
    if not yes:
        _confirm(shown)
    left = remove_index(found)
    if left:
        names = ", ".join(printable(str(path.relative_to(found))) for path in left[:SHOWN])
        more = f", and {len(left) - SHOWN:,} more" if len(left) > SHOWN else ""
        typer.echo(
            f"Removed the index. {shown} stays, because it contains files that the index has not written:"
            f" {names}{more}. Move or delete the folder before you make a new index there."
        )
    else:
        typer.echo(f"Removed the index {shown}.")


def _confirm(shown: str) -> None:
    """Ask whether the index is to be removed; raises InputError if not, or if nobody can be asked."""
    import sys

    if not sys.stdin.isatty():
        raise InputError(f"{shown} was not removed, because only a terminal can be asked.", "Add --yes.")
    if not typer.confirm(f"Remove the index {shown}? The indexed files stay."):
        raise InputError(f"{shown} was not removed.", "Answer y, or add --yes.")
