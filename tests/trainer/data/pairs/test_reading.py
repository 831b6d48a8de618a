import gzip
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from batches import write_rows

from cdesearch.errors import InputError, SourceError
from trainer.data.pairs.domains import prepare
from trainer.data.pairs.reading import Pair, domain_files, read_pairs, read_passages
from trainer.mine import write_pairs


def test_pairs_of_every_format(tmp_path):
    rows = [{"query": "q", "document": "d", "negatives": ["n"]}, {"query": "r", "document": "e"}]
    write_rows(tmp_path / "a.jsonl", rows)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress((tmp_path / "a.jsonl").read_bytes()))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "c.parquet")
    write_rows(tmp_path / "d.ndjson", [{"anchor": "q", "positive": "d", "negative": ["n"]}, rows[1]])
    (tmp_path / "notes.txt").write_text("no pairs")
    files = domain_files([tmp_path])
    assert [file.name for file in files] == ["a.jsonl", "b.jsonl.gz", "c.parquet", "d.ndjson"]
    for file in files:
        assert list(read_pairs(file)) == [Pair("q", "d", ("n",)), Pair("r", "e")]


def test_two_files_of_one_domain_name_are_refused(tmp_path):
    files = [write_rows(tmp_path / name, [{"query": "q", "document": "d"}]) for name in ("a.jsonl", "a.short.jsonl")]
    with pytest.raises(SourceError, match=r"a\.jsonl and .*a\.short\.jsonl would be one domain, a\."):
        domain_files(files)


def test_a_long_document_has_one_pair_per_question(tmp_path):
    book = {"doc_id": "book", "chunks": ["one", "two"], "questions": [{"text": "second?", "chunk": 1}]}
    placed = {"query": "q", "document": "d", "document_id": "x", "place": 3}
    file = write_rows(tmp_path / "a.jsonl", [book, placed])
    pairs = list(read_pairs(file))
    assert pairs == [Pair("second?", "two", document_id="book", place=1), Pair("q", "d", document_id="x", place=3)]
    (domain,) = prepare([file], tmp_path / "work")
    assert domain.take([0, 1]) == pairs


BOOK = '"doc_id": "b", "chunks": ["one", "two"]'
PAIR = '"query": "q", "document": "d"'

BROKEN = {
    "{oops": "not a JSON object",
    '{"query": 1, "document": "d"}': r"not as expected: .*\$\.query`\. Correct or remove the line\.",
    '{"query": "q", "pos": ["d"]}': r"has no `document`\. Its columns are 'query', 'pos'\. Name them query and",
    f'{{{PAIR}, "place": -1}}': r"\$\.place",
    f'{{{PAIR}, "negatives": [null]}}': r"\$\.negatives\[0\]",
    f'{{{PAIR}, "scores": [1, 2, 3]}}': "not one number for the document",
    f'{{{PAIR}, "scores": [1e300]}}': r"\$\.scores\[0\]",  # float32 cannot tell neighbours apart
    f'{{{BOOK}, "questions": [{{"text": "q", "chunk": -1}}]}}': r"\$\.questions\[0\]\.chunk",
    f'{{{BOOK}, "questions": [{{"text": "q", "chunk": 2}}]}}': "no chunk 2",
}


@pytest.mark.parametrize("line", BROKEN)
def test_a_bad_line_is_named(tmp_path, line):
    file = tmp_path / "d.jsonl"
    file.write_text(f"{{{PAIR}}}\n" + line)
    with pytest.raises(SourceError, match=rf"d\.jsonl:2 .*{BROKEN[line]}"):
        list(read_pairs(file))


GOOD = b'{"query": "q", "document": "d"}\n' * 3

DAMAGED = {
    "cut.jsonl.gz": (gzip.compress(os.urandom(9000))[:2000], r"cut\.jsonl\.gz(:1 is not a JSON| cannot be read)"),
    "tail.jsonl.gz": (gzip.compress(GOOD) + b"tail", r"tail\.jsonl\.gz cannot be read after line 3 .*Copy the file"),
    "plain.jsonl.gz": (GOOD, r"plain\.jsonl\.gz cannot be read \(Not a gzipped file"),
    "latin.jsonl": (GOOD + b'{"query": "caf\xe9"}', r"latin\.jsonl:4 is not a JSON object"),
    "cut.parquet": (b"PAR1" + b"\0" * 99, r"cut\.parquet is not a readable Parquet file"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_pair_file_is_named(tmp_path, name):
    content, message = DAMAGED[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError, match=message):
        list(read_pairs(tmp_path / name))


def test_only_pairs_of_the_chosen_groups_are_used(tmp_path):
    groups = ["scipy+scipy:a.py", "ansible+ansible:b.py", None]
    rows = [{"query": f"q{n}", "document": "d", "group": group} for n, group in enumerate(groups)]
    file = write_rows(tmp_path / "code.jsonl", rows)
    assert [pair.query for pair in read_pairs(file, r"(scipy|sympy)\+")] == ["q0"]
    whole, part = (prepare([file], tmp_path / "made", groups=groups)[0] for groups in ({}, {"code": "scipy"}))
    assert len(whole) == 3 and len(part) == 1


def test_a_group_of_an_unknown_domain_is_refused_because_it_may_be_a_licence(tmp_path):
    file = write_rows(tmp_path / "code.jsonl", [{"query": "q", "document": "d"}])
    with pytest.raises(InputError, match=r"data\.groups names coed, .* Name one of code, or set data\.groups to \{\}"):
        prepare([file], tmp_path / "made", groups={"coed": "free"})


def test_spaces_around_texts_are_left_out_and_halves_of_surrogate_pairs_become_question_marks(tmp_path):
    row = {"query": " a \ud800", "document": "\udc00 b\n", "negatives": ["\ud800 ", "\te"]}
    file = write_rows(tmp_path / "d.jsonl", [row])
    assert list(read_pairs(file)) == [Pair("a ?", "? b", ("?", "e"))]
    assert list(read_passages(file)) == [["? b"]]


def test_paths_without_pairs_are_named_without_keys_of_a_recipe(tmp_path):
    with pytest.raises(SourceError, match=r"no pair file or folder .*none\. Check the path\."):
        domain_files([tmp_path / "none"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match=r"There is no pair file\. Name \.jsonl"):
        domain_files([tmp_path / "empty"])


def test_written_pairs_are_read_as_they_were(tmp_path):
    pairs = [Pair("a", "b", ("n",), "book", (1.5, 0.5), 3, "g"), Pair("c", "d", document_id="book"), Pair("e", "f")]
    write_pairs(tmp_path / "mined.jsonl.gz", pairs)
    assert list(read_pairs(tmp_path / "mined.jsonl.gz")) == pairs
