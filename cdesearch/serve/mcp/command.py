"""The command `mcp`."""

from pathlib import Path
from typing import Annotated

import typer

from cdesearch.errors import InputError


def mcp(
    indexes: Annotated[list[Path] | None, typer.Argument(metavar="[INDEX]...", help="Folders of indexes.")] = None,
) -> None:
    """Answer agents over the Model Context Protocol."""
    del indexes
    raise InputError("The command mcp is not part of this version.", "Use `cdesearch query`.")
