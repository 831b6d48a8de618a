import json

import pytest

import cdesearch
from cdesearch.errors import QueryError
from cdesearch.search.documents import DocumentReader

LONG = "# Rivers\n\n" + "\n\n".join(
    f"## Stage {number}\n\n" + f"The river passes town {number}, its mill and its bridge. " * 12 for number in range(9)
)


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    root = tmp_path_factory.mktemp("corpus")
    (root / "it's").mkdir()
    (root / "it's" / "river.md").write_text(LONG)
    (root / "bread.md").write_text("# Bread\n\nKnead the dough.")
    (root / "itself.md").write_text("# Name\n\nIts name begins like that of a folder.")
    records = [{"_id": name, "text": f"Entry {name} of the diary."} for name in ("z", "a", "m")]
    (root / "diary.jsonl").write_text("\n".join(map(json.dumps, records)))
    with cdesearch.build(root) as opened:
        yield opened


@pytest.fixture(scope="module")
def reader(opened):
    return DocumentReader(opened.index)


def test_the_chunks_of_a_file_are_its_text_in_order(reader):
    chunks = reader.file("it's/river.md")
    assert len(chunks) > 3 and [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    assert "".join("".join(chunk.body.split()) for chunk in chunks) == "".join(LONG.split())
    assert reader.document(chunks[0].document_id) == chunks


def test_records_stay_in_the_order_of_their_file(reader):
    assert [chunk.record for chunk in reader.file("diary.jsonl")] == ["z", "a", "m"]
    assert [chunk.record for chunk in reader.file("diary.jsonl#a")] == ["a"]


def test_entries_are_those_below_a_folder(reader):
    assert [entry.path for entry in reader.entries("it's/")] == ["it's/river.md"]
    assert [entry.path for entry in reader.entries("bread.md")] == ["bread.md"]
    every = reader.entries()
    assert [entry.path for entry in every] == sorted(entry.path for entry in every)
    assert {entry.path for entry in every} == {"bread.md", "diary.jsonl", "it's/river.md", "itself.md"}


@pytest.mark.parametrize("name", ["../bread.md", "/etc/passwd", "x' OR 'a'='a", "it's", "", "\0", "\ud800"])
def test_a_path_outside_the_index_cannot_be_read(reader, name):
    for read in (reader.file, reader.document):
        with pytest.raises(QueryError):
            read(name)
    assert name in {"", "it's"} or not reader.entries(name)
