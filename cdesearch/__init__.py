"""Private, local search whose embeddings know the corpus they live in.

import cdesearch

cdesearch.build("docs")
for hit in cdesearch.open("docs").search("how do I reset a password"):
    print(hit.score, hit.chunk.location)
"""

TYPE_CHECKING = False  # type checkers take it for true; importing `typing` would delay every start
if TYPE_CHECKING:
    from typing import Any

    from cdesearch.embedder import Embedder
    from cdesearch.errors import CdesearchError
    from cdesearch.schema import Chunk, Hit
    from cdesearch.session import OpenIndex, build, open

__version__ = "0.1.0"
__all__ = ["CdesearchError", "Chunk", "Embedder", "Hit", "OpenIndex", "__version__", "build", "open"]

_HOMES = {
    "CdesearchError": "cdesearch.errors",
    "Chunk": "cdesearch.schema",
    "Embedder": "cdesearch.embedder",
    "Hit": "cdesearch.schema",
    "OpenIndex": "cdesearch.session",
    "build": "cdesearch.session",
    "open": "cdesearch.session",
}


def __getattr__(name: str) -> "Any":
    """Load a public name when it is first asked for, so that `import cdesearch` stays light."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
