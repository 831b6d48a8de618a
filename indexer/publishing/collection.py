"""Remove the generations of an index in a bucket that nobody uses any more.

All times are those of the server's clock, by which a listing says when an object was written. A generation is replaced
when the checksums of the next one are written, which are the last of its files.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from cdesearch.errors import InputError
from cdesearch.store.bucket.objects import Bucket, Stored
from cdesearch.store.bucket.snapshot import object_name
from cdesearch.store.bucket_address import BucketAddress
from cdesearch.store.checksums import MANIFEST
from cdesearch.store.file_account import FILES
from cdesearch.store.folder import CHECKSUMS, GENERATIONS, is_generation_name
from cdesearch.store.index import CONTEXT
from cdesearch.store.lance_manifest import NAMES, TABLES
from cdesearch.store.vocabulary import VOCABULARY

# Readers look for a newer generation every few seconds, and a query takes seconds.
GRACE = timedelta(hours=1)
# An upload that was not published can no longer be, once a run that began later has published its own. It is removed
# when nothing was added to it for so long.
ABANDONED = timedelta(days=1)
_FILES = (CHECKSUMS, MANIFEST, FILES, CONTEXT, VOCABULARY)  # of a generation, beside its tables
_TABLES = tuple(f"{TABLES}/{name}/" for name in sorted(NAMES))


def check_place(address: BucketAddress) -> None:
    """Raise InputError for the address of an index that would be inside a generation of another one."""
    if any(parent == GENERATIONS and is_generation_name(name) for parent, name in pairwise(address.prefix.split("/"))):
        raise InputError(
            f"{address} is the place of a generation of another index, so no index can be there.",
            "Choose another prefix.",
        )


def generations_in(objects: dict[str, Stored]) -> dict[str, list[str]]:
    """The names of the objects of each generation, by its name. One that also holds other objects is left out.

    An upload that was interrupted has no checksums, so the names tell what a run has written.
    """
    found: dict[str, list[str]] = {}
    foreign = set()
    for name in objects:
        generation, _, file = name.removeprefix(f"{GENERATIONS}/").partition("/")
        if is_generation_name(generation):
            found.setdefault(generation, []).append(name)
            if not (file in _FILES or file.startswith(_TABLES)):
                foreign.add(generation)
    return {generation: names for generation, names in found.items() if generation not in foreign}


def collect(bucket: Bucket, live: str, before: Sequence[str], objects: dict[str, Stored]) -> None:
    """Remove what readers no longer need after `live` was published.

    `before` are the generations that were live before it, newest first, and `objects` those of all generations. Raises
    BucketError.
    """
    found = generations_in(objects)
    now = objects[object_name(live, CHECKSUMS)].modified
    unused = [
        generation
        for generation, replaced in zip(before, [live, *before], strict=False)
        if generation in found and now - _finished(replaced, objects, now) > GRACE
    ]
    unused += [
        generation
        for generation in found.keys() - {live, *before}
        if now - max(objects[name].modified for name in found[generation]) > ABANDONED
    ]
    for generation in unused:
        # The checksums go first, so that a reader does not begin with a generation that is being removed.
        names = sorted(found[generation], key=lambda name: not name.endswith(f"/{CHECKSUMS}"))
        bucket.remove(names[:1])
        bucket.remove(names[1:])


def _finished(generation: str, objects: dict[str, Stored], otherwise: datetime) -> datetime:
    stored = objects.get(object_name(generation, CHECKSUMS))
    return otherwise if stored is None else stored.modified
