"""cdesearch as users have it: an index on disk, queried by the code of the command line."""

from pathlib import Path
from typing import Literal

from benchmarks.datasets.dataset import Dataset
from benchmarks.systems.ranking import Run
from benchmarks.systems.system import DEPTH
from cdesearch.progress import Silent
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from indexer.build import build
from indexer.settings import Options

CHUNKS = 3 * DEPTH  # hits a query: several may be chunks of one document


class Product:
    """`cdesearch index`, then `cdesearch query`; a document has the rank of its best chunk."""

    def __init__(self, work: Path, mode: Literal["dense", "text", "hybrid"], model: Path | None) -> None:
        self.name = f"cdesearch index, {mode}"
        self._work = work
        self._mode = mode
        self._model = model

    def retrieve(self, dataset: Dataset) -> Run:
        """Build the index, then rank the documents by their best chunks."""
        folder = self._work / "indexes" / f"{dataset.name}-{self._model.name if self._model else 'default'}"
        build([dataset.folder / "corpus.jsonl"], Options(index=folder, model=self._model), Silent())
        searcher = Searcher(Index(folder))
        return {name: self._documents(searcher, name, query) for name, query in dataset.queries.items()}

    def _documents(self, searcher: Searcher, own: str, query: str) -> list[str]:
        hits = searcher.search(query, CHUNKS, self._mode)
        names = dict.fromkeys(str(hit.chunk.record) for hit in hits)
        return [name for name in names if name != own][:DEPTH]
