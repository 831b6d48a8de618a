import lancedb
import numpy as np
import pytest
from lancedb.embeddings import get_registry
from lancedb.pydantic import LanceModel, Vector
from small_corpus import CORPUS

from cdesearch.encode.embedder import Embedder
from cdesearch.integrations import lancedb as integration


@pytest.mark.parametrize("in_context", [True, False])
def test_a_table_stores_and_asks_for_the_vectors_of_the_embedder(tmp_path, tiny_checkpoint, in_context):
    embedder = Embedder(tiny_checkpoint)
    context = embedder.sample_context(CORPUS) if in_context else None
    settings = {"model": str(tiny_checkpoint)}
    if context is not None:
        context.save(tmp_path / "context.safetensors")
        settings["context"] = str(tmp_path / "context.safetensors")
    function = get_registry().get("cdesearch").create(**settings)
    assert isinstance(function, integration.ContextualEmbeddings)

    class Note(LanceModel):
        text: str = function.SourceField()
        vector: Vector(function.ndims()) = function.VectorField()

    table = lancedb.connect(tmp_path / "database").create_table("notes", schema=Note)
    table.add([{"text": text} for text in CORPUS])
    rows = table.to_arrow()
    assert rows["text"].to_pylist() == CORPUS
    documents = embedder.encode(CORPUS, "document", context)
    np.testing.assert_allclose(np.stack(rows["vector"].to_numpy()), documents, atol=1e-5)
    best = table.search("water 1").limit(3).to_arrow()
    distances = ((documents - embedder.encode("water 1", "query", context)) ** 2).sum(axis=1)
    np.testing.assert_allclose(best["_distance"].to_numpy(), np.sort(distances)[:3], atol=1e-4)
