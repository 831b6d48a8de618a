import os
import shutil

import numpy as np
import pytest
from built import contents, make_index, write_files
from staged import WINDOW, Told, publish_often

from cdesearch.cli.status import read_status
from cdesearch.context.document import add_document_context
from cdesearch.context.vectors import to_unit
from cdesearch.encode.encoder import Encoder
from cdesearch.errors import IndexStateError
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from indexer.embedding import spool, stages

QUERIES = ["the moon", "About bread 5", "engine", "river stone house", "nothing of this"]


@pytest.fixture
def often(monkeypatch):
    publish_often(monkeypatch)


@pytest.fixture
def dated(docs):
    """Documents of which 05.md is the newest, then 04.md, and so on; 06.md is the oldest."""
    for number in range(12):
        when = 1_700_000_000 + (number - 6) % 12 * 100
        os.utime(docs / f"{number:02}.md", (when, when))
    return docs


@pytest.fixture
def undisturbed(dated, tmp_path, tiny_checkpoint, monkeypatch):
    """The same documents, indexed without stages."""
    copy = shutil.copytree(dated, tmp_path / "undisturbed" / "docs")
    with monkeypatch.context() as patched:
        patched.setattr(spool, "WINDOW", WINDOW)
        make_index([copy], model=tiny_checkpoint)
    return copy


def staged(docs, model, observe):
    """Build in stages; returns the results of `observe` for each stage and for the complete index."""
    seen = []
    make_index([docs], Told(lambda _: seen.append(observe())), model=model)
    return [*seen, observe()]


def hits(docs, encoder):
    with Searcher(Index.open(docs), encoder) as searcher:
        return [searcher.search(query, 50, mode).hits for query in QUERIES for mode in ("hybrid", "dense", "text")]


def assert_equal(docs, other, encoder):
    one, another = contents(docs), contents(other)
    assert one[0].equals(another[0])
    assert np.array_equal(one[1], another[1]), "every bit of every vector"
    assert hits(docs, encoder) == hits(other, encoder)
    assert Index.open(docs).manifest.context_fingerprint == Index.open(other).manifest.context_fingerprint


def test_a_build_in_stages_ends_with_the_vectors_and_hits_of_one_without(
    dated, undisturbed, often, tiny_checkpoint, tiny_encoder
):
    manifests = staged(dated, tiny_checkpoint, lambda: Index.open(dated).manifest)
    n_chunks = manifests[0].n_chunks
    assert n_chunks > 2 * WINDOW
    assert [one.n_vectors for one in manifests] == [*range(0, n_chunks, WINDOW), None]
    assert {one.n_chunks for one in manifests} == {n_chunks}
    assert len({one.context_fingerprint for one in manifests}) == len(manifests), "each stage has its own context"
    assert_equal(dated, undisturbed, tiny_encoder)


def test_the_first_stage_answers_by_words_without_a_model(dated, often, tiny_checkpoint):
    def observe():
        index = Index.open(dated)
        if index.manifest.n_vectors != 0:
            return None
        searcher = Searcher(index, model=dated / "no model is here")
        found = searcher.search("the bread 5")
        with pytest.raises(IndexStateError, match=r"not complete yet \(vectors: 0%, words: all\).*--mode text"):
            Searcher(index, model=tiny_checkpoint).search("the bread 5", mode="dense")
        status = read_status(index)
        assert (status["vectors"], status["stage"]) == (0, "vectors: 0%, words: all")
        return found, searcher.search("the bread 5", mode="text")

    by_default, by_words = staged(dated, tiny_checkpoint, observe)[0]
    assert by_default.hits == by_words.hits and by_default[0].chunk.path == "05.md"
    assert by_default.stage == "vectors: 0%, words: all"


def test_a_stage_has_the_newest_files_vectors_in_a_context_of_its_own(dated, often, tiny_checkpoint, tiny_encoder):
    def observe():
        index = Index.open(dated)
        return index, contents(dated), index.manifest.n_vectors and index.context

    newest_first = [f"{(5 - number) % 12:02}.md" for number in range(12)]
    for index, (rows, vectors), context in staged(dated, tiny_checkpoint, observe)[1:-1]:
        known = vectors.any(axis=1)
        assert known.sum() == index.manifest.n_vectors
        paths = np.array(rows["path"].to_pylist())
        ranks = np.array([newest_first.index(path) for path in paths])
        assert ranks[known].max() <= ranks[~known].min()
        own = tiny_encoder.encode([rows["text"][row].as_py() for row in np.flatnonzero(known)], "document", context)
        for path in set(paths[known]):
            here = paths[known] == path
            expected = add_document_context(own[here], tiny_encoder.config.document_weight)
            np.testing.assert_allclose(vectors[known][here], expected, atol=1e-2)
        sampled = dict(zip(rows["id"].to_pylist(), vectors, strict=True))
        expected = [sampled[chunk] for chunk in context.sampled.chunk_ids if sampled[chunk].any()]
        np.testing.assert_array_equal(context.sample_vectors, to_unit(np.stack(expected)))


def test_a_small_build_has_no_stages_and_one_generation(dated, tiny_checkpoint):
    assert len(staged(dated, tiny_checkpoint, lambda: None)) == 1
    assert len(list((dated / ".cdesearch" / "generations").iterdir())) == 1
    assert Index.open(dated).manifest.is_complete


def test_a_large_build_publishes_words_once_and_vectors_only_after_a_while(dated, often, tiny_checkpoint, monkeypatch):
    monkeypatch.setattr(stages, "SECONDS", 3600.0)
    assert [one.n_vectors for one in staged(dated, tiny_checkpoint, lambda: Index.open(dated).manifest)] == [0, None]


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"rebuild": True}, {"refresh_context": True}])
def test_a_complete_index_answers_until_the_next_one_is_complete(options, dated, often, tiny_checkpoint):
    make_index([dated], model=tiny_checkpoint)
    published = []
    (dated / "05.md").write_text("# Changed\n\nthe lighthouse keeper")
    make_index([dated], Told(published.append), model=tiny_checkpoint, **options)
    assert not published and Index.open(dated).manifest.is_complete


def test_a_text_that_occurs_in_many_files_is_embedded_once(dated, tiny_checkpoint, monkeypatch):
    monkeypatch.setattr(spool, "WINDOW", WINDOW)
    licences = [f"part-{number}/licence.txt" for number in range(40)]
    write_files(dated, dict.fromkeys(licences, "the terms of the engine and the moon"))
    real, texts = Encoder.stream, []

    def counted(self, asked, *arguments):
        texts.extend(asked)
        return real(self, asked, *arguments)

    monkeypatch.setattr(Encoder, "stream", counted)
    make_index([dated], model=tiny_checkpoint)
    assert len(texts) == len(set(texts)) > WINDOW
    assert sum("terms" in text for text in texts) == 1
