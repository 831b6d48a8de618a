"""An embedding function for any LanceDB table: `get_registry().get("cdesearch").create(context=FILE)`."""

from functools import cached_property
from pathlib import Path
from typing import Any

from lancedb.embeddings import TextEmbeddingFunction, register
from numpy.typing import NDArray

from cdesearch.context.context import Context
from cdesearch.encode.embedder import Embedder


@register("cdesearch")  # type: ignore[no-untyped-call] # LanceDB's
class ContextualEmbeddings(TextEmbeddingFunction):
    """Encodes in the context that `Context.save` has written to the file `context`; without it, in the null context."""

    name: str = "cdesearch"
    context: str | None = None
    model: str | None = None

    def ndims(self) -> int:
        return self._embedder.get_sentence_embedding_dimension()

    def generate_embeddings(self, texts: list[str] | NDArray[Any], *_: Any, **__: Any) -> list[Any]:
        return list(self._embedder.encode([str(text) for text in texts], "document", self._context))

    def compute_query_embeddings(self, query: str, *_: Any, **__: Any) -> list[Any]:
        return [self._embedder.encode(query, "query", self._context)]

    @cached_property
    def _embedder(self) -> Embedder:
        return Embedder(self.model)

    @cached_property
    def _context(self) -> Context | None:
        return Context.load(Path(self.context)) if self.context else None
