"""The command `open`: open the file of a hit of the last query."""

from typing import Annotated

import typer


def open_hit(
    number: Annotated[int, typer.Argument(metavar="N", min=1, help="The number of the hit.")] = 1,
) -> None:
    """Open a hit of the last query on a terminal in your editor.

    The editor is $VISUAL or $EDITOR. PDF, HTML and office files are opened with the program of the system.
    """
    from cdesearch.cli.hits.last_hits import remembered
    from cdesearch.cli.hits.opening import open_place

    open_place(remembered(number))
