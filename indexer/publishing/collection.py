"""Remove the generations of an index in a bucket that nobody uses any more.

All times are those of the server's clock, by which a listing says when an object was written. A generation is replaced
when the checksums of the next one are written, which are the last of its files.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from cdesearch.store.bucket.objects import Bucket, Stored
from cdesearch.store.bucket.snapshot import object_name
from cdesearch.store.folder import CHECKSUMS, is_generation_name

# Readers look for a newer generation every few seconds, and a query takes seconds.
GRACE = timedelta(hours=1)
# An upload that was not published can no longer be, once a run that began later has published its own. It is removed
# when nothing was added to it for so long.
ABANDONED = timedelta(days=1)


def generations_in(objects: dict[str, Stored]) -> dict[str, list[str]]:
    """The names of the objects of each generation, by its name."""
    found: dict[str, list[str]] = {}
    for name in objects:
        generation = name.split("/")[1] if name.count("/") > 1 else ""
        if is_generation_name(generation):
            found.setdefault(generation, []).append(name)
    return found


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
