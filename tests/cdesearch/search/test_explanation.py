import json
import math
import re

import numpy as np
import pytest

import cdesearch
from cdesearch.context.vectors import to_unit
from cdesearch.errors import QueryError
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index

SUBJECTS = ["rivers", "bread", "engines", "moons", "cats", "glaciers"]
PAGES = {
    f"{subject}/{number}.md": f"# About {subject}\n\nPage {number} tells of {subject} and of {SUBJECTS[number]}."
    for subject in SUBJECTS
    for number in range(len(SUBJECTS))
}


@pytest.fixture(scope="module")
def searcher(searcher_of):
    return searcher_of(PAGES)


@pytest.fixture(scope="module")
def diary(tmp_path_factory, tiny_checkpoint):
    """An index of documents that consist of records."""
    root = tmp_path_factory.mktemp("diary")
    records = [
        {
            "_id": f"{subject}-{part}",
            "text": f"Part {part} is about {subject} {'and bread' * (part == 2)}",
            "doc": subject,
        }
        for subject in SUBJECTS
        for part in range(5)
    ]
    (root / "diary.jsonl").write_text("\n".join(map(json.dumps, records)))
    cdesearch.build(root / "diary.jsonl", index=root / "index", document_column="doc", model=tiny_checkpoint)
    with Searcher(Index.open(root / "index"), model=tiny_checkpoint) as searcher:
        yield searcher


def test_evidence_of_a_document_of_records_adds_up(diary):
    hits = diary.search("bread", 30)
    shared = []
    for hit in hits:
        explained = diary.explain(hit.chunk.id, "bread", 30)
        text = explained.text
        dense = explained.dense
        assert dense.contribution == pytest.approx((1 - dense.share) * dense.z + dense.share * dense.near_z)
        assert dense.contribution + text.contribution == pytest.approx(hit.score, abs=1e-9)
        assert text.evidence == pytest.approx((text.own + text.of_document) / 2)
        assert text.contribution == pytest.approx(text.weight * text.evidence)
        shared.append(text.of_document > text.own)
    assert any(shared) and not all(shared)  # words of another record, and its own words that are the best


def test_words_are_counted_in_this_corpus(searcher):
    (hit,) = searcher.search("the glaciers glaciers of moons", 1)
    words = {word.word: word for word in searcher.explain(hit.chunk.id, "the glaciers glaciers of moons", 1).words}
    for subject in ("glaciers", "moons"):
        holding = sum(subject in text for text in PAGES.values())
        assert words[subject].chunks == holding
        assert words[subject].idf == pytest.approx(math.log(1 + (len(PAGES) - holding + 0.5) / (holding + 0.5)))
        assert words[subject].count == len(re.findall(subject, hit.chunk.text, re.IGNORECASE))
    assert (words["the"].chunks, words["the"].idf, words["the"].bm25) == (0, 0, 0)
    once = {word.word: word for word in searcher.explain(hit.chunk.id, "glaciers moons", 36).words}
    assert words["glaciers"].bm25 == pytest.approx(2 * once["glaciers"].bm25)


def test_the_own_cosine_is_that_of_the_chunk_encoded_alone(diary):
    (hit,) = diary.search("the bread of moons", 1)
    encoder, context = diary.encoder, diary.index.context
    query, own = (
        encoder.encode([text], kind, context)[0]
        for text, kind in (("the bread of moons", "query"), (hit.chunk.text, "document"))
    )
    dense = diary.explain(hit.chunk.id, "the bread of moons", 1).dense
    assert dense.own_cosine == pytest.approx(float(to_unit(own[None])[0] @ query), abs=5e-3)
    assert not np.isclose(dense.own_cosine, dense.cosine, atol=1e-3)


def test_a_chunk_that_the_search_does_not_find_is_an_error(searcher):
    (hit,) = searcher.search("moons", 1, path="moons/")
    for chunk, path in ((hit.chunk.id, "bread/"), ("x' OR 'a'='a", None), ("\ud800", None)):
        with pytest.raises(QueryError):
            searcher.explain(chunk, "moons", 1, path=path)
