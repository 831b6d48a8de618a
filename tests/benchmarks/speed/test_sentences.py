"""What the texts and queries of a synthetic index are drawn from."""

import json

import pytest

from benchmarks.speed.sentences import LONGEST, PairTexts


@pytest.fixture
def pairs(tmp_path):
    for domain in ("farms", "boats"):
        rows = [
            {"query": f"{domain} {n}?", "document": f"Sentence {n} about {domain}. No. {'Table of numbers ' * LONGEST}"}
            for n in range(30)
        ]
        (tmp_path / f"{domain}.jsonl").write_text("\n".join(map(json.dumps, [*rows, *rows])))
    return PairTexts(tmp_path)


def test_sentences_are_those_of_every_document_once_without_very_short_and_long_ones(pairs):
    expected = {f"Sentence {n} about {domain}" for domain in ("farms", "boats") for n in range(30)}
    assert sorted(pairs.sentences()) == sorted(expected)


def test_queries_come_from_each_domain_alike_in_an_order_that_the_seed_decides(pairs):
    queries = pairs.queries(20)
    assert sum(query.startswith("farms") for query in queries) == 10 and len(queries) == 20
    assert queries == pairs.queries(20) != sorted(queries)
