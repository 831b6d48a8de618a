import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.datasets.samples import has_long_documents, read_long_documents
from cdesearch.errors import SourceError


@pytest.fixture
def file(tmp_path):
    """Ten documents of three chunks each; two chunks answer the question that all documents share."""
    rows = [
        {
            "doc_id": f"d{number}",
            "title": f"Title {number}",
            "chunks": [f"first of {number}", "second " * 9, "third"],
            "questions": [{"text": f"which is {number}?", "chunk": 0}] + [{"text": "any?", "chunk": n} for n in (1, 2)],
        }
        for number in range(10)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "books.parquet")
    return tmp_path / "books.parquet"


def test_whole_documents_are_sampled_and_their_chunks_have_titles(file):
    dataset = read_long_documents(file, 7, 10, 100)
    assert dataset == read_long_documents(file, 7, 10, 100)
    assert [len(rows) for rows in dataset.documents] == [3, 3, 3], "the document that exceeds the number is whole"
    assert all(text.startswith("Title ") and len(text.partition("\n")[2]) <= 10 for text in dataset.texts)


def test_every_chunk_with_an_answer_is_relevant(file):
    dataset = read_long_documents(file, 7, 100, 100)
    relevant = {text: set(dataset.judgements[query]) for query, text in dataset.queries.items()}
    assert len(relevant) == 4 and len(relevant.pop("any?")) == 6
    texts = dict(zip(dataset.ids, dataset.texts, strict=True))
    for question, (row,) in relevant.items():
        number = question.removeprefix("which is ").removesuffix("?")
        assert texts[row] == f"Title {number}\nfirst of {number}"
    assert len(read_long_documents(file, 7, 100, 2).queries) == 2


def test_pairs_are_not_taken_for_long_documents(file, tmp_path):
    pq.write_table(pa.table({"query": ["q"], "document": ["d"]}), tmp_path / "pairs.parquet")
    assert has_long_documents(file) and not has_long_documents(tmp_path / "pairs.parquet")
    assert not has_long_documents(tmp_path / "pairs.jsonl")


def test_a_question_about_a_chunk_that_is_missing_is_refused(tmp_path):
    row = {"doc_id": "d", "title": "t", "chunks": ["one"], "questions": [{"text": "q", "chunk": 1}]}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "bad.parquet")
    with pytest.raises(SourceError, match="without a chunk"):
        read_long_documents(tmp_path / "bad.parquet", 9, 9, 9)
