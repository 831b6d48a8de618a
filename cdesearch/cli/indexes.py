"""The command `indexes`: the user's list of indexes, which are searched together where no index is nearer."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cdesearch.errors import CdesearchError, InputError, StorageError
from cdesearch.store.layout import FOLDER
from cdesearch.store.place import Place, absolute, parse_place
from cdesearch.terminal import counted, print_text, printable


def indexes(
    action: Annotated[Literal["list", "add", "remove"], typer.Argument(help="What to do.")] = "list",
    places: Annotated[
        list[Any] | None,  # of Place, because typer knows no unions
        typer.Argument(metavar="PATH", parser=parse_place, help="Indexed folders, index folders, or addresses."),
    ] = None,
) -> None:
    """List, add or remove the indexes that a query searches where no index is nearer. No index is changed."""
    from cdesearch.store.index import Index
    from cdesearch.store.used import change_used, used_places

    if (action == "list") is bool(places):
        raise InputError(
            f"`indexes {action}` takes {'no path' if places else 'a path'}.", "See `cdesearch indexes --help`."
        )
    if action == "list":
        found = used_places()
        for place in found:
            print_text(printable(f"{place}  ({_described(place)})"))
        if not found:
            print_text("Your list has no index. `cdesearch indexes add PATH` adds one.")
        return
    try:
        if action == "add":
            added = [Index.open(place).place for place in places or ()]
            change_used(lambda used: [*dict.fromkeys([*used, *added])])
        else:
            change_used(lambda used: _without(used, places or []))
    except OSError as error:
        raise StorageError(f"Your list cannot be written ({error}).", "Name indexes with --index.") from None


def _without(used: list[Place], removed: list[Place]) -> list[Place]:
    """The list without the indexes that are named, which may no longer exist; raises InputError for another one."""
    for named in removed:
        place = absolute(named)
        forms = (place, place / FOLDER) if isinstance(place, Path) else (place,)
        if not any(one in used for one in forms):
            raise InputError(f"{printable(str(place))} is not in your list.", "`cdesearch indexes` shows it.")
        used = [one for one in used if one not in forms]
    return used


def _described(place: Place) -> str:
    from cdesearch.store.index import Index

    try:
        return counted(Index(place).manifest.n_documents, "document")
    except CdesearchError as error:
        return error.cause
