"""How a command is told which index to open: `--index`, and where it takes no other argument also the argument."""

from pathlib import Path
from typing import Annotated

import typer

from cdesearch.errors import InputError

_HELP = "Index folder, or the folder that contains it; default: the nearest index upward."
FolderArgument = Annotated[Path | None, typer.Argument(metavar="[FOLDER]", help=f"{_HELP} The same as --index.")]
IndexOption = Annotated[Path | None, typer.Option("--index", help=_HELP)]


def named_index(argument: Path | None, option: Path | None) -> Path | None:
    """The folder that the argument or the option names; raises InputError where they name two."""
    if argument is not None and option is not None and argument != option:
        raise InputError(f"Both {argument} and --index {option} are given.", "Name one index.")
    return option if argument is None else argument
