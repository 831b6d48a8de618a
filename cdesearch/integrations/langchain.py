"""A retriever for LangChain (`pip install 'cdesearch[langchain]'`)."""

from typing import Any

from pydantic import PrivateAttr

from cdesearch.api import OpenIndex
from cdesearch.api import open as open_index
from cdesearch.integrations import extra
from cdesearch.search.options import Mode

with extra("langchain"):
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever


class CdesearchRetriever(BaseRetriever):
    """The best chunks of an index as LangChain documents. Raises CdesearchError if the index cannot be opened."""

    folder: str | None = None  # None: the nearest index upward
    k: int = 10
    mode: Mode = "hybrid"
    path: str | None = None  # a glob

    _open: OpenIndex = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Open the index now, so that a wrong folder is reported before the first question."""
        super().model_post_init(context)
        self._open = open_index(self.folder)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 (LangChain passes it by name)
    ) -> list[Document]:
        hits = self._open.search(query, self.k, self.mode, path=self.path)
        return [
            Document(
                id=hit.chunk.id,
                page_content=hit.chunk.body,
                metadata={
                    "source": hit.chunk.location,
                    "title": hit.chunk.title,
                    "trail": list(hit.chunk.trail),
                    "score": hit.score,
                },
            )
            for hit in hits
        ]
