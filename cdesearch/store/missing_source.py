"""What messages say about a source of an index that does not exist now."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from cdesearch.store.copies import address_of_copies
from cdesearch.store.place import Place


def removal_command(source: Path, sources: Sequence[Path], place: Place) -> str:
    """The command by which the index at `place` loses one of its `sources`; its only one can only be replaced."""
    index = f"--index {shlex.quote(str(place))}"
    if len(sources) > 1:
        return f"`cdesearch sources remove {shlex.quote(str(source))} {index}`"
    return f"`cdesearch index --rebuild PATH {index}` (with --model if it had another than the default)"


def still_answering(source: Path, sources: Sequence[Path], place: Place) -> str:
    """The line about one of the `sources` of the index at `place` that does not exist or is not mounted."""
    if (address := address_of_copies(source)) is not None:
        update = f"`cdesearch index --index {shlex.quote(str(place))}`"
        return f"{address} was not yet downloaded to this computer. {update} does that, and updates its documents."
    state = "is not mounted" if os.path.lexists(source) else "no longer exists"
    command = removal_command(source, sources, place)
    return f"{source} {state}. Its documents stay in the index until you run {command}."
