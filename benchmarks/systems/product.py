"""cdesearch as users have it: an index on disk, queried by the code of the command line."""

import json
from hashlib import blake2b
from pathlib import Path

from benchmarks.datasets.dataset import Dataset
from benchmarks.systems.system import DEPTH, Run
from cdesearch.encode.load import load_encoder
from cdesearch.progress import Silent
from cdesearch.search.options import Mode
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from indexer.build import build
from indexer.settings import Options

CHUNKS = 3 * DEPTH  # hits per query: several may be chunks of one document


class Product:
    """`cdesearch index`, then `cdesearch query`. A document has the rank of its best chunk."""

    def __init__(self, work: Path, mode: Mode, model: Path | None, *, plain: bool = False) -> None:
        self.name = f"cdesearch index{' --plain' if plain else ''}, {mode}"
        self._work = work
        self._mode = mode
        self._model = model
        self._plain = plain

    def retrieve(self, dataset: Dataset) -> Run:
        """Build the index, then rank the documents by their best chunks."""
        encoder = load_encoder(self._model, plain=self._plain)
        parts = [str(dataset.folder.resolve()), encoder.fingerprint, encoder.precision]
        key = blake2b(json.dumps(parts).encode(), digest_size=6).hexdigest()
        folder = self._work / "indexes" / f"{dataset.name}-{key}"
        options = Options(index=folder, model=self._model, plain=self._plain or None)
        build([dataset.folder / "corpus.jsonl"], options, Silent())
        searcher = Searcher(Index(folder), encoder)
        return {name: self._documents(searcher, name, query) for name, query in dataset.queries.items()}

    def _documents(self, searcher: Searcher, own: str, query: str) -> list[str]:
        hits = searcher.search(query, CHUNKS, self._mode)
        names = dict.fromkeys(str(hit.chunk.record) for hit in hits)
        return [name for name in names if name != own][:DEPTH]
