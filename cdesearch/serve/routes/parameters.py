"""The query parameters that several routes have in common, with their limits and descriptions."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query

from cdesearch.search.reader import Mode

MAX_K = 100
MAX_OFFSET = 1_000
MAX_QUERY = 4_000  # characters

QueryText = Annotated[str, Query(description="What to search for.", max_length=MAX_QUERY)]
NumberOfHits = Annotated[int, Query(ge=1, le=MAX_K, description="How many hits to return.")]
PathGlobs = Annotated[
    list[str] | None,
    Query(description="Search only files that match this glob. Repeat it to allow several globs.", max_length=100),
]
IndexName = Annotated[str | None, Query(alias="index", description="The name of an index. Default: the first one.")]


@dataclass(frozen=True, slots=True)
class SearchScope:
    """How a search ranks, and which files of which index it covers."""

    mode: Annotated[Mode, Query(description="The ranking method.")] = "hybrid"
    path: PathGlobs = None
    suffix: Annotated[
        str | None, Query(alias="type", pattern=r"^\w{1,20}$", description="Search only files of this type, e.g. py.")
    ] = None
    index: IndexName = None

    @property
    def globs(self) -> tuple[str, ...] | None:
        """The path of a hit must match one of these globs. None allows every path."""
        if self.suffix is None:
            return None if self.path is None else tuple(self.path)
        paths = self.path or ("**",)
        return tuple(glob for path in paths for glob in _of_type(path.rstrip("/"), self.suffix))


Scope = Annotated[SearchScope, Depends()]


def _of_type(path: str, suffix: str) -> tuple[str, ...]:
    """Return globs for the files with the suffix that `path` matches, or that are below a folder that it matches."""
    itself = path if path.endswith(f".{suffix}") else f"{path}.{suffix}" if path.endswith("*") else None
    below = f"{path}/**/*.{suffix}"
    return (below,) if itself is None else (below, itself)
