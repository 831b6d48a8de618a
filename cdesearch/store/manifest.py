"""The manifest of a generation: the settings that built it, and its counts."""

import json
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path, PurePath
from types import UnionType
from typing import Any, get_origin

from cdesearch.errors import IndexDamagedError, IndexMismatchError, IndexUntrustedError
from cdesearch.languages.known import ENGLISH, LANGUAGES, MOST_LANGUAGES
from cdesearch.models.endpoint_model import Model
from cdesearch.store.folder import FORMAT, index_of, lost_settings_remedy, read_small, write_new
from cdesearch.store.served_model import ServedModel, checked_served
from cdesearch.store.vector_format import KINDS, UNNAMED

MAX_BYTES = 16_000_000  # enough for a list of sources of any plausible length
MAXIMA = {  # of numbers that other numbers are computed from
    "context_size": 1 << 40,
    "context_limit": 1 << 40,
    "dimension": 65_536,
    "max_tokens": 10_000_000,
    "max_file_bytes": 1 << 50,
    "n_documents": 1 << 40,
    "n_chunks": 1 << 40,
    "created": 1e11,
    "updated": 1e11,
    "drift": 1e9,
    "context_chunks": 1 << 40,
}
COLUMNS = {"text", "id", "title", "document"}
MOST_SOURCES = 100_000  # each is looked for whenever the index is listed or updated
MOST_GLOBS, MOST_CHARACTERS = 5_000, 100_000  # of `include` or of `exclude`; both are compiled at every update
DEFAULTS: dict[str, Any] = {  # of fields that a manifest may lack
    "added_context": False,
    "served": None,
    "has_ocr": False,
    "vectors": UNNAMED,
    "is_reduced": False,
    "n_vectors": None,
    "context_chunks": None,
    "drift": None,
    "include": (),
    "exclude": (),
    "source_globs": {},
    "mounts": (),
    "languages": {},
    "model_languages": (),
    "text_language": ENGLISH,
}
OUTCOMES = {"indexed", "ignored", "skipped"}  # of files, as `cdesearch.store.file_account` lists them
_CODE = re.compile(r"[a-z]{2,3}")
_NO_GLOB = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


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
    context_size: int  # chunks actually sampled
    context_limit: int  # chunks to sample, at most
    seed: int
    dimension: int  # of every vector
    max_tokens: int
    root: str  # chunk paths are relative to it; starts with ".." if it is in the index's parent, else absolute
    sources: tuple[str, ...]  # the indexed folders and files, relative to the root and inside it
    columns: dict[str, str | None]
    max_file_bytes: int
    n_documents: int
    n_chunks: int
    has_parts: bool  # whether some document consists of several records
    created: float  # seconds since 1970
    updated: float  # when the last run began to read folders
    files: dict[str, int]  # how many were indexed, ignored and skipped; `cdesearch.store.file_account` lists each file
    format: int = FORMAT
    # Whether statistics of the corpus and document context were added to a published model. False for a plain one, and
    # for a checkpoint of this project, which has its own.
    added_context: bool = False
    served: ServedModel | None = None  # the model on the server, if `model` is a URL
    has_ocr: bool = False  # whether the text of scanned pages and images is recognised
    vectors: str = UNNAMED  # the kind in which vectors are stored, one of KINDS
    is_reduced: bool = False  # whether `dimension` was chosen, and is smaller than that of the model
    n_vectors: int | None = None  # chunks that have a vector, in a stage of an unfinished build; None: all have one
    context_chunks: int | None = None  # chunks that the index had when its context was made; None: not recorded
    drift: float | None = None  # of the corpus from the context, in standard errors; None: not measured
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    # Of sources for which other files were chosen than by `include` and `exclude`
    source_globs: dict[str, Globs] = field(default_factory=dict)
    mounts: tuple[str, ...] = ()  # those of the sources at which a file system was mounted
    # The share of the chunks in each language, by its code, the most frequent one first; empty: not measured
    languages: dict[str, float] = field(default_factory=dict)
    model_languages: tuple[str, ...] = ()  # the codes of the languages that the model reads; empty: not known
    text_language: str = ENGLISH  # the code of the language whose stemmer and stop words full text uses

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
        values = asdict(self)
        for name, default in DEFAULTS.items():  # without them, older versions can read the index
            if values[name] == default:
                del values[name]
        write_new(file, json.dumps(values, indent=2))

    @classmethod
    def load(cls, file: Path) -> "Manifest":
        """Read what `save` wrote; raises IndexDamagedError, or IndexMismatchError for another format version.

        Every value is checked, because a forged index can hold any value.
        """
        try:
            values = json.loads(read_small(file, MAX_BYTES))
            if not isinstance(values, dict):
                raise TypeError("it is not a JSON object")
            version = values["format"]
            if version == FORMAT:
                return cls(**_checked(values))
        except (IndexDamagedError, IndexUntrustedError):
            raise
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise IndexDamagedError(
                f"{file} cannot be read ({_reason(error)}).", lost_settings_remedy(index_of(file))
            ) from None
        raise IndexMismatchError(
            f"{file} has index format {_shown(version):.20}; this cdesearch reads {FORMAT}.",
            lost_settings_remedy(index_of(file)),
        )


def is_glob(text: str) -> bool:
    """Whether `text` may be stored as a glob: it is not empty, and has no control characters or broken Unicode."""
    return bool(text) and not _NO_GLOB.search(text)


