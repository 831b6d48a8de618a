"""The places of the indexes on disks that this user has made or used, in one file of the user's cache."""

import json
from contextlib import suppress
from pathlib import Path

import msgspec

from cdesearch.errors import CdesearchError
from cdesearch.store.copies import user_cache
from cdesearch.store.filesystem import foreign_owner
from cdesearch.store.folder import replace_file
from cdesearch.store.place import Place

FILE = "built.json"
MOST_PLACES = 200  # the latest ones


def remember(place: Place) -> None:
    """Remember the place of an index that is made or used, so that `clear --everything` removes it, even if it moved.

    Later builds may borrow its vectors. Nothing is stored of the index of another user, or of one in a bucket, or if
    the cache cannot be written.
    """
    with suppress(CdesearchError, OSError):
        known = known_places()
        if not isinstance(place, Path) or place in known or foreign_owner(place, as_caller=False) is not None:
            return
        folder = user_cache()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        places = [str(one) for one in (place, *known)]
        replace_file(folder / FILE, json.dumps(places[:MOST_PLACES], indent=2) + "\n")


def known_places() -> list[Path]:
    """The remembered places, the latest first."""
    with suppress(CdesearchError, OSError, ValueError, msgspec.MsgspecError):
        return [Path(text) for text in msgspec.json.decode((user_cache() / FILE).read_bytes(), type=list[str])]
    return []
