"""What built an index: the record that travels with every generation."""

import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from cdesearch.errors import IndexDamagedError, IndexMismatchError

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """One generation's settings and counts, as `manifest.json` holds them."""

    model: str | None  # checkpoint folder; None: the one that ships with the package
    model_fingerprint: str
    context_fingerprint: str
    context_size: int  # chunks actually sampled
    seed: int
    max_tokens: int
    root: str  # absolute; paths of chunks are relative to it
    sources: tuple[str, ...]  # what was named, absolute
    columns: dict[str, str | None]
    max_file_bytes: int
    n_documents: int
    n_chunks: int
    created: float  # seconds since 1970
    updated: float
    skipped: tuple[tuple[str, str], ...] = ()  # path, reason
    format: int = FORMAT

    def save(self, file: Path) -> None:
        """Write JSON, flushed to disk."""
        with file.open("w", encoding="utf-8") as stream:
            json.dump(asdict(self), stream, indent=2, ensure_ascii=False)
            stream.flush()
            os.fsync(stream.fileno())

    @classmethod
    def load(cls, file: Path) -> "Manifest":
        """Read what `save` wrote; raises IndexDamagedError, or IndexMismatchError for another format version."""
        remedy = "Run `cdesearch index --rebuild`."
        try:
            values = json.loads(file.read_text(encoding="utf-8"))
            version = values["format"]
            if version == FORMAT:
                values["sources"] = tuple(values["sources"])
                values["skipped"] = tuple((path, reason) for path, reason in values["skipped"])
                return cls(**{item.name: values[item.name] for item in fields(cls)})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise IndexDamagedError(f"{file} cannot be read ({error!r}).", remedy) from None
        raise IndexMismatchError(f"{file} has index format {version}; this cdesearch reads {FORMAT}.", remedy)
