import math
import re
from collections import Counter
from dataclasses import replace

import bm25s
import numpy as np
import pytest
import torch
from conftest import TINY, make_model
from hypothesis import given
from hypothesis import strategies as st

from trainer.data import surrogate
from trainer.data.surrogate import Surrogate, WordScores, open_surrogate, surrogate_vectors
from trainer.export import export

texts = st.lists(st.sampled_from(["the", "The", "cat", "dog's", "x1", "a_b", "moon", "...", "Ärger"]), max_size=12).map(
    " ".join
)


def words(text):
    return re.findall(r"\w+", text.lower())


def bm25(query, text, domain):
    """BM25 word by word: Lucene's idf, k1 = 0.9, b = 0.4, each word of the query once."""
    mean_length = sum(len(words(other)) for other in domain) / len(domain)
    total = 0.0
    for word in set(words(query)):
        n_with = sum(word in words(other) for other in domain)
        idf = math.log(1 + (len(domain) - n_with + 0.5) / (n_with + 0.5))
        count = Counter(words(text))[word]
        if count:
            total += idf * count * 1.9 / (count + 0.9 * (0.6 + 0.4 * len(words(text)) / mean_length))
    return total


@given(st.lists(texts, min_size=1, max_size=8), st.lists(texts, min_size=1, max_size=5), st.data())
def test_lexical_scores_are_those_of_the_formula(domain, queries, data):
    rows = data.draw(st.lists(st.integers(0, len(domain) - 1), max_size=10))
    found = WordScores.fit(domain).take(np.array(rows, np.int64)).scores(queries)
    expected = [[bm25(query, domain[row], domain) for row in rows] for query in queries]
    assert found.shape == (len(queries), len(rows)) and found.dtype == np.float32
    np.testing.assert_allclose(found, np.reshape(expected, found.shape), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("at_once", [surrogate.AT_ONCE, 5])
def test_lexical_scores_are_those_of_bm25s(at_once, monkeypatch):
    monkeypatch.setattr(surrogate, "AT_ONCE", at_once)
    random = np.random.default_rng(0)
    domain, queries = ([" ".join(f"w{n}" for n in random.zipf(1.3, 20) % 99) for _ in range(n)] for n in (60, 9))
    queries[3] = "unknown"
    index = bm25s.BM25(k1=surrogate.K1, b=surrogate.B, method="atire", idf_method="lucene")
    index.index(bm25s.tokenize(domain, token_pattern=r"\w+", stopwords=[], show_progress=False), show_progress=False)
    expected = [index.get_scores(sorted(set(words(query)))) for query in queries]
    np.testing.assert_allclose(WordScores.fit(domain).scores(queries), expected, rtol=1e-5, atol=1e-6)
    assert not expected[3].any() and np.count_nonzero(expected) > 100


def test_hard_negatives_have_surrogate_scores_of_their_own():
    random = np.random.default_rng(0)
    queries, documents, negatives = (random.normal(size=(n, 4)).astype(np.float32) for n in (5, 5, 6))
    domain = [f"word{n} the" for n in range(11)]  # five documents, six hard negatives
    known = Surrogate(queries, documents, negatives, WordScores.fit(domain))
    rows, chosen, texts = np.array([4, 0, 1]), np.array([3, 4, 0, 1]), ["word4", "word8 word5", "the"]
    used = [4, 0, 1, 8, 9, 5, 6]
    view = known.view(rows, chosen, texts)
    wanted = queries[rows] @ np.concatenate([documents[rows], negatives[chosen]]).T
    np.testing.assert_allclose(view("dense", slice(None)), wanted, rtol=1e-5)
    by_words = [[bm25(text, domain[row], domain) for row in used] for text in texts]
    np.testing.assert_allclose(view("text", slice(None)), by_words, rtol=1e-5)
    np.testing.assert_array_equal(view("fused", slice(1, 3)), view("fused", slice(None))[1:])


def test_exports_of_one_model_in_two_precisions_have_stored_vectors_of_their_own(tmp_path, tiny_tokenizer):
    tiny_tokenizer.save(str(tmp_path / "tokenizer.json"))
    model = make_model(replace(TINY, first_stage="shared"), gate=0.0)
    words = ["the cat", "a dog in the water", "moon"]
    exact, quantised = tmp_path / "fp32", tmp_path / "int8"
    for folder in (exact, quantised):
        export(model, tmp_path / "tokenizer.json", folder, folder.name)
    for folder in (exact, quantised):
        encoder = open_surrogate(folder, torch.device("cpu"))
        found = surrogate_vectors("pairs", words, "document", encoder, tmp_path / "work", lambda _: None)
        np.testing.assert_array_equal(found, encoder.encode(words, "document", None))
