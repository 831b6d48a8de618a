from dataclasses import replace

import numpy as np
import pytest

import cdesearch
from cdesearch.encode.token_states import TokenStates
from cdesearch.search.passage_lines import query_words, shown_lines
from cdesearch.search.reranking import INTERACTION_WEIGHT, RERANKED, interaction, passage_line, rerank
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from cdesearch.store.schema import Chunk

TOPICS = ("cats", "dogs", "bread", "soup", "the moon", "a rocket")


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    root = tmp_path_factory.mktemp("corpus")
    for number in range(RERANKED + 10):
        (root / f"{number}.txt").write_text(
            f"Note {number} about {TOPICS[number % len(TOPICS)]}. It has {number} words."
        )
    cdesearch.build(root)
    with Searcher(Index.open(root)) as opened:
        yield opened


def states(*vectors, weights=None, starts=None):
    rows = np.array(vectors, np.float32)
    weighted = np.ones(len(rows), np.float32) if weights is None else np.array(weights, np.float32)
    return TokenStates(rows, weighted, np.arange(len(rows)) if starts is None else np.array(starts))


def test_each_token_of_a_query_counts_by_its_nearest_token_and_its_weight():
    query = states((1, 0), (0, 1), weights=(3, 1))
    assert interaction(query, query) == pytest.approx(1)
    assert interaction(query, states((1, 0), (-1, 0))) == pytest.approx(3 / 4)
    assert interaction(query, states((0.6, 0.8))) == pytest.approx((3 * 0.6 + 0.8) / 4)


def test_a_text_without_tokens_has_no_interaction():
    nothing = TokenStates(np.empty((0, 2), np.float32), np.empty(0, np.float32), np.empty(0, int))
    assert interaction(nothing, states((1, 0))) == interaction(states((1, 0)), nothing) == 0


def test_reranking_orders_the_best_hybrid_hits_by_score_and_interaction(searcher):
    hybrid = searcher.search("notes on the moon", RERANKED)
    reranked = searcher.search("notes on the moon", RERANKED, mode="rerank")
    encoder, context = searcher.encoder, searcher.index.context
    query = encoder.token_states(["notes on the moon"], "query", context)[0]
    chunks = encoder.token_states([hit.chunk.text for hit in hybrid], "document", context)
    found = np.array([interaction(query, chunk) for chunk in chunks])
    scores = np.array([hit.score for hit in hybrid])
    total = scores + INTERACTION_WEIGHT * scores.std() * (found - found.mean()) / found.std()
    expected = [hybrid[i].chunk.id for i in np.argsort(-total, kind="stable")]
    assert [hit.chunk.id for hit in reranked] == expected != [hit.chunk.id for hit in hybrid]
    assert [hit.score for hit in reranked] == pytest.approx(sorted(total, reverse=True))
    assert [hit.rank for hit in reranked] == list(range(1, RERANKED + 1))


@pytest.mark.parametrize("k", [1, 3, RERANKED + 5])
def test_the_number_of_hits_does_not_change_the_best_ones(searcher, k):
    few = searcher.search("bread and soup", k, mode="rerank")
    assert len(few) == k
    many = searcher.search("bread and soup", RERANKED, mode="rerank")
    n_same = min(k, RERANKED)
    assert [hit.chunk.id for hit in few][:n_same] == [hit.chunk.id for hit in many][:n_same]


def test_several_queries_are_reranked_like_each_alone(searcher):
    queries = ["cats", "a rocket", "soup with bread"]
    together = searcher.search_many(queries, 5, mode="rerank")
    alone = [searcher.search(query, 5, mode="rerank") for query in queries]
    assert [result.hits for result in together] == [result.hits for result in alone]


def test_a_single_hit_keeps_its_score(searcher):
    hit = searcher.search("cats", 1)[0]
    reranked = rerank("cats", [hit], searcher.encoder, searcher.index.context)
    assert reranked == (replace(hit, passage_line=0),)
    assert rerank("cats", [], searcher.encoder, searcher.index.context) == ()


def test_the_passage_is_the_lines_with_the_highest_interaction():
    text = "Title\nab\n\ncd\nef\ngh\nij\nkl"
    chunk = Chunk("1", "a", None, 0, "a.txt", "Title", (), text, 6, 1, 7, None)
    starts = [0, 6, *range(10, 24, 3)]  # one token for each line that is not blank
    query = states((1, 0), (0, 1))

    def passage(*vectors):
        return passage_line(query, states(*vectors, starts=starts), chunk)

    off, one, other = (-1, 0), (1, 0), (0, 1)
    assert passage(one, off, off, one, off, off, other) == 2, "the title is no line, and blank lines do not count"
    assert passage(off, other, off, off, one, off, off) == 0, "the first of several"
    assert passage(off, off, off, off, off, one, off) == 1
    assert passage_line(query, states(one, starts=[6]), replace(chunk, text="Title\nab")) == 0


def test_a_reranked_hit_shows_the_lines_that_answer_in_other_words(tmp_path):
    filler = [f"The committee met on day {day} and spoke about the budget." for day in range(1, 9)]
    answer = "A kitten purrs when it is content."
    (tmp_path / "a.txt").write_text("\n".join([*filler, answer, *filler]))
    for number in range(20):
        (tmp_path / f"{number}.txt").write_text(f"Bread number {number} is baked in the oven.")
    cdesearch.build(tmp_path)
    query = "how do I know that my cat is happy about the day"
    words = query_words(query)
    with Searcher(Index.open(tmp_path)) as opened:
        by_words = opened.search(query, 1)[0]
        reranked = opened.search(query, 1, mode="rerank")[0]
    assert by_words.passage_line is None
    assert answer not in [line.text for line in shown_lines(by_words, words, full=False)]
    assert answer in [line.text for line in shown_lines(reranked, words, full=False)]


@pytest.mark.parametrize("length", [5, 300, 1001])
def test_each_token_knows_where_it_begins_in_its_text(searcher, length):
    text = " ".join(f"cat{n % 7}" for n in range(length))
    encoder = searcher.encoder
    found = encoder.token_states([text], "document", None)[0]
    offsets = [start for start, _ in encoder.tokenizer.encode(text, add_special_tokens=False).offsets]
    assert set(found.starts) <= set(offsets) and (np.diff(found.starts) >= 0).all()
    assert found.starts.tolist()[:200] == offsets[:200] and len(found.starts) == len(found.weights)


def test_the_tokens_of_a_vector_make_the_vector(tiny_encoder):
    texts = ["a cat", "the dog barks at the cat"]
    for text, found in zip(texts, tiny_encoder.token_states(texts, "document", None), strict=True):
        n_tokens = len(tiny_encoder.tokenizer.encode(text, add_special_tokens=False).ids)
        assert found.vectors.shape == (n_tokens, tiny_encoder.dimension)
        assert np.linalg.norm(found.vectors, axis=1) == pytest.approx(1)
        assert found.weights == pytest.approx(1)  # the null context has equal weights
