import json
import os

import numpy as np
import pytest
from built import assert_same, contents, make_index

from cdesearch.context.document import add_document_context
from cdesearch.context.rounding import from_codes, to_codes
from cdesearch.context.vectors import to_unit
from cdesearch.context.whitening import soft_whitening
from cdesearch.encode.load import load_encoder
from cdesearch.errors import IndexMismatchError, SourceError
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from indexer.formats.format import Columns
from indexer.generations import tables as write


def test_same_folder_same_seed_same_model_same_vectors(docs, run):
    run()
    first, fingerprint = contents(docs), Index.open(docs).manifest.context_fingerprint
    run(rebuild=True)
    assert Index.open(docs).manifest.context_fingerprint == fingerprint
    assert_same(first, contents(docs))
    run(rebuild=True, seed=1, context_size=4)
    assert Index.open(docs).manifest.context_fingerprint != fingerprint


def test_an_update_touches_only_what_changed(docs, run):
    n_chunks = run().chunks
    before = Index.open(docs)
    removed = before.chunks.count_rows("path = '00.md'")
    fingerprint = before.manifest.context_fingerprint
    assert not run().changed
    (docs / "new.md").write_text("the moon is new")
    (docs / "00.md").unlink()
    (docs / "01.md").rename(docs / "renamed.md")
    (docs / "02.md").touch()
    report = run()
    assert report.embedded == 1 and report.documents == 12
    assert report.chunks == n_chunks - removed + 1
    after = Index.open(docs)
    assert after.manifest.context_fingerprint == fingerprint
    paths = set(after.chunks.to_arrow()["path"].to_pylist())
    assert {"new.md", "renamed.md"} <= paths and not {"00.md", "01.md"} & paths
    assert before.chunks.count_rows() == n_chunks, "a generation that a reader has open is not changed"


@pytest.mark.slow
@pytest.mark.parametrize("column", [None, "page"])
def test_records_that_are_chunks_of_one_document_share_its_context(tmp_path, tiny_checkpoint, tiny_encoder, column):
    def write(*texts):
        names = [(0, 0), (0, 1), (0, 2), (1, 0)]
        parts = [{"_id": f"{page}::{part}"} if column is None else {"_id": part, "page": page} for page, part in names]
        rows = [row | {"text": text} for row, text in zip(parts, texts, strict=True)]
        (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
        return make_index([tmp_path], model=tiny_checkpoint, columns=Columns(document=column), vectors="float32")

    report = write("the cat", "the dog", "the moon", "the river")
    assert (report.documents, report.chunks) == (2, 4)
    assert write("the cat", "the dog", "the stone", "the river").embedded == 1
    index = Index.open(tmp_path)
    rows = index.chunks.search().where("document_id = 'corpus.jsonl#0'").limit(10).to_arrow()
    own = tiny_encoder.encode(rows["text"].to_pylist(), "document", index.context)
    expected = add_document_context(own, tiny_encoder.config.document_weight)
    np.testing.assert_allclose(index.vectors_in(rows), expected, atol=1e-2)
    records = {str(hit.chunk.record) for hit in Searcher(index).search("stone", mode="text")}
    assert records == {"0::2" if column is None else "2"}


def test_records_that_share_an_id_far_apart_keep_their_vectors(tmp_path, tiny_checkpoint, tiny_encoder):
    def write(*texts):
        rows = [{"_id": name, "text": text} for name, text in zip("aba", texts, strict=True)]
        (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))

    write("the cat", "the dog", "the moon and the river")
    make_index([tmp_path], model=tiny_checkpoint, vectors="float32")
    write("the cat", "the dog", "the bread")
    make_index([tmp_path], model=tiny_checkpoint)
    index = Index.open(tmp_path)
    rows = index.chunks.to_arrow()
    own = tiny_encoder.encode(rows["text"].to_pylist(), "document", index.context)
    np.testing.assert_allclose(to_unit(index.vectors_in(rows)), own, atol=1e-2)


def test_a_refresh_draws_a_new_sample_and_keeps_first_stage_vectors(docs, run):
    run(context_size=100)
    old = Index.open(docs).context
    (docs / "new.md").write_text("the moon is new")
    run(refresh_context=True)
    new = Index.open(docs).context
    assert new.fingerprint != old.fingerprint and len(new.inputs.vectors) == len(old.inputs.vectors) + 1
    known = dict(zip(old.sampled.content_hashes, old.inputs.vectors, strict=True))
    for content, vector in zip(new.sampled.content_hashes, new.inputs.vectors, strict=True):
        np.testing.assert_array_equal(vector, known.get(content, vector))


def test_the_whitening_is_fitted_to_every_chunk_and_not_to_the_sample(docs, closed_checkpoint):
    make_index([docs], model=closed_checkpoint, context_size=4)
    context = Index.open(docs).context
    texts = contents(docs)[0]["text"].to_pylist()
    encoder = load_encoder(closed_checkpoint)
    rounded = from_codes(*to_codes(encoder.encode(texts, "document", context.sample)))
    expected = soft_whitening(rounded, encoder.config.statistics)
    np.testing.assert_allclose(context.whitening.shift, expected.shift, atol=1e-5)
    np.testing.assert_allclose(context.whitening.projection, expected.projection, atol=1e-4)
    make_index([docs], model=closed_checkpoint, context_size=4, seed=1, rebuild=True)
    again = Index.open(docs).context
    assert again.sampled != context.sampled
    np.testing.assert_allclose(again.whitening.projection, context.whitening.projection, atol=1e-4)


@pytest.mark.parametrize("make", [lambda folder: None, lambda folder: (folder / "bad.md").write_bytes(b"\xff")])
def test_nothing_to_index_is_an_error(tmp_path, tiny_checkpoint, make):
    make(tmp_path)
    with pytest.raises(SourceError, match="nothing readable"):
        make_index([tmp_path], model=tiny_checkpoint)


def test_records_are_read_whatever_the_size_of_their_file(docs, run):
    (docs / "many.jsonl").write_text("\n".join(json.dumps({"text": f"the moon {number}"}) for number in range(50)))
    (docs / "long.md").write_text("the moon " * 100)
    report = run(max_file_bytes=500)
    assert report.documents == 12 + 50
    assert [item.path for item in report.skipped] == ["long.md"]


def test_another_model_is_refused_by_name(docs, run, closed_checkpoint):
    run()
    with pytest.raises(IndexMismatchError, match="rebuild"):
        make_index([docs], model=closed_checkpoint)
    make_index([docs], model=closed_checkpoint, rebuild=True)


def test_paths_with_quotes_and_newlines(docs, run, tiny_encoder):
    (docs / 'it\'s\na "name".md').write_text("the stone is odd")
    run()
    (docs / 'it\'s\na "name".md').write_text("the stone is odder")
    assert run().embedded == 1
    hits = Searcher(Index.open(docs), tiny_encoder).search("odder", 1, "text")
    assert hits[0].chunk.path == 'it\'s\na "name".md'


def test_nothing_is_written_to_the_temporary_folder_of_the_system(docs, run, monkeypatch, tmp_path):
    """Lance shuffles vectors through temporary files when it makes a vector index."""
    monkeypatch.setattr(write, "VECTOR_INDEX_FROM", 4)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    run()
    assert os.environ["TMPDIR"] == str(tmp_path / "nowhere") and not (tmp_path / "nowhere").exists()
    index = Index.open(docs)
    assert "vector_idx" in {one.name for one in index.chunks.list_indices()}
    assert not (index.generation / "tmp").exists()
