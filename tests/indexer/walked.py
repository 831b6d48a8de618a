"""Write files into a folder, and see what the walk finds in it."""

from pathlib import Path

from cdesearch.store.manifest import Globs
from indexer.files.outcome import Ignored, Source
from indexer.files.walk import Selection, find_sources


def put(root, *names, text="x"):
    """Write a file of each name, and return the last one."""
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return file


def items(root, *paths, limit=10**7, include=(), exclude=()):
    selection = Selection(limit, Globs(tuple(include), tuple(exclude)))
    return list(find_sources([Path(path) for path in paths] or [root], root, selection))


def found(root, *paths, **options):
    """The paths of the files that are read."""
    return [item.path for item in items(root, *paths, **options) if isinstance(item, Source)]


def left_out(root, *paths, **options):
    """The rule or the reason of each file and folder that is not read, by its path."""
    return {
        item.path: item.rule if isinstance(item, Ignored) else item.reason
        for item in items(root, *paths, **options)
        if not isinstance(item, Source)
    }
