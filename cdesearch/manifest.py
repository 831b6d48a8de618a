"""What built an index: the record that travels with every generation."""

import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import UnionType
from typing import Any, get_origin

from cdesearch.errors import IndexDamagedError, IndexMismatchError

FORMAT = 5
REBUILD = "Run `cdesearch index --rebuild PATH`, with PATH the folder that is indexed."


@dataclass(frozen=True, slots=True)
class Manifest:
    """One generation's settings and counts, as `manifest.json` holds them."""

    cdesearch: str  # version that wrote it
    model: str | None  # checkpoint folder or id of the hub; None: the one that ships with the package
    model_fingerprint: str
    context_fingerprint: str
    context_size: int  # chunks actually sampled
    context_limit: int  # chunks asked for
    seed: int
    max_tokens: int
    root: str  # paths of chunks are relative to it; itself relative to the index folder where it holds that
    sources: tuple[str, ...]  # what was named, relative to the root
    columns: dict[str, str | None]
    max_file_bytes: int
    n_documents: int
    n_chunks: int
    has_parts: bool  # whether some document is several records
    created: float  # seconds since 1970
    updated: float  # when the last run began to look at files
    files: dict[str, int]  # how many were indexed, ignored and skipped; `cdesearch.files` has each of them
    format: int = FORMAT

    def save(self, file: Path) -> None:
        """Write JSON, flushed to disk."""
        with file.open("w", encoding="utf-8") as stream:
            json.dump(asdict(self), stream, indent=2)  # ASCII: a path may be no valid UTF-8
            stream.flush()
            os.fsync(stream.fileno())

    @classmethod
    def load(cls, file: Path) -> "Manifest":
        """Read what `save` wrote; raises IndexDamagedError, or IndexMismatchError for another format version."""
        try:
            values = json.loads(file.read_text(encoding="utf-8"))
            version = values["format"]
            if version == FORMAT:
                return cls(**_checked(values))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise IndexDamagedError(f"{file} cannot be read ({error!r}).", REBUILD) from None
        raise IndexMismatchError(f"{file} has index format {version}; this cdesearch reads {FORMAT}.", REBUILD)


def _checked(values: dict[str, Any]) -> dict[str, Any]:
    """Exactly the fields of a manifest, each of its type; raises KeyError or TypeError."""
    values = values | {"sources": tuple(values["sources"])}
    for item in fields(Manifest):
        kind: Any = item.type if isinstance(item.type, UnionType) else get_origin(item.type) or item.type
        if not isinstance(values[item.name], (int, float) if kind is float else kind):
            raise TypeError(f"{item.name} is {values[item.name]!r}")
    return values
