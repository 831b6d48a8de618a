from itertools import product

import pytest

from cdesearch.context.context import ContextSample
from cdesearch.context.whitening import Whitening
from cdesearch.evaluation.questions import Question
from cdesearch.evaluation.ranking import PlainVectors, asking, by_both, by_vectors, by_words
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index

QUERIES = ("how long must the dough rise", "water at the new moon", "bring the device back to its first state", "day")


@pytest.mark.slow
def test_the_ranks_are_those_of_a_search_in_each_mode(manual):
    with Searcher(Index.open(manual)) as searcher, asking(Index.open(manual)) as opened:
        rankings = {"text": by_words, "dense": by_vectors, "hybrid": by_both}
        for mode, text in product(rankings, QUERIES):
            hits = searcher.search(text, 3, mode).hits
            questions = [Question(text, frozenset({hit.chunk.id})) for hit in hits]
            asked = opened.ask(questions, lambda _: None)
            assert [rankings[mode](one) for one in asked] == [hit.rank for hit in hits], (mode, text)


def test_plain_vectors_are_those_without_whitening_and_documents(manual):
    index = Index.open(manual)
    with asking(index) as opened:
        encoder, plain = opened.reader.encoder, PlainVectors(opened)
        assert plain.is_different
        rows, vectors = plain._all
        table = index.chunks.search().select(["text"]).with_row_id(True).limit(100).to_arrow()
        stored = index.context
        unwhitened = ContextSample(
            stored.sampled, stored.fingerprint, stored.inputs, Whitening.identity(encoder.dimension)
        )
        texts = dict(zip(table["_rowid"].to_pylist(), table["text"].to_pylist(), strict=True))
        pooled = encoder.encode([texts[row] for row in rows.tolist()], "document", unwhitened)
        assert (vectors * pooled).sum(axis=1).min() > 0.999
