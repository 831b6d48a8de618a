"""What the texts, queries and vectors of a synthetic index are drawn from."""

import json

import numpy as np
import pytest

from benchmarks.speed.material import LONGEST, Material, Resembling, of_pairs, read_drawn, write_drawn
from benchmarks.speed.synthetic import grow, source_index
from cdesearch.context.vectors import to_unit


@pytest.fixture
def groups():
    """Twenty vectors around each of fifty centres (1000, 16), in the order of the centres."""
    random = np.random.default_rng(0)
    centres = to_unit(random.standard_normal((50, 16), np.float32))
    return to_unit(np.repeat(centres, 20, 0) + 0.05 * random.standard_normal((1_000, 16), np.float32))


def test_drawn_vectors_lie_between_neighbours(groups):
    pytest.importorskip("faiss")
    drawn = Resembling(groups).draw(500, np.random.default_rng(1))
    assert np.allclose(np.linalg.norm(drawn, axis=1), 1, atol=1e-3)
    assert (drawn @ groups.T).max(axis=1).min() > 0.95
    assert len(np.unique(drawn.round(4), axis=0)) == 500
    one = to_unit(np.ones((1, 8), np.float32))
    equal = Resembling(np.repeat(one, 30, 0)).draw(5, np.random.default_rng(0))
    assert np.allclose(equal, one, atol=1e-3), "equal vectors are neighbours of each other"


def test_sentences_and_queries_come_from_every_document_once_and_each_domain_alike(tmp_path):
    for domain in ("farms", "boats"):
        rows = [
            {"query": f"{domain} {n}?", "document": f"Sentence {n} about {domain}. No. {'Table of numbers ' * LONGEST}"}
            for n in range(30)
        ]
        (tmp_path / f"{domain}.jsonl").write_text("\n".join(map(json.dumps, [*rows, *rows])))
    queries, sentences = of_pairs(tmp_path, 20)
    expected = {f"Sentence {n} about {domain}" for domain in ("farms", "boats") for n in range(30)}
    assert sorted(sentences) == sorted(expected), "without very short and long ones"
    assert sum(query.startswith("farms") for query in queries) == 10 and len(queries) == 20
    assert queries == of_pairs(tmp_path, 20)[0] != sorted(queries)


@pytest.mark.slow
def test_drawn_texts_and_vectors_are_read_as_they_were_written(corpus, tmp_path):
    source = source_index(corpus, tmp_path / "source")
    write_drawn(Material(source), tmp_path / "drawn", 30)
    ((texts, vectors),) = Material(source).draw(30)
    ((same_texts, same_vectors),) = read_drawn(tmp_path / "drawn")
    assert texts == same_texts and np.array_equal(vectors, same_vectors)
    assert grow(source, tmp_path / "grown", read_drawn(tmp_path / "drawn")).chunks.count_rows() == 30
