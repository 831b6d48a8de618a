"""Which files of the folders of an index are read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cdesearch.store.manifest import Globs

NO_GLOBS = Globs()


@dataclass(frozen=True, slots=True)
class Selection:
    """The limits and globs by which files are found. Ignore files decide in addition."""

    max_bytes: int  # larger files are skipped, except those that are read as a stream
    globs: Globs = NO_GLOBS
    source_globs: Mapping[Path, Globs] = field(default_factory=dict)  # of folders whose own globs replace `globs`
    with_images: bool = False
