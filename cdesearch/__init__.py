"""Private, local search with embeddings that take your whole corpus into account.

import cdesearch

cdesearch.build("docs")
for hit in cdesearch.open("docs").search("how do I reset a password"):
    print(hit.score, hit.chunk.location)
"""

TYPE_CHECKING = False  # type checkers treat it as true; importing `typing` would delay every start
if TYPE_CHECKING:
    from typing import Any

    from cdesearch.api import OpenIndex, build, open
    from cdesearch.encode.embedder import Embedder
    from cdesearch.errors import CdesearchError
    from cdesearch.search.result import SearchResult
    from cdesearch.store.schema import Chunk, Hit

__version__ = "0.1.0"
__all__ = ["CdesearchError", "Chunk", "Embedder", "Hit", "OpenIndex", "SearchResult", "__version__", "build", "open"]

_HOMES = {
    "CdesearchError": "cdesearch.errors",
    "Chunk": "cdesearch.store.schema",
    "Embedder": "cdesearch.encode.embedder",
    "Hit": "cdesearch.store.schema",
    "OpenIndex": "cdesearch.api",
    "SearchResult": "cdesearch.search.result",
    "build": "cdesearch.api",
    "open": "cdesearch.api",
}


def __getattr__(name: str) -> "Any":
    """Load a public name when it is first used, so that `import cdesearch` stays light."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
