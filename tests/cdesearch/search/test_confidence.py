import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cdesearch
from cdesearch.context.vectors import to_unit
from cdesearch.search.confidence import (
    BY_COSINE,
    BY_DEVIATION,
    BY_WORDS,
    JOINED,
    MANY,
    UNKNOWN_NAME,
    AskedWords,
    CosineScale,
    asked_words,
    share_of_words,
    with_confidence,
)
from cdesearch.search.fusion import MIN_NULL_SIZE
from cdesearch.search.result import ANSWERABLE
from cdesearch.store.schema import Chunk, Hit
from cdesearch.words.word_forms import STEM, word_stem

ANIMALS = ("cat", "dog", "horse", "cow", "hen", "goose", "sheep", "goat", "pig", "bee")
HABITS = ("sleeps in the sun", "eats fresh grass", "runs away from thunder", "drinks cold water")
NOTHING = "which visa is required for a journey to Japan?"


@pytest.fixture(scope="module")
def searcher(searcher_of):
    pairs = product(ANIMALS, enumerate(HABITS))
    return searcher_of({f"{animal}-{n}.txt": f"The {animal} {habit} in summer." for animal, (n, habit) in pairs})


def hit(rank=1, text="the cat purrs", cosine=0.5, bm25=4.0):
    return Hit(rank, 1.0, Chunk("0", "a", None, 0, "a.txt", "", (), text, 0, 1, 1, None), cosine, bm25)


def confident(query, *arguments, language="en", **options):
    return with_confidence(query, AskedWords.of(query, {language: 1.0}), *arguments, **options)


def probability(*terms):
    return 1 / (1 + math.exp(-sum(terms)))


@pytest.mark.parametrize("weights", [BY_COSINE, BY_DEVIATION])
def test_the_confidence_is_a_logistic_model_of_cosine_words_and_rank(weights):
    scale = CosineScale(0.1, 0.2, weights)
    (first, second) = confident("do cats bark?", (hit(), hit(2)), scale, 1.0)
    terms = (weights.bias, weights.cosine * 0.5, weights.evidence * 2, weights.share / 2)
    assert first.confidence == pytest.approx(probability(*terms))
    assert second.confidence == pytest.approx(probability(*terms, weights.rank * math.log(2)))
    (lacking,) = confident("do cats bark?", (hit(),), scale, 1.0, has_unknown_name=True)
    assert lacking.confidence == pytest.approx(probability(*terms, UNKNOWN_NAME))


@pytest.mark.parametrize(("scale", "cosine"), [(None, 0.5), (CosineScale(0.1, 0.2, BY_COSINE), None)])
def test_without_a_scale_or_a_cosine_the_words_alone_decide(scale, cosine):
    (found,) = confident("cats purr", (hit(cosine=cosine),), scale, 2.0)
    assert found.confidence == pytest.approx(
        probability(BY_WORDS.bias, BY_WORDS.evidence * math.log(2), BY_WORDS.share)
    )
    (missed,) = confident("dogs", (hit(cosine=cosine, bm25=None),), scale, 0.0)
    assert missed.confidence == pytest.approx(probability(BY_WORDS.bias)) and missed.confidence < ANSWERABLE


def test_cosines_are_measured_relative_to_those_between_different_chunks_of_the_context():
    vectors = to_unit(np.random.default_rng(0).standard_normal((MIN_NULL_SIZE, 8)).astype(np.float32))
    pairs = [float(vectors[i] @ vectors[j]) for i in range(MIN_NULL_SIZE) for j in range(i)]
    scale = CosineScale.of(vectors, is_whitened=True)
    assert (scale.mean, scale.spread) == pytest.approx((np.mean(pairs), np.std(pairs)))
    assert scale.deviation(scale.mean + 3 * scale.spread) == pytest.approx(3)
    assert CosineScale.of(np.repeat(vectors[:1], 20, 0), is_whitened=True) is None
    assert CosineScale.of(vectors[1:], is_whitened=False) is None


def test_the_fewer_chunks_there_are_the_more_the_same_cosine_means():
    points = to_unit(np.random.default_rng(0).standard_normal((MANY + 9, 64)).astype(np.float32))
    found = [
        confident("cats", (hit(text="dogs", cosine=0.5),), CosineScale.of(points[:n], is_whitened=True), 0.0)
        for n in (1, 40, 150, MANY)
    ]
    confidences = [one.confidence for (one,) in found]
    assert confidences == sorted(confidences, reverse=True) and confidences[-1] < 0.8 * confidences[0]
    assert CosineScale.of(points, is_whitened=True).weights == BY_COSINE


