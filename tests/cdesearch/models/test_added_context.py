"""A published model gets the statistics of the corpus and document context, unless it is used plain."""

from pathlib import Path

import numpy as np
import pytest
from built import make_index
from command import run_here
from random_biencoder import biencoder_folder, keep_on_torch
from small_corpus import CORPUS, ROUNDED, TEXTS, assert_finds_what_it_holds

import cdesearch
from cdesearch.context.document import add_document_context
from cdesearch.context.token_weights import idf_weights
from cdesearch.context.vectors import to_unit
from cdesearch.context.whitening import soft_whitening
from cdesearch.encode.embedder import Embedder
from cdesearch.encode.load import load_encoder
from cdesearch.errors import InputError
from cdesearch.models.config import ADDED_DOCUMENT_WEIGHT, ADDED_STATISTICS
from cdesearch.store.index import Index


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    pytest.importorskip("transformers")
    folder = biencoder_folder(tmp_path_factory.mktemp("published") / "model", seed=7)
    keep_on_torch(folder)
    return folder


@pytest.fixture
def index(bert, documents):
    make_index([documents], model=bert)
    return documents / ".cdesearch"


def test_the_vectors_are_the_published_ones_after_whitening_by_the_corpus(bert):
    embedder, plain = Embedder(bert), load_encoder(bert, plain=True)
    context = embedder.sample_context(CORPUS)
    special = np.array(sorted(plain.tokenizer.get_added_tokens_decoder()))
    np.testing.assert_array_equal(
        context.inputs.token_weights, idf_weights(plain.count_tokens(CORPUS), special, ADDED_STATISTICS.idf_exponent)
    )
    bare = plain.make_sample([], [], np.zeros((0, 32), np.float32), plain.count_tokens(CORPUS), 0)
    np.testing.assert_array_equal(bare.inputs.token_weights, np.ones(160))
    pooled = embedder.encoder.encode(CORPUS, "document", _unwhitened(context))
    whitening = soft_whitening(pooled, ADDED_STATISTICS)
    for role in ("query", "document"):
        expected = whitening.apply(embedder.encoder.encode(TEXTS, role, _unwhitened(context)))
        np.testing.assert_allclose(embedder.encode(TEXTS, role, context), expected, atol=1e-5)


def test_the_chunks_of_an_index_have_document_context_and_the_null_of_the_fusion_has_it_too(index):
    opened = Index(index)
    encoder = load_encoder(Path(opened.manifest.model))
    rows = opened.chunks.to_arrow().to_pydict()
    own = encoder.encode(rows["text"], "document", opened.context)
    names = np.array(rows["document_id"])
    for name in set(names):
        here = names == name
        np.testing.assert_allclose(
            np.stack(rows["vector"])[here], add_document_context(own[here], ADDED_DOCUMENT_WEIGHT), atol=ROUNDED
        )
    stored = dict(zip(rows["id"], rows["vector"], strict=True))
    sampled = np.stack([stored[chunk] for chunk in opened.context.sampled.chunk_ids])
    np.testing.assert_allclose(opened.context.sample_vectors, to_unit(sampled), atol=1e-6)
    assert_finds_what_it_holds(cdesearch.open(index))


def test_a_plain_index_holds_the_published_vectors(bert, documents):
    opened = cdesearch.build(documents, model=bert, plain=True)
    assert opened.index.manifest.added_context is False
    rows = opened.index.chunks.to_arrow().to_pydict()
    published = load_encoder(bert, plain=True).encode(rows["text"], "document", None)
    np.testing.assert_allclose(np.stack(rows["vector"]), published, atol=ROUNDED)
    assert_finds_what_it_holds(opened)


def test_an_update_keeps_an_index_plain(bert, documents):
    cdesearch.build(documents, model=bert, plain=True).close()
    (documents / "late.md").write_text("A cat sat on the late bread.")
    with cdesearch.build(documents, model=bert) as updated:
        assert updated.report.embedded == 1
        assert updated.index.manifest.added_context is False
        assert updated.search("cat", mode="dense")


def test_a_later_choice_needs_a_rebuild_and_says_so(bert, index, documents):
    with pytest.raises(InputError, match="built without --plain") as caught:
        make_index([documents], model=bert, plain=True)
    assert "--rebuild" in caught.value.remedy
    make_index([documents], model=bert, plain=True, rebuild=True)
    assert Index(index).manifest.added_context is False
    with pytest.raises(InputError, match="built with --plain"):
        make_index([documents], model=bert, plain=False)


def test_a_model_that_was_trained_with_a_corpus_has_no_plain_vectors(tiny_checkpoint, documents):
    for model in (None, tiny_checkpoint):
        with pytest.raises(InputError, match="trained to read a corpus"):
            Embedder(model, plain=True)
    with pytest.raises(InputError, match="trained to read a corpus"):
        make_index([documents], model=tiny_checkpoint, plain=True)


def _unwhitened(context):
    from cdesearch.context.context import NullContext
    from cdesearch.context.whitening import Whitening

    return NullContext(context.inputs, Whitening.identity(len(context.whitening.shift)))


def test_the_command_line_takes_plain_and_the_status_shows_it(bert, documents, tmp_path):
    for words, shown in ((["--plain"], "False"), (["--rebuild", "--no-plain"], "True")):
        assert run_here(["index", documents, "--model", bert, *words], tmp_path).returncode == 0
        (line,) = (line for line in run_here(["status", documents], tmp_path).stdout.splitlines() if "added" in line)
        assert line.split() == ["added", "context", shown]
    refused = run_here(["index", documents, "--index", tmp_path / "other", "--plain"], tmp_path)
    assert refused.returncode == 2 and "The default model was trained to read a corpus" in refused.stderr
