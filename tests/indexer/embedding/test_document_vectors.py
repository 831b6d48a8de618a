import numpy as np
import pytest
from chunk_rows import rows_of

from cdesearch.context.document import add_document_context
from cdesearch.context.vectors import to_unit
from cdesearch.context.whitening import Whitening
from indexer.embedding import spool as module
from indexer.embedding.document_vectors import encoded_documents
from indexer.embedding.embedding_cache import EmbeddingCache
from indexer.embedding.spool import Spool

SIZES = [1, 4, 2, 7, 1, 1, 3]  # chunks of each document
UNCHANGED = {"1", "4"}
WEIGHT = 0.6


@pytest.mark.parametrize("window", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("whitened", [False, True])
def test_every_changed_document_gets_its_own_context_wherever_windows_end(tmp_path, monkeypatch, window, whitened):
    monkeypatch.setattr(module, "WINDOW", window)
    random = np.random.default_rng(0)
    chunks = [("a.md", str(n), f"text {n} {row}") for n, size in enumerate(SIZES) for row in range(size)]
    vectors = to_unit(random.normal(size=(len(chunks), 4)).astype(np.float32))
    rows = rows_of(chunks)
    hashes = rows["content_hash"].to_pylist()
    cache = EmbeddingCache(tmp_path, 4, None, WEIGHT)
    cache.add(dict(zip(hashes, vectors, strict=True)))
    whitening = Whitening(vectors.mean(axis=0), random.normal(size=(4, 4)).astype(np.float32)) if whitened else None
    spool = Spool(tmp_path / "spool.arrow")
    spool.add(rows)
    spool.close()
    steps: list[int] = []
    parts = list(encoded_documents(spool, UNCHANGED, cache, whitening, WEIGHT, steps.append))

    wanted = {}
    for number, size in enumerate(SIZES):
        if str(number) not in UNCHANGED:
            start = sum(SIZES[:number])
            own = vectors[start : start + size]
            own = add_document_context(own if whitening is None else whitening.apply(own), WEIGHT)
            wanted |= zip(hashes[start : start + size], own, strict=True)
    found = {
        content: vector
        for table, of_table in parts
        for content, vector in zip(table["content_hash"].to_pylist(), of_table, strict=True)
    }
    assert list(found) == list(wanted) and sum(steps) == len(chunks)
    for content, vector in wanted.items():
        np.testing.assert_allclose(found[content], vector, atol=1e-6)
