import json
import warnings

import pytest

import cdesearch

pytestmark = pytest.mark.slow  # the import of mteb takes seconds

LONG = " ".join(f"The tides of harbour {number} follow the moon." for number in range(120))  # several chunks
CORPUS = [
    {"id": "bread", "title": "Bread", "text": "Knead the dough and bake it."},
    {"id": "cats", "title": "", "text": "A cat purrs when it is content."},
    {"id": "tides", "title": "Tides", "text": LONG},
]
QUERIES = [{"id": "q1", "text": "how to bake"}, {"id": "q2", "text": "moon and tides"}]


@pytest.fixture
def model_class():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecations of the library's own dependencies
        from cdesearch.integrations.mteb import CdesearchModel
    return CdesearchModel


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_document_has_the_score_of_its_best_chunk(tmp_path, model_class):
    model = model_class("dense")
    model.index(CORPUS)
    found = model.search(QUERIES, top_k=3)
    rows = [json.dumps({"_id": row["id"], "title": row["title"], "text": row["text"]}) for row in CORPUS]
    (tmp_path / "corpus.jsonl").write_text("\n".join(rows))
    opened = cdesearch.build(tmp_path / "corpus.jsonl")
    for query in QUERIES:
        hits = opened.search(query["text"], 100, "dense")
        assert len(hits) > len(CORPUS)
        best = {name: max(hit.score for hit in hits if hit.chunk.record == name) for name in ("bread", "cats", "tides")}
        assert found[query["id"]] == pytest.approx(best)
        assert list(found[query["id"]]) == sorted(best, key=best.__getitem__, reverse=True)
    assert max(found["q1"], key=found["q1"].get) == "bread" and max(found["q2"], key=found["q2"].get) == "tides"
    ranked = {"q1": ["cats"], "q2": ["cats", "bread"]}
    again = model.search(QUERIES, top_k=3, top_ranked=ranked)
    assert {name: set(scores) for name, scores in again.items()} == {name: set(ids) for name, ids in ranked.items()}


def test_a_result_names_the_mode_and_the_version(model_class):
    meta = model_class("text").mteb_model_meta
    assert (meta.name, meta.revision) == ("cdesearch/text", cdesearch.__version__)
