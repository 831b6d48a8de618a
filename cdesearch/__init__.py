"""Private, local search with embeddings that take your whole corpus into account.

import cdesearch

with cdesearch.build("docs") as index:  # or cdesearch.open("docs"), which does not check for changed files
    for hit in index.search("how do I reset a password", k=5):
        print(hit.score, hit.chunk.location, hit.chunk.body)
    index.search_many(["a question", "another one"])  # faster than one by one
    index.update()  # after files have changed

cdesearch.open(["docs", "notes"]).search("...")  # several indexes as one

`await index.asearch(...)` searches without blocking an event loop. Every error is a CdesearchError.
"""

TYPE_CHECKING = False  # type checkers treat it as true; importing `typing` would delay every start
if TYPE_CHECKING:
    from cdesearch.api import OpenIndex, OpenIndexes, build
    from cdesearch.api import open as open  # exported, although not by `import *`
    from cdesearch.builders import BuildReport, UnreadFile
    from cdesearch.encode.embedder import Embedder
    from cdesearch.errors import CdesearchError
    from cdesearch.search.result import SearchResult
    from cdesearch.store.schema import Chunk, Hit

    __version__: str

# `open` is public as `cdesearch.open`. It is not listed, because `from cdesearch import *` would replace Python's own.
__all__ = [
    "BuildReport",
    "CdesearchError",
    "Chunk",
    "Embedder",
    "Hit",
    "OpenIndex",
    "OpenIndexes",
    "SearchResult",
    "UnreadFile",
    "__version__",
    "build",
]

_HOMES = {
    "BuildReport": "cdesearch.builders",
    "CdesearchError": "cdesearch.errors",
    "Chunk": "cdesearch.store.schema",
    "Embedder": "cdesearch.encode.embedder",
    "Hit": "cdesearch.store.schema",
    "OpenIndex": "cdesearch.api",
    "OpenIndexes": "cdesearch.api",
    "SearchResult": "cdesearch.search.result",
    "UnreadFile": "cdesearch.builders",
    "build": "cdesearch.api",
    "open": "cdesearch.api",
}

if not TYPE_CHECKING:  # a type checker would otherwise accept every name

    def __getattr__(name):
        """Load a public name when it is first used, so that `import cdesearch` stays light."""
        if name == "__version__":
            return globals().setdefault(name, _installed_version())
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)

    def _installed_version():
        """The version that the build took from the tag; a checkout that is not installed has none."""
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("cdesearch")
        except PackageNotFoundError:
            return "0.0.0"
