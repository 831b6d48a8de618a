"""How many files of the best candidates of a query are in each folder, of each type and year, and have each tag."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from cdesearch.search.field_filter import DATE
from cdesearch.search.file_filter import SUFFIX
from cdesearch.search.text_time import stated_day
from cdesearch.store.schema import field_of

COUNTED = 100  # candidates
TAGS = ("tags", "tag")  # the fields of which each value is a tag
FOLDER_DEPTH = 2  # levels of folders below the one that contains all candidates
MOST_VALUES = 50  # of a facet


class Facts(NamedTuple):
    """What facets read of a document. Each query makes COUNTED of these, and a tuple is made three times as fast."""

    path: str
    day: str | None  # of its time, see `text_time`, such as "2026-01-31"
    tags: tuple[str, ...]

    @classmethod
    def of(cls, path: str, labels: Sequence[str], modified_ns: int | None) -> "Facts":
        """The facts of a document with these labels in the column `fields`."""
        fields = [*map(field_of, labels)]
        day = stated_day(path, (value for name, value in fields if name == DATE))
        if day is None and modified_ns is not None:
            day = date.fromtimestamp(modified_ns / 1e9).isoformat()
        return cls(path, day, tuple(value for name, value in fields if name in TAGS))

    @property
    def type(self) -> str:
        """The end of the name in lower case, without the dot; empty if there is none."""
        start, _, end = self.path.rpartition("/")[2].rpartition(".")
        return end.lower() if start else ""


def facets_of(documents: Mapping[tuple[str | None, str], Facts]) -> dict[str, list[tuple[str, int]]]:
    """For each facet the values and their numbers of files: years from the newest on, others from the most on.

    `documents` has the facts by the name of the index and the id; a file may have many, such as the rows of a table.
    """
    files = {(index, one.path): one for (index, _), one in documents.items()}
    years = {(index, one.path, one.day[:4]) for (index, _), one in documents.items() if one.day}
    tags = {(index, one.path, tag) for (index, _), one in documents.items() for tag in one.tags}
    counts = {
        "folder": Counter(_folders_of([path for _, path in files])),
        "type": Counter(one.type for one in files.values() if SUFFIX.fullmatch(one.type)),
        "year": Counter(year for *_, year in years),
        "tag": Counter(tag for *_, tag in tags),
    }
    found = {name: sorted(count.items(), key=lambda item: (-item[1], item[0])) for name, count in counts.items()}
    found["year"].sort(reverse=True)
    return {name: values[:MOST_VALUES] for name, values in found.items()}


def _folders_of(paths: Sequence[str]) -> Iterable[str]:
    """For each path the folders that contain it, up to FOLDER_DEPTH levels below the one that contains all paths."""
    parents = [path.split("/")[:-1] for path in paths]
    first, last = min(parents, default=[]), max(parents, default=[])
    common = next((n for n, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    above = "".join(f"{part}/" for part in first[:common])
    return (
        above + "/".join(parts[common : common + depth])
        for parts in parents
        for depth in range(1, min(FOLDER_DEPTH, len(parts) - common) + 1)
    )
