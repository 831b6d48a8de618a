"""Which index a command opens, and with which model: the options and the argument that name them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from cdesearch.errors import IndexNotFoundError, InputError
from cdesearch.models.endpoint_model import parse_model
from cdesearch.search.options import FLAGS, VALUED
from cdesearch.store.finding import chosen_place, find_index
from cdesearch.store.guard import check_enterable
from cdesearch.store.layout import CURRENT, GENERATIONS, MARKER
from cdesearch.store.place import BucketAddress, Place, on_disk, parse_place

FolderArgument = Annotated[
    Any,  # a Place, because typer knows no unions
    # Typer's own check that a path can be read names no remedy. Opening the index does.
    typer.Argument(
        metavar="FOLDER",
        parser=parse_place,
        help="A folder, or the address of an index. The nearest index in the folder or above it is opened.",
    ),
]
IndexesArgument = Annotated[
    list[Any] | None,
    typer.Argument(
        metavar="INDEX", parser=parse_place, help="Index folders or addresses. Default: the nearest index upward."
    ),
]
IndexOption = Annotated[Any, typer.Option("--index", metavar="<path>", parser=parse_place, help=VALUED["--index"].help)]

UpdateOption = Annotated[bool, typer.Option("--update/--no-update", help=FLAGS["--update"].help)]

# The type is Any because typer knows no unions; `parse_model` returns a Path or an EndpointModel.
ModelOption = Annotated[
    Any, typer.Option("--model", parser=parse_model, metavar="MODEL", help=VALUED["--model"].help, show_default=False)
]


def check_one_index(app: typer.Typer, arguments: Sequence[str]) -> None:
    """Raise InputError if `--index` is repeated for a command that takes one index.

    Typer would silently use the last one. `arguments` begin with the name of the command.
    """
    typed = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if sum(argument.partition("=")[0] == "--index" for argument in typed) < 2:
        return
    group: Any = typer.main.get_command(app)
    command = group.commands.get(arguments[0])
    option = next((option for option in command.params if "--index" in option.opts), None) if command else None
    if option is not None and not option.multiple:
        raise InputError(
            f"`cdesearch {arguments[0]}` takes one index, and --index is given more than once.",
            "Name one. `cdesearch query` searches several indexes as one.",
        )


def named_index(
    argument: Place | None, option: Place | None, find: Callable[[Path], Path] = find_index
) -> Place | None:
    """What the option names, or the nearest index upward from the argument, which a query in this folder would use.

    The argument is returned unchanged if it contains an index, does not exist, or has no index in any folder above it.
    Raises InputError if both name different folders, and IndexStateError if one cannot be entered.
    """
    if argument is not None and option is not None and argument != option:
        raise InputError(f"Both {argument} and --index {option} are given.", "Name one index.")
    if argument is None or isinstance(argument, BucketAddress):
        return argument or option
    check_enterable(argument)
    chosen = on_disk(chosen_place(argument.parent if argument.is_file() else argument), "index")
    if not argument.exists() or any((chosen / name).exists() for name in (MARKER, CURRENT, GENERATIONS)):
        return argument
    try:
        return find(argument)
    except IndexNotFoundError:
        return argument
