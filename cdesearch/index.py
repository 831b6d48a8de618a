"""An index on disk: find it, open it, look things up."""

import os
from collections.abc import Callable, Coroutine
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdesearch.checksums import MANIFEST, Checks
from cdesearch.context import Context
from cdesearch.errors import IndexDamagedError, IndexMismatchError, IndexNotFoundError
from cdesearch.manifest import REBUILD, Manifest

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

FOLDER = ".cdesearch"
CURRENT = "CURRENT"  # the file that names the live generation
TABLES = "tables"  # the folder of LanceDB in a generation


def find_index(start: Path) -> Path:
    """The index folder in `start` or the nearest folder above it; raises IndexNotFoundError."""
    start = start.resolve()
    for folder in [start, *start.parents]:
        if (folder / FOLDER / CURRENT).is_file():
            return folder / FOLDER
    raise IndexNotFoundError(f"There is no index in {start} or above it.", "Make one with `cdesearch index FOLDER`.")


def current_generation(folder: Path) -> Path:
    """The live generation's folder; raises IndexNotFoundError or IndexDamagedError."""
    try:
        name = (folder / CURRENT).read_text(encoding="utf-8", errors="replace").strip()
    except (FileNotFoundError, NotADirectoryError):
        raise IndexNotFoundError(f"{folder} holds no finished index.", "Run `cdesearch index FOLDER`.") from None
    except OSError as error:
        raise IndexDamagedError(f"{folder / CURRENT} cannot be read ({error.strerror}).", REBUILD) from None
    generation = folder / "generations" / name
    if not name or not generation.is_dir():
        raise IndexDamagedError(f"{folder}/CURRENT names a generation that is not there.", REBUILD)
    return generation


def absolute(path: Path) -> Path:
    """From the root of the file system, without ".." in it; links stay as they were named."""
    return Path(os.path.abspath(path))  # noqa: PTH100 (Path.resolve would follow links)


def connect(generation: Path) -> Any:
    """The LanceDB database of a generation."""
    return _lancedb().connect(generation / TABLES)


def answered(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """What LanceDB's asynchronous side answers, in one turn of its event loop; the synchronous side takes five."""
    return _lancedb().background_loop.LOOP.run(coroutine)


async def _open_async(generation: Path, name: str) -> Any:
    database = await _lancedb().connect_async(generation / TABLES)
    return await database.open_table(name)


def _lancedb() -> Any:
    os.environ.setdefault("LANCEDB_LOG", "error")  # read on import; its warnings are for its own developers
    import lancedb

    return lancedb


class Index:
    """One generation, open for reading. A running update never changes it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.generation = current_generation(folder)
        self.checks = Checks(folder, self.generation)
        self.manifest = Manifest.load(self.generation / MANIFEST)
        self.checks.require(MANIFEST)

    @classmethod
    def open(cls, folder: Path | None = None) -> "Index":
        """Open the index in `folder` (a `.cdesearch` folder or one that has it); None looks upward from here."""
        if folder is None:
            return cls(find_index(Path.cwd()))
        return cls(folder / FOLDER if (folder / FOLDER / CURRENT).is_file() else folder)

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
        self.checks.require("context.safetensors")
        context = Context.load(self.generation / "context.safetensors")
        if context.fingerprint != self.manifest.context_fingerprint:
            raise IndexMismatchError(
                f"The index was built with context {self.manifest.context_fingerprint[:12]}"
                f" and stores context {context.fingerprint[:12]}.",
                REBUILD,
            )
        return context

    @cached_property
    def chunks(self) -> Any:
        """The LanceDB table of chunks."""
        return self._table("chunks")

    @cached_property
    def asked_chunks(self) -> Any:
        """The same table for queries: LanceDB's AsyncTable, for `answered`."""
        return self._opened(lambda: answered(_open_async(self.generation, "chunks")), "chunks")

    @cached_property
    def documents(self) -> Any:
        """The LanceDB table of documents."""
        return self._table("documents")

    def check_encoder(self, encoder: "Encoder") -> None:
        """Raise IndexMismatchError where another model built this index."""
        built_by = self.manifest.model_fingerprint
        if encoder.fingerprint != built_by:
            raise IndexMismatchError(
                f"The index was built by model {built_by[:12]}; this is model {encoder.fingerprint[:12]}.",
                "Use the model that built it (--model), or run `cdesearch index --rebuild PATH`.",
            )

    def size_bytes(self) -> int:
        """Bytes of the live generation on disk."""
        return sum(file.stat().st_size for file in self.generation.rglob("*") if file.is_file())

    def _table(self, name: str) -> Any:
        return self._opened(lambda: connect(self.generation).open_table(name), name)

    def _opened(self, open_table: Callable[[], Any], name: str) -> Any:
        self.checks.require_tables()
        try:
            return open_table()
        except (ValueError, RuntimeError, OSError) as error:
            raise IndexDamagedError(f"Table {name} of {self.folder} cannot be opened ({error}).", REBUILD) from None
