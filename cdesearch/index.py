"""An index on disk: find it, open it, look things up."""

import os
from collections.abc import Callable, Collection, Coroutine
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdesearch.checksums import MANIFEST, Checks
from cdesearch.context import Context
from cdesearch.errors import IndexDamagedError, IndexMismatchError, IndexNotFoundError
from cdesearch.index_folder import (
    CURRENT,
    FOLDER,
    GENERATIONS,
    REBUILD,
    absolute,
    check_marker,
    check_not_linked,
    check_nothing_lost,
    check_path,
    check_tree,
    chosen_folder,
    current_name,
    find_index,
)
from cdesearch.lance_manifest import MOST_FIELDS_UNFINISHED, NAMES, TABLES, check_tables
from cdesearch.manifest import Manifest
from cdesearch.schema import DOCUMENT_SCHEMA, chunk_schema

if TYPE_CHECKING:
    from cdesearch.encoder import Encoder

__all__ = [
    "CURRENT",
    "FOLDER",
    "REBUILD",
    "Index",
    "absolute",
    "answered",
    "connect",
    "current_generation",
    "find_index",
]

CONTEXT = "context.safetensors"


def current_generation(folder: Path) -> Path:
    """The live generation's folder, looked through for links; raises IndexStateError."""
    check_marker(folder)
    name = current_name(folder)
    if name is None:
        check_nothing_lost(folder)
        raise IndexNotFoundError(f"{folder} holds no finished index.", "Run `cdesearch index FOLDER`.")
    check_not_linked(folder / GENERATIONS)
    generation = folder / GENERATIONS / name
    if not generation.is_dir():
        raise IndexDamagedError(f"{folder / CURRENT} names a generation that is not there.", REBUILD)
    try:
        check_tree(generation)
        check_tables(generation)
    except OSError as error:
        raise IndexDamagedError(f"{generation} cannot be read ({error.strerror}).", REBUILD) from None
    return generation


def connect(generation: Path, names: Collection[str] = NAMES) -> Any:
    """The LanceDB database of a generation, finished or not, whose tables `names` may be opened.

    Raises IndexStateError where one of them, in the form "chunks.lance", would make Lance read elsewhere.
    """
    check_tables(generation, names, MOST_FIELDS_UNFINISHED)
    return _lancedb().connect(generation / TABLES)


def answered(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """What LanceDB's asynchronous side answers, in one turn of its event loop; the synchronous side takes five."""
    return _lancedb().background_loop.LOOP.run(coroutine)


async def _open_async(generation: Path, name: str, schema: Any) -> Any:
    database = await _lancedb().connect_async(generation / TABLES)
    table = await database.open_table(name)
    _check_columns(await table.schema(), schema)
    return table


def _check_columns(found: Any, expected: Any) -> None:
    """Raise ValueError where a table has other columns, or vectors of another dimension, than it must have."""
    if not found.equals(expected):
        raise ValueError("its columns are not those of this index")


def _lancedb() -> Any:
    os.environ.setdefault("LANCEDB_LOG", "error")  # read on import; its warnings are for its own developers
    import lancedb

    return lancedb


class Index:
    """One generation, open for reading. A running update never changes it."""

    def __init__(self, folder: Path) -> None:
        self.folder = absolute(folder)  # LanceDB would take a relative "a:b" for the address of a server
        check_path(self.folder)
        self.generation = current_generation(self.folder)
        self.checks = Checks(self.folder, self.generation)
        self.manifest = Manifest.load(self.generation / MANIFEST)
        self.checks.require(MANIFEST)

    @classmethod
    def open(cls, folder: Path | None = None) -> "Index":
        """Open the index that `folder` means (`chosen_folder`); None looks upward from here."""
        return cls(find_index(Path.cwd()) if folder is None else chosen_folder(folder))

    @property
    def root(self) -> Path:
        """What the paths of chunks are relative to; moves with the index folder where it holds that."""
        return absolute(self.folder / self.manifest.root)

    @property
    def sources(self) -> tuple[Path, ...]:
        """The folders and files that were named to be indexed."""
        return tuple(absolute(self.root / source) for source in self.manifest.sources)

    @cached_property
    def context(self) -> Context:
        """The stored context; raises IndexDamagedError."""
        self.checks.require(CONTEXT)
        context = Context.load(self.generation / CONTEXT)
        if (len(context.chunk_ids), len(context.shift)) != (self.manifest.context_size, self.manifest.dimension):
            raise IndexDamagedError(f"The stored context of {self.folder} is not the one of its manifest.", REBUILD)
        if context.fingerprint != self.manifest.context_fingerprint:
            raise IndexMismatchError(
                f"The index was built with context {self.manifest.context_fingerprint[:12]}"
                f" and stores context {context.fingerprint[:12]}.",
                REBUILD,
            )
        return context

    def context_for(self, encoder: "Encoder") -> Context:
        """The stored context, to encode with; raises IndexDamagedError where it is none of this model."""
        if not encoder.fits(self.context):
            raise IndexDamagedError(f"The stored context of {self.folder} is of another model.", REBUILD)
        return self.context

    @cached_property
    def chunks(self) -> Any:
        """The LanceDB table of chunks."""
        return self._table("chunks", chunk_schema(self.manifest.dimension))

    @cached_property
    def asked_chunks(self) -> Any:
        """The same table for queries: LanceDB's AsyncTable, for `answered`."""
        schema = chunk_schema(self.manifest.dimension)
        return self._opened(lambda: answered(_open_async(self.generation, "chunks", schema)), "chunks")

    @cached_property
    def documents(self) -> Any:
        """The LanceDB table of documents."""
        return self._table("documents", DOCUMENT_SCHEMA)

    def check_encoder(self, encoder: "Encoder") -> None:
        """Raise IndexMismatchError where another model built this index."""
        built_by = self.manifest.model_fingerprint
        if encoder.fingerprint != built_by:
            raise IndexMismatchError(
                f"The index was built by model {built_by[:12]}; this is model {encoder.fingerprint[:12]}.",
                "Use the model that built it (--model), or run `cdesearch index --rebuild PATH`.",
            )
        if encoder.dimension != self.manifest.dimension:
            raise IndexDamagedError(
                f"The index {self.folder} has {self.manifest.dimension} dimensions, its model {encoder.dimension}.",
                REBUILD,
            )

    def size_bytes(self) -> int:
        """Bytes of the live generation on disk."""
        return sum(file.stat().st_size for file in self.generation.rglob("*") if file.is_file())

    def _table(self, name: str, schema: Any) -> Any:
        table = self._opened(lambda: connect(self.generation).open_table(name), name)
        self._opened(lambda: _check_columns(table.schema, schema), name)
        return table

    def _opened(self, open_table: Callable[[], Any], name: str) -> Any:
        self.checks.require_tables()
        try:
            return open_table()
        except (ValueError, RuntimeError, OSError) as error:
            raise IndexDamagedError(f"Table {name} of {self.folder} cannot be opened ({error}).", REBUILD) from None
