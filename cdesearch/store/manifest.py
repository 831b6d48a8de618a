"""The manifest of a generation: the settings that built it, and its counts.

The types of the fields say what a manifest may hold; a forged index can hold anything else.
"""

import base64
import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from cdesearch.errors import IndexDamagedError, IndexMismatchError, IndexUntrustedError
from cdesearch.models.endpoint_model import EndpointModel, Model, is_url
from cdesearch.store.folder import repair_remedy, write_new
from cdesearch.store.guard import read_small
from cdesearch.store.layout import FORMAT, index_of, lost_settings_remedy
from cdesearch.store.place import Place
from cdesearch.store.vector_format import VectorFormat, VectorKind
from cdesearch.words.known import LANGUAGES, MOST_LANGUAGES

if TYPE_CHECKING:
    from cdesearch.context.vectors import Floats

Text = Annotated[str, Meta(max_length=10_000)]


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model on a server, whose URL is the `model` of the manifest. It holds no key."""

    name: Text
    query_prefix: Text
    document_prefix: Text
    probes: str  # base64 of little-endian float16: the vectors of the probes when the index was built

    @classmethod
    def of(cls, model: EndpointModel, probes: "Floats") -> "ServedModel":
        """Describe a model by the unit vectors (n, d) of its probes."""
        stored = base64.b64encode(probes.astype("<f2").tobytes()).decode()
        return cls(model.name, *model.prefixes, stored)

    def at(self, url: str) -> EndpointModel:
        """The model on the server at `url`."""
        return EndpointModel(url, self.name, self.query_prefix, self.document_prefix)

    def vectors(self, dimension: int) -> "Floats":
        """The vectors (n, d) of the probes; none if the stored text is not that of vectors of `dimension`."""
        import numpy as np

        stored = base64.b64decode(self.probes)
        if len(stored) % (2 * dimension):
            return np.empty((0, dimension), np.float32)
        return np.frombuffer(stored, "<f2").astype(np.float32).reshape(-1, dimension)


MAX_BYTES = 16_000_000  # enough for a list of sources of any plausible length
MOST_CONTEXT = 1 << 40  # chunks
MOST_FILE_BYTES = 1 << 50
MOST_DIMENSIONS = 65_536
MOST_GLOBS = 5_000
_NO_GLOB = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")

Count = Annotated[int, Meta(ge=0, le=1 << 40)]
Time = Annotated[float, Meta(ge=0, le=1e11)]  # seconds since 1970
Share = Annotated[float, Meta(ge=0, le=1)]
Code = Annotated[str, Meta(pattern="^[a-z]{2,3}$")]


@dataclass(frozen=True, slots=True)
class Globs:
    """The files that the user chose, in the syntax of ignore files and relative to each source."""

    include: tuple[str, ...] = ()  # files that match one of them; none means all files
    exclude: tuple[str, ...] = ()  # files and folders that are left out

    @classmethod
    def joined(cls, several: Iterable["Globs"]) -> "Globs":
        """All globs of several sources, whose number and length is limited."""
        parts = tuple(several)
        return cls(
            tuple(glob for part in parts for glob in part.include),
            tuple(glob for part in parts for glob in part.exclude),
        )


@dataclass(frozen=True, slots=True)
class Manifest:
    """The settings and counts of one generation, as `manifest.json` stores them."""

    cdesearch: str  # version that wrote it
    model: str | None  # checkpoint folder, id on the hub or URL; None: the model that ships with the package
    model_fingerprint: str
    context_fingerprint: str
    context_size: Count  # chunks actually sampled
    context_limit: Count  # chunks to sample, at most
    seed: int
    dimension: Annotated[int, Meta(ge=0, le=MOST_DIMENSIONS)]  # of every vector
    max_tokens: Annotated[int, Meta(ge=0, le=10_000_000)]
    root: str  # chunk paths are relative to it; starts with ".." if it is in the index's parent, else absolute
    sources: tuple[str, ...]  # the indexed folders and files, relative to the root and inside it
    columns: dict[Literal["text", "id", "title", "document"], str | None]
    max_file_bytes: Annotated[int, Meta(ge=0, le=MOST_FILE_BYTES)]
    n_documents: Count
    n_chunks: Count
    has_parts: bool  # whether some document consists of several records
    created: Time
    updated: Time  # when the last run began to read folders
    # How many were indexed, ignored and skipped; `cdesearch.store.file_account` lists each file
    files: dict[Literal["indexed", "ignored", "skipped"], Count]
    vectors: VectorKind  # the kind in which vectors are stored
    context_chunks: Count  # chunks that the index had when its context was made
    format: int = FORMAT
    # Whether statistics of the corpus and document context were added to a published model. False for a plain one, and
    # for a checkpoint of this project, which has its own.
    added_context: bool = False
    served: ServedModel | None = None  # the model on the server, if `model` is a URL
    has_ocr: bool = False  # whether the text of scanned pages and images is recognised
    reads_context: bool = False  # whether the model reads the sampled chunks while it encodes a text
    n_vectors: Count | None = None  # chunks that have a vector, in a stage of an unfinished build; None: all have one
    # Of the corpus from the context, in standard errors; None: not measured
    drift: Annotated[float, Meta(ge=0, le=1e9)] | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    # Of sources for which other files were chosen than by `include` and `exclude`
    source_globs: dict[str, Globs] = field(default_factory=dict)
    mounts: tuple[str, ...] = ()  # those of the sources at which a file system was mounted
    # The share of the chunks in each language, by its code, the most frequent one first
    languages: dict[str, Share] = field(default_factory=dict)
    # The codes of the languages that the model reads; empty: not known
    model_languages: Annotated[tuple[Code, ...], Meta(max_length=MOST_LANGUAGES)] = ()

    def __post_init__(self) -> None:
        """Raise ValueError for values that do not fit each other."""
        if self.served is not None and not is_url(self.model or ""):
            raise ValueError("served needs a URL as model")
        if not self.languages.keys() <= LANGUAGES.keys():
            raise ValueError("a language is unknown")
        globs = Globs.joined([self.globs, *self.source_globs.values()])
        named = (*globs.include, *globs.exclude)
        if len(named) > MOST_GLOBS or not all(map(is_glob, named)):
            raise ValueError("a glob is empty or has control characters, or there are too many")
        _check_paths(self.root, self.sources)

    @property
    def globs(self) -> Globs:
        """The files that the user chose in the sources without globs of their own."""
        return Globs(self.include, self.exclude)

    @property
    def model_to_open(self) -> Model | None:
        """The model that built the index, as `load_encoder` takes it; raises ModelError if it is not here."""
        if self.served is not None and self.model is not None:
            return self.served.at(self.model)
        from cdesearch.models.hub import stored_model

        return stored_model(self.model)

    @property
    def embeds_on_refresh(self) -> bool:
        """Whether a new context needs the model for all texts: their first-stage vectors change or are not stored."""
        return self.reads_context or not VectorFormat(self.vectors, self.dimension).keeps_first_stage

    @property
    def is_complete(self) -> bool:
        """Whether every chunk has a vector."""
        return self.n_vectors is None

    @property
    def stage(self) -> str:
        """How much of the index can be searched, such as "vectors: 37%, words: all"; "complete" if all of it can."""
        if self.n_vectors is None:
            return "complete"
        percent = 100 * self.n_vectors // self.n_chunks
        share = "less than 1%" if self.n_vectors and not percent else f"{percent}%"
        return f"vectors: {share}, words: all"

    def save(self, file: Path) -> None:
        """Write JSON, flushed to disk; a path that is not UTF-8 keeps its bytes as escapes."""
        write_new(file, json.dumps(asdict(self), indent=2))

    @classmethod
    def load(cls, file: Path, place: Place | None = None) -> "Manifest":
        """Read what `save` wrote for the index at `place`, by default the folder that contains the file.

        Raises IndexDamagedError, or IndexMismatchError for another format version.
        """
        place = place or index_of(file)
        try:
            values = json.loads(read_small(file, MAX_BYTES))  # msgspec refuses paths that are not UTF-8
            version = msgspec.convert(values, _Format).format
            if version == FORMAT:
                return msgspec.convert(values, cls)
        except (IndexDamagedError, IndexUntrustedError):
            raise
        except (OSError, ValueError, msgspec.MsgspecError, RecursionError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)[:200]
            remedy = repair_remedy(place) if isinstance(place, Path) else lost_settings_remedy(place)
            raise IndexDamagedError(f"{file} cannot be read ({reason}).", remedy) from None
        raise IndexMismatchError(
            f"{file} has index format {version}; this cdesearch reads {FORMAT}.", lost_settings_remedy(place)
        )


class _Format(msgspec.Struct):
    format: int


def is_glob(text: str) -> bool:
    """Whether `text` may be stored as a glob: it is not empty, and has no control characters or broken Unicode."""
    return bool(text) and not _NO_GLOB.search(text)


def _check_paths(root: str, sources: Sequence[str]) -> None:
    """Raise ValueError unless the root is absolute, ".." or a folder below "..", and the sources are inside it."""
    for path in (root, *sources):
        os.fsencode(path)  # raises for a path that no system call accepts
    named = PurePath(root)
    below = named.parts[1:] if named.parts[:1] == ("..",) else None
    is_inside = below is not None and ".." not in below
    if "\0" in root or not (is_inside or (named.is_absolute() and ".." not in named.parts)):
        raise ValueError("root is neither absolute nor below the folder of the index")
    for source in map(PurePath, sources):
        if source.is_absolute() or source.drive or ".." in source.parts or "\0" in str(source):
            raise ValueError("a source is outside the root")