def _checked(values: dict[str, Any]) -> dict[str, Any]:
    """The fields of a manifest, each with its type and range checked; raises KeyError, TypeError or ValueError."""
    for name in values.keys() - {item.name for item in fields(Manifest)}:
        raise TypeError(f"{_shown(name)} is not a field of a manifest")
    values = DEFAULTS | values
    for name in ("sources", "mounts", "model_languages"):
        if not isinstance(values[name], list | tuple):
            raise TypeError(f"{name} is {_shown(values[name])}")
    for name in ("include", "exclude"):
        if not isinstance(values[name], (list, tuple)):
            raise TypeError(f"{name} is {_shown(values[name])}")
        _check_globs(name, values[name])
    tuples = ("sources", "mounts", "include", "exclude", "model_languages")
    values |= {name: tuple(values[name]) for name in tuples}
    values["served"] = checked_served(values["served"], values.get("model"))
    for item in fields(Manifest):
        value = values[item.name]
        kind: Any = item.type if isinstance(item.type, UnionType) else get_origin(item.type) or item.type
        is_kind = isinstance(value, kind | int if kind in (float, float | None) else kind)
        if not is_kind or (isinstance(value, bool) and kind is not bool):
            raise TypeError(f"{item.name} is {_shown(value)}")
        if item.name in MAXIMA and value is not None and not (math.isfinite(value) and 0 <= value <= MAXIMA[item.name]):
            raise ValueError(f"{item.name} is {_shown(value)}")
    if values["n_vectors"] is not None and not 0 <= values["n_vectors"] < values["n_chunks"]:
        raise ValueError(f"n_vectors is {_shown(values['n_vectors'])}")
    if len(values["sources"]) > MOST_SOURCES:
        raise ValueError("sources has too many items")
    _check_texts(values)
    _check_languages(values)
    _check_paths(values["root"], values["sources"])
    values["source_globs"] = _source_globs(values["source_globs"], frozenset(values["sources"]))
    return values


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{error.args[0]} is missing"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)[:200]


def _shown(value: Any) -> str:
    """A value as the file writes it, at most 100 characters."""
    return json.dumps(value)[:100]


def _check_texts(values: dict[str, Any]) -> None:
    columns: dict[str, Any] = values["columns"]
    counts: dict[str, Any] = values["files"]
    if not all(isinstance(source, str) for source in values["sources"]):
        raise TypeError("sources has an item that is not a string")
    are_texts = all(isinstance(mount, str) for mount in values["mounts"])
    if not are_texts or not set(values["mounts"]) <= set(values["sources"]):
        raise ValueError("mounts has an item that is not a source")
    if values["vectors"] not in KINDS:
        raise ValueError(f"vectors is {_shown(values['vectors'])}")
    if counts.keys() != OUTCOMES or not all(type(count) is int and count >= 0 for count in counts.values()):
        raise ValueError(f"files is {_shown(counts)}")
    if not columns.keys() <= COLUMNS or not all(name is None or isinstance(name, str) for name in columns.values()):
        raise ValueError(f"columns is {_shown(columns)}")


def _check_languages(values: dict[str, Any]) -> None:
    shares: dict[str, Any] = values["languages"]
    are_shares = all(type(share) in (int, float) and 0 <= share <= 1 for share in shares.values())
    if not shares.keys() <= LANGUAGES.keys() or not are_shares:
        raise ValueError(f"languages is {_shown(shares)}")
    codes = values["model_languages"]
    if len(codes) > MOST_LANGUAGES or not all(isinstance(code, str) and _CODE.fullmatch(code) for code in codes):
        raise ValueError(f"model_languages is {_shown(codes)}")
    if values["text_language"] not in LANGUAGES or LANGUAGES[values["text_language"]].stemmer is None:
        raise ValueError(f"text_language is {_shown(values['text_language'])}")


def _check_globs(name: str, globs: Sequence[Any]) -> None:
    """Raise TypeError or ValueError for globs that `cdesearch index` does not write."""
    if not all(isinstance(glob, str) for glob in globs):
        raise TypeError(f"{name} has an item that is not a string")
    if len(globs) > MOST_GLOBS or sum(map(len, globs)) > MOST_CHARACTERS:
        raise ValueError(f"{name} has too many globs")
    if not all(map(is_glob, globs)):
        raise ValueError(f"{name} is {_shown(globs)}")


def _source_globs(stored: Mapping[str, Any], sources: frozenset[str]) -> dict[str, Globs]:
    """The globs of single sources as they were written; raises TypeError or ValueError."""
    found = {}
    for source, globs in stored.items():
        is_complete = isinstance(globs, dict) and globs.keys() == {"include", "exclude"}
        if source not in sources or not is_complete or not all(isinstance(one, list) for one in globs.values()):
            raise TypeError(f"source_globs is {_shown(stored)}")
        found[source] = Globs(tuple(globs["include"]), tuple(globs["exclude"]))
    for globs in asdict(Globs.joined(found.values())).values():
        _check_globs("source_globs", globs)
    return found


def _check_paths(root: str, sources: tuple[str, ...]) -> None:
    """Raise ValueError unless the root is absolute, ".." or a folder below "..", and the sources are inside it."""
    for path in (root, *sources):
        os.fsencode(path)  # raises for a path that no system call accepts
    named = PurePath(root)
    below = named.parts[1:] if named.parts[:1] == ("..",) else None
    is_inside = below is not None and ".." not in below
    if "\0" in root or not (is_inside or (named.is_absolute() and ".." not in named.parts)):
        raise ValueError(f"root is {_shown(root)}")
    for source in map(PurePath, sources):
        if source.is_absolute() or source.drive or ".." in source.parts or "\0" in str(source):
            raise ValueError(f"a source is {_shown(str(source))}")