def test_among_few_chunks_one_common_word_is_no_answer():
    scale = CosineScale.of(np.eye(3, dtype=np.float32), is_whitened=True)
    (near,) = confident("does a cat purr?", (hit(cosine=0.3),), scale, 1.0)
    (far,) = confident("which cat food is best for old dogs?", (hit(cosine=0.0),), scale, 0.2)
    assert near.confidence > 0.5 and far.confidence < ANSWERABLE


def test_a_query_that_a_text_contains_word_for_word_is_answered_by_it():
    for query, text in (("expansion vessel", "The *expansion* vessel is new."), ("old hat?", "An old\nhat.")):
        (found,) = confident(query, (hit(text=text, cosine=0.0),), None, 0.0)
        assert found.confidence >= 0.5
    for query, text in (("expansion vessel", "Expansion of a vessel."), ("how is it", "This is how is it.")):
        (found,) = confident(query, (hit(text=text, cosine=0.0),), CosineScale(0.1, 0.1, BY_COSINE), 0.0)
        assert found.confidence < 0.5


@pytest.mark.parametrize(
    ("query", "text", "language", "expected"),
    [
        ("Kuchen", "Omas Apfelkuchen.", "de", JOINED),
        ("Kündigung", "Die Kuendigungsfrist.", "de", 0.0),
        ("Kuendigung", "Die Kündigungsfrist.", "de", JOINED),
        ("Kuchen", "Die Küche ist neu.", "de", 0.0),
        ("cake", "A pancake.", "en", 0.0),
        ("Haus Kuchen", "Omas Apfelkuchen.", "de", 0.0),
    ],
)
def test_a_compound_of_the_only_word_of_a_query_is_an_answer(query, text, language, expected):
    (found,) = confident(
        query, (hit(text=text, cosine=-1.0),), CosineScale(0.1, 0.1, BY_COSINE), 0.0, language=language
    )
    assert found.confidence == pytest.approx(expected, abs=0.01)


def test_question_words_do_not_count_unless_there_are_no_others():
    assert asked_words("What is the Résumé of cats?") == {"resume", "cats"}
    assert asked_words("what is it?") == {"what", "is", "it"} and asked_words("?!") == frozenset()
    assert share_of_words(frozenset({"resume", "cats", "fly", "parsing"}), "Résumés of parsers; a cat, flying") == 0.75
    assert share_of_words(frozenset(), "a text") == 0
    assert (
        share_of_words(asked_words("बिजली का बिल"), "मैं कल बाजार जाकर लाल कमीज लाऊँगा") == 0
    )  # vowels are no ends of words


@given(st.text("abs", min_size=1, max_size=7), st.lists(st.text("abs", min_size=1, max_size=7)))
def test_a_word_counts_if_the_text_contains_a_form_of_it_or_the_singular(word, tokens):
    if len(word) < STEM:
        expected = any(token == word or (len(word) == STEM - 1 and token == f"{word}s") for token in tokens)
    else:
        expected = word.removesuffix("s") in tokens or any(token.startswith(word_stem(word)) for token in tokens)
    assert share_of_words(frozenset({word}), " ".join(tokens)) == expected


@pytest.mark.parametrize("mode", ["hybrid", "dense", "text"])
def test_an_answer_is_confident_and_a_foreign_question_is_not_answered(searcher, mode):
    found = searcher.search("does the goose run away from thunder?", 10, mode)
    assert found[0].confidence > 0.2 and found.seems_answered
    assert all(0 < one.confidence < 1 for one in found)
    assert not searcher.search(NOTHING, 10, mode).seems_answered


@pytest.mark.parametrize("mode", ["hybrid", "dense", "text"])
def test_the_confidence_of_a_hit_does_not_depend_on_the_number_of_hits(searcher, mode):
    few, many = (searcher.search("the goose in the sun", k, mode) for k in (2, 12))
    assert [one.confidence for one in few] == pytest.approx([one.confidence for one in many[:2]])


def test_the_python_interface_leaves_out_hits_below_a_confidence(searcher):
    with cdesearch.open(searcher.index.folder) as index:
        every = index.search("the goose in the sun")
        limit = sorted(one.confidence for one in every)[5]
        kept = index.search("the goose in the sun", min_confidence=limit)
        assert [one.chunk.id for one in kept] == [one.chunk.id for one in every if one.confidence >= limit]
        with pytest.raises(cdesearch.errors.QueryError, match="from 0 to 1"):
            index.search("goose", min_confidence=30)
        for value in (math.nan, math.inf, -0.1):
            with pytest.raises(cdesearch.errors.QueryError, match="is not a confidence"):
                index.search("goose", min_confidence=value)
        for name, value in (("min_confidence", "0.3"), ("min_confidence", None), ("since", 7)):
            with pytest.raises(cdesearch.errors.QueryError, match=f"{name} must be a"):
                index.search("goose", **{name: value})
