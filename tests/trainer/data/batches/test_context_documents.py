from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch
from batches import write_rows
from conftest import make_tokenizer
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.data.batches.cluster import Clusters
from trainer.data.batches.stream import BatchStream, ContextDocuments, DomainData, Part
from trainer.data.material import stored_tokens
from trainer.data.pairs.domains import prepare
from trainer.data.store import Rows
from trainer.data.surrogate import Surrogate
from trainer.recipe import check_recipe


@pytest.fixture(scope="module")
def make_domain(tmp_path_factory):
    def domain_of(documents, n_negatives=0):
        folder = tmp_path_factory.mktemp("domain")
        others = [documents[(n + 1) % len(documents)] for n in range(len(documents))]
        rows = [
            {"query": str(n), "document": document, "negatives": [f" {others[n]} "] * n_negatives}
            for n, document in enumerate(documents)
        ]
        return prepare([write_rows(folder / "d.jsonl", rows)], folder / "work")[0]

    return domain_of


def stream_of(domain, clusters, size, n_negatives=0, **batches):
    values = {
        "data": {"pairs": ["p"]},
        "model": {"start": "m"},
        "batches": {"size": size, "filter": "none", "hard_negatives": n_negatives, "context": "cluster", **batches},
        "run": {"out": "o"},
    }
    n = len(domain)
    random = np.random.default_rng(0)
    queries, documents = random.standard_normal((2, n, 4)).astype(np.float32)
    vectors = random.standard_normal((n * n_negatives, 4)).astype(np.float32)
    recipe = check_recipe(values, "r.toml")
    negatives, counts = domain.negatives(n_negatives)
    with TemporaryDirectory() as folder:
        columns = (domain.column("query"), ""), (domain.column("document"), "the "), (negatives, "the ")
        tokens = [
            stored_tokens(Path(folder) / str(number), column, make_tokenizer(), prefix, 128)
            for number, (column, prefix) in enumerate(columns)
        ]
    data = DomainData(domain, Rows.of(counts, counts).ends, *tokens, Surrogate(queries, documents, vectors))
    part = Part(data, np.arange(n), clusters)
    return BatchStream(recipe, {"d": part}, {"d": ContextDocuments(part)})


def texts_of(tokens):
    return {tuple(row[mask.bool()].tolist()) for row, mask in zip(tokens.ids, tokens.mask, strict=True)}


@settings(deadline=None, max_examples=25)
@given(st.integers(8, 40), st.integers(1, 6), st.integers(0, 1), st.integers(1, 40), st.integers(0, 1000))
def test_no_document_of_a_batch_is_in_its_context(make_domain, n, k, n_negatives, size, seed):
    random = np.random.default_rng(seed)
    documents = [f"cat {number}" for number in random.integers(0, n, n)]  # some twice
    domain = make_domain(documents, n_negatives)
    clusters = Clusters(random.integers(0, k, n), np.zeros((k, 8), np.float32))
    stream = stream_of(domain, clusters, 2, n_negatives, context_size=size)
    distinct = len(set(documents))
    for step in range(stream.steps_per_epoch * 2):
        batch = stream.batch(step)
        left = distinct - len(texts_of(batch.documents))
        if not left:
            assert not batch.is_contextual
            continue
        context = texts_of(batch.context_texts)
        assert not context & texts_of(batch.documents)
        assert len(context) == len(batch.context_texts) == len(batch.is_null)
        assert len(context) == min(size, left)


def test_the_context_depends_only_on_seed_and_step(make_domain):
    domain = make_domain([f"cat {n}" for n in range(40)])
    clusters = Clusters(np.arange(40) % 4, np.zeros((4, 8), np.float32))
    one, resumed = (stream_of(domain, clusters, 4, context_size=6) for _ in range(2))
    batches = [one.batch(step) for step in range(12)]
    for step in (11, 3):
        again = resumed.batch(step)
        torch.testing.assert_close(again.context_texts.ids, batches[step].context_texts.ids)
        torch.testing.assert_close(again.is_null, batches[step].is_null)
    assert len({str(batch.context_texts.ids.tolist()) for batch in batches}) == 12


def test_processes_with_their_own_batches_take_each_batch_once(make_domain):
    domain = make_domain([f"cat {n}" for n in range(40)])
    stream = stream_of(domain, Clusters(np.zeros(40, np.int64), np.zeros((1, 4), np.float32)), 8)
    whole = [batch.queries.ids.tolist() for batch in stream.upcoming(2, 8)]
    shares = [[batch.queries.ids.tolist() for batch in stream.upcoming(1, 4, (number, 2))] for number in range(2)]
    assert [shares[number % 2][number // 2] for number in range(6)] == whole


def test_context_comes_from_the_clusters_of_the_batch_then_from_the_nearest(make_domain):
    domain = make_domain([f"cat {n}" for n in range(40)])
    cluster = np.repeat(np.arange(4), 10)
    angles = np.array([0.0, 0.4, 1.0, 2.0])[cluster]
    documents = np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)
    nothing = Rows.of(np.empty(0), np.empty(0))
    surrogate = Surrogate(documents, documents, documents[:0])
    data = DomainData(domain, nothing.ends, nothing, nothing, nothing, surrogate)
    context = ContextDocuments(Part(data, np.arange(40), Clusters(cluster, np.zeros((4, 4), np.float32))))
    batch = [f"cat {n}" for n in (0, 1, 2)]
    seen = Counter()
    for seed in range(50):
        numbers = context.choose(batch, ["cat 3"], documents[0], 10, np.random.default_rng(seed)).tolist()
        assert {4, 5, 6, 7, 8, 9} <= set(numbers) and all(number < 20 for number in numbers)
        seen.update(number for number in numbers if number >= 10)
    assert set(seen) == set(range(10, 20))
    whole = context.choose(batch, ["cat 3"], documents[0], 100, np.random.default_rng(0))
    assert whole.tolist() == list(range(4, 40))
