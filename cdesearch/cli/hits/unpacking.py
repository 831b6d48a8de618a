"""Unpack a compressed file, so that an editor can show it.

The copy stays until the next one is made, because some editors return before they have read the file.
"""

import shutil
from pathlib import Path

from cdesearch.builders import builder
from cdesearch.cli.hits.last_hits import state_folder
from cdesearch.errors import InputError
from cdesearch.store.server_address import is_private

FOLDER = "unpacked"


def unpacked_copy(file: Path) -> Path:
    """Return a read-only copy of the contents, in a folder that only the user can enter; raises InputError."""
    contents = builder("unpacked")(file)
    state = state_folder()
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_private(state):
            raise InputError(f"Other users can enter {state}.", "Deny them the access, or unpack the file yourself.")
        folder = state / FOLDER
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        copy = folder / file.stem
        copy.write_bytes(contents)
        copy.chmod(0o400)
    except OSError as error:
        raise InputError(f"{state} cannot be written ({error.strerror}).", "Unpack the file yourself.") from None
    return copy
