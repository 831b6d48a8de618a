"""The command `clear`: remove an index, or all that this user's commands have stored outside the indexed folders."""

import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from cdesearch.cli.named_index import FolderArgument, IndexOption, named_index
from cdesearch.errors import InputError, StorageError

SHOWN = 3  # files that stay


def clear(
    folder: FolderArgument = None,
    index: IndexOption = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--everything",
            help="Remove the indexes that you have made, used or listed, your confirmations, caches and logs, and what"
            " `cdesearch install-agent` has written.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove an index. The indexed files stay as they are."""
    if everything:
        if folder is not None or index is not None:
            raise InputError("--everything names no index.", "Leave the index or --everything out.")
        _forget(yes=yes)
        return
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
    _ask(f"Remove the index {shown}? The indexed files stay.", f"{shown} was not removed", yes=yes)
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


def _ask(question: str, refused: str, *, yes: bool) -> None:
    """Raise InputError, whose cause is `refused`, unless the user agrees to the removal."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError(f"{refused}, because only a terminal can be asked.", "Add --yes.")
    if not typer.confirm(question):
        raise InputError(f"{refused}.", "Answer y, or add --yes.")


def _forget(*, yes: bool) -> None:
    """Remove the indexes that the user has made, used or listed, and then all that other folders of the user hold.

    An index that does not exist or belongs to another user is only forgotten. Raises CdesearchError.
    """
    from cdesearch.cli.agents.command import forget_agents
    from cdesearch.cli.hits.opening import state_folder
    from cdesearch.errors import IndexNotFoundError, IndexUntrustedError
    from cdesearch.store.copies import user_cache
    from cdesearch.store.known import known_places
    from cdesearch.store.server_address import is_private, runtime_folder
    from cdesearch.store.trust import trust_file
    from cdesearch.store.used import list_file, used_places
    from cdesearch.terminal import printable
    from indexer.generations.lock import remove_index

    listed = (place for place in used_places() if isinstance(place, Path))
    places = [place for place in dict.fromkeys([*listed, *known_places()]) if place.is_dir()]
    cache, state, run = user_cache(), state_folder(), runtime_folder()
    kept = f"your list of indexes, your confirmations, the entries of agents, {cache} and {state}"
    what = f"{len(places):,} {'index' if len(places) == 1 else 'indexes'}, {kept}"
    shown = "".join(f"\n  {printable(str(place))}" for place in places)
    question = f"Remove {printable(what)}? The indexed files and your settings stay.{shown}\n"
    _ask(question, "Nothing was removed", yes=yes)
    forget_agents()
    for place in places:
        with suppress(IndexNotFoundError, IndexUntrustedError):
            remove_index(place)
    try:
        for folder in (cache, state):
            if folder.is_dir() and not folder.is_symlink():
                shutil.rmtree(folder)
        for log in run.glob("*.log") if is_private(run) else ():
            log.unlink(missing_ok=True)
        for file in (trust_file(), list_file()):
            for one in (file, file.with_suffix(".lock")):
                one.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"{error.filename} cannot be removed ({error.strerror}).", "Remove it by hand.") from None
    typer.echo(f"Removed {printable(what)}.")
