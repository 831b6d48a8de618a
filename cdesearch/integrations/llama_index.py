"""A retriever for LlamaIndex (`pip install 'cdesearch[llama-index]'`)."""

from cdesearch.api import open as open_index
from cdesearch.integrations import extra
from cdesearch.search.options import Mode

with extra("llama-index"):
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode


class CdesearchRetriever(BaseRetriever):
    """The best chunks of an index as LlamaIndex nodes. Raises CdesearchError if the index cannot be opened."""

    def __init__(self, folder: str | None = None, k: int = 10, mode: Mode = "hybrid", path: str | None = None) -> None:
        """Open the index of `folder`, or the nearest index upward for None. `path` is a glob."""
        super().__init__()
        self._open = open_index(folder)
        self._k = k
        self._mode: Mode = mode
        self._path = path

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self._open.search(query_bundle.query_str, self._k, self._mode, path=self._path)
        return [
            NodeWithScore(
                node=TextNode(
                    id_=hit.chunk.id,
                    text=hit.chunk.body,
                    metadata={
                        "source": hit.chunk.location,
                        "title": hit.chunk.title,
                        "trail": " > ".join(hit.chunk.trail),
                    },
                ),
                score=hit.score,
            )
            for hit in hits
        ]
