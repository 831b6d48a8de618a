"""Find the index further up that covers a folder as well, although a nearer one answers there."""

import os
from contextlib import suppress
from pathlib import Path

from cdesearch.errors import CdesearchError
from cdesearch.store.index import Index
from cdesearch.store.layout import CURRENT, FOLDER
from cdesearch.store.trust import check_found


def outer_index(folder: Path, nearest: Path) -> Index | None:
    """The first index above the one in the index folder `nearest` whose sources contain `folder`; None if none does.

    An index that cannot be read, or that this user has not confirmed, is passed over. No table is opened.
    """
    for above in nearest.parent.parents:
        if os.path.lexists(above / FOLDER / CURRENT):
            with suppress(CdesearchError, OSError):
                check_found(above / FOLDER)
                index = Index(above / FOLDER)
                if any(folder.is_relative_to(source) for source in index.sources):
                    return index
    return None
