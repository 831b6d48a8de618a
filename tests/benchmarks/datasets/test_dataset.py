import pytest
from beir_folder import write_set

from benchmarks.datasets.dataset import beir_folder, read_dataset
from cdesearch.errors import SourceError


def test_a_set_is_read_and_its_chunks_are_grouped(tmp_path):
    corpus = [{"_id": name, "text": name} for name in ("a::0", "a::1", "b::0", "c")]
    judged = ["q0\ta::1\t2", "q1\tc\t0"]
    found = read_dataset(write_set(tmp_path / "x", corpus=corpus, judged=judged))
    assert found.ids == ("a::0", "a::1", "b::0", "c") and found.documents == [[0, 1], [2], [3]]
    assert found.judgements == {"q0": {"a::1": 2}} and list(found.queries) == ["q0"]


def test_halves_of_the_queries_are_the_whole(tmp_path):
    folder = write_set(tmp_path / "x")
    halves = [read_dataset(folder, half).queries for half in ("choose", "report")]
    assert halves[0] | halves[1] == read_dataset(folder).queries and not halves[0].keys() & halves[1].keys()


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"corpus": [{"_id": "a", "text": "x"}, {"_id": "a", "text": "y"}]}, "corpus.jsonl:2 has the id a a second"),
        ({"corpus": [{"_id": "a"}]}, "corpus.jsonl:1 cannot be read .*`text`"),
        ({"judged": ["q0\td0\t0"]}, "has no judgement above 0"),
        ({"judged": ["q0\td0"]}, "test.tsv:2 does not have three columns"),
        ({"judged": ["q0\tzzz\t1", "q0\td0\t1"]}, "1 of 2 judgements"),
        ({"header": "a\tb"}, "begins with"),
    ],
)
def test_a_bad_set_is_refused_in_one_line(tmp_path, given, named):
    with pytest.raises(SourceError, match=named):
        read_dataset(write_set(tmp_path / "x", **given))


def test_a_set_is_looked_for_in_the_data_folder(tmp_path, monkeypatch):
    (tmp_path / "eval" / "mine").mkdir(parents=True)
    monkeypatch.setenv("CDESEARCH_DATA", str(tmp_path))
    assert beir_folder("eval/mine") == tmp_path / "eval" / "mine"
    with pytest.raises(SourceError, match="There is no folder nowhere"):
        beir_folder("nowhere")
