"""The names of the files of an index, and the commands that messages advise for it."""

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from cdesearch.store.copies import address_of_copies
from cdesearch.store.place import Place

FOLDER = ".cdesearch"
CURRENT = "CURRENT"  # the file that names the live generation
GENERATIONS = "generations"
CHECKSUMS = "checksums.json"  # of a generation; written last
PLAN = "plan.json"  # of a build; it is removed after the checksums have been written
MARKER = "INDEX"  # written first; a folder without it is never written to
FORMAT = 18
MARK = f"cdesearch index\nformat {FORMAT}\n"
# Every file that cdesearch writes beside the generations
KNOWN_FILES = (MARKER, ".gitignore", "lock", "lock.holder", CURRENT, f"{CURRENT}.new")

_NAME = re.compile(r"[0-9a-f]{12}")


def is_generation_name(name: object) -> bool:
    """Whether this is a name of the form that generations have."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def index_of(file: Path) -> Path:
    """The index folder that contains `file`, which is beside the generations or in one of them."""
    generations = (one for one in file.parents if is_generation_name(one.name) and one.parent.name == GENERATIONS)
    return next((one.parent.parent for one in generations), file.parent)


def rebuild_command(place: Place, **changed: str | None) -> str:
    """The command that rebuilds the index in `place` with its own settings, except for those that are `changed`.

    `model="default"` stands for `--model default`, and `plain=None` for `--plain`. The command reads the settings of
    the index. If these are lost, see `lost_settings_remedy`.
    """
    options = ((f"--{name.replace('_', '-')}", value) for name, value in changed.items())
    named = "".join(f" {option}" if value is None else f" {option} {shlex.quote(value)}" for option, value in options)
    return f"`cdesearch index --rebuild{named} --index {shlex.quote(str(place))}`"


def rebuild_remedy(place: Place) -> str:
    """The remedy for a damaged index in `place`, whose settings can be read."""
    return f"Run {rebuild_command(place)}."


def lost_settings_remedy(place: Place) -> str:
    """The remedy for an index in `place` whose settings cannot be read."""
    command = f"`cdesearch index --rebuild PATH --index {shlex.quote(str(place))}`"
    return f"Run {command}, with PATH the folder that is indexed, and with --model if it had another than the default."


def repair_command(place: Place) -> str:
    """The command that mends the index at `place`."""
    return f"cdesearch doctor --repair --index {shlex.quote(str(place))}"


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
