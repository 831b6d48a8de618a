import re
from dataclasses import replace

import bm25s
import numpy as np
import pytest
import torch
from conftest import TINY, make_model

from trainer.data import surrogate
from trainer.data.surrogate import PairVectors, Surrogate, WordScores, open_surrogate, surrogate_vectors
from trainer.export import export


def words(text):
    return re.findall(r"\w+", text.lower())


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
    by_words = WordScores.fit(domain).scores(texts)[:, used]
    np.testing.assert_allclose(view("text", slice(None)), by_words, rtol=1e-5)
    np.testing.assert_array_equal(view("fused", slice(1, 3)), view("fused", slice(None))[1:])


def test_further_teachers_add_their_cosines_in_standard_deviations():
    random = np.random.default_rng(0)
    by = [[random.normal(size=(n, 4)).astype(np.float32) for n in (5, 5, 6)] for _ in range(3)]
    lexical = WordScores.fit([f"word{n} the" for n in range(11)])
    known = Surrogate(*by[0], lexical, teachers=(PairVectors(*by[1]), PairVectors(*by[2])))
    view = known.view(np.array([4, 0]), np.array([3]), ["word4", "the"])
    expected = view("fused", slice(None))
    for queries, documents, negatives in by[1:]:
        cosines = queries[[4, 0]] @ np.concatenate([documents[[4, 0]], negatives[[3]]]).T
        expected = expected + (cosines - cosines.mean(1, keepdims=True)) / cosines.std(1, keepdims=True)
    found = known.taught(np.array([4, 0]), np.array([3]))(view("fused", slice(None)), slice(None))
    np.testing.assert_allclose(found, expected, rtol=1e-4)


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
