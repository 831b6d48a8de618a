from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import cdesearch
from cdesearch.context.context import ContextSample
from cdesearch.context.vectors import to_unit
from cdesearch.context.whitening import Whitening
from cdesearch.evaluation.questions import Question
from cdesearch.evaluation.ranking import PlainVectors, asking, by_both, by_vectors, by_words
from cdesearch.search.documents import DocumentReader
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from cdesearch.store.vector_format import KINDS

QUERIES = ("how long must the dough rise", "water at the new moon", "bring the device back to its first state", "day")


@pytest.mark.slow
def test_the_ranks_are_those_of_a_search_in_each_mode(manual):
    with Searcher(Index.open(manual)) as searcher, asking(Index.open(manual)) as opened:
        rankings = {
            "text": by_words,
            "dense": by_vectors,
            "hybrid": by_both,
        }
        for mode, text in product(rankings, QUERIES):
            hits = searcher.search(text, 3, mode).hits
            questions = [Question(text, "", frozenset({hit.chunk.id})) for hit in hits]
            asked = opened.ask(questions, lambda _: None)
            assert [rankings[mode](one) for one in asked] == [hit.rank for hit in hits], (mode, text)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_is_scored_as_if_the_question_had_never_been_in_it(tmp_path, kind):
    texts = {
        "a": "Restoring the factory state. Hold the small button for ten seconds until it blinks twice, and wait",
        "b": "Knead the dough, let it rise overnight, and bake it for fifty minutes in the state of the art oven.",
        "c": "The moon pulls the water twice a day. It pulls most at the new moon, when the sun helps.",
    }
    heading = "Restoring the factory state"
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(text)
    cdesearch.build(tmp_path, vectors=kind).close()
    index = Index.open(tmp_path)
    (chunk,) = DocumentReader(index).file("a.txt")
    answer = chunk.id
    question = Question(heading, "", frozenset({answer}), removed=heading)
    plain = Question(heading, "", frozenset({answer}))
    with asking(index) as opened:
        held, before = opened.ask([question, plain], lambda _: None)
        right = held.is_right
        text = chunk.text.replace(heading, " ")
        context, encoder = index.context, opened.reader.encoder
        attended = context.attended.copy()  # in which its own text has no heading
        attended[context.attended_chunks.index(answer)] = context.whitening.apply(
            encoder.encode([text], "document", context.sample)
        )[0]
        context = replace(context, attended=attended)
        own = to_unit(index.vectors.rounded(opened.reader.encoder.encode([text], "document", context)))[0]
        assert held.candidates.dense[right] == pytest.approx(own @ held.vector, abs=1e-3)
        assert before.candidates.dense[right] > held.candidates.dense[right] + 0.1
        assert np.isnan(held.candidates.text[right]).all() and before.candidates.text[right] > 0
        assert by_words(before) == 1 and by_words(held) is None
        np.testing.assert_array_equal(held.candidates.dense[~right], before.candidates.dense[~right])
        assert PlainVectors(opened).is_different == index.vectors.keeps_first_stage


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


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_is_scored_in_the_context_of_its_document(tmp_path, kind):
    parts = [
        f"## {word.title()}\n\n" + f"The {word} is described here at length. " * 30 for word in QUERIES[2].split()[1:]
    ]
    (tmp_path / "long.md").write_text("# Long\n\n" + "\n\n".join(parts))
    cdesearch.build(tmp_path, vectors=kind).close()
    index = Index.open(tmp_path)
    chunks = DocumentReader(index).file("long.md")
    assert len(chunks) > 3
    answer = chunks[1]
    # Nothing is removed that the answer contains, so its cosine must stay about what it is.
    question = Question("the device at length", "", frozenset({answer.id}), removed="no such words")
    with asking(index) as opened:
        held, before = opened.ask([question, Question(question.text, "", question.answers)], lambda _: None)
        right = held.is_right
        assert right.any()
        tolerance = {"binary": 0.06}.get(kind, 0.01)
        assert held.candidates.dense[right] == pytest.approx(before.candidates.dense[right], abs=tolerance)
