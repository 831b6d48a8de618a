import gzip
import json

import numpy as np
from built import contents
from command import run_here
from walked import put

from cdesearch.store.file_account import read_files
from cdesearch.store.index import Index
from indexer.embedding import spool
from indexer.plan import count_changes


def cdesearch(*arguments):
    return run_here(arguments, ".")


def outcomes(docs):
    return {file.path: file.outcome for file in read_files(Index.open(docs).generation)}


def test_strict_counts_what_was_skipped_and_status_lists_it(docs, tiny_checkpoint):
    put(docs, "a.djvu", "b.xyz", "c.png")
    done = cdesearch("index", docs, "--model", tiny_checkpoint, "--strict", "--json")
    assert done.returncode == 3, done.stderr
    report = json.loads(done.stdout)
    assert report["files"] == {"indexed": 12, "ignored": 1, "skipped": 2}
    assert report["skipped_by_reason"] == {"unknown format .djvu": 1, "unknown format .xyz": 1}
    listed = json.loads(cdesearch("status", "--index", docs, "--files", "--skipped", "--json").stdout)["files"]
    assert listed == [
        {"path": "a.djvu", "outcome": "skipped", "reason": "unknown format .djvu"},
        {"path": "b.xyz", "outcome": "skipped", "reason": "unknown format .xyz"},
    ]
    for name in ("a.djvu", "b.xyz"):
        (docs / name).unlink()
    assert cdesearch("index", docs, "--strict").returncode == 0, "an image is ignored, not skipped"


def test_a_skipped_file_is_recorded_although_no_document_has_changed(docs, run):
    run()
    before, generation = contents(docs), Index.open(docs).generation
    (docs / "a.djvu").write_text("x")
    (docs / "none.jsonl").write_text("")
    report = run()
    assert not report.changed and report.embedded == 0
    assert report.n_files == {"indexed": 13, "ignored": 0, "skipped": 1}
    assert Index.open(docs).generation != generation
    assert outcomes(docs)["a.djvu"] == "skipped" and outcomes(docs)["none.jsonl"] == "indexed"
    assert {file.path for file in read_files(generation)} == {f"{n:02}.md" for n in range(12)}
    rows, vectors = contents(docs)
    assert rows.equals(before[0])
    np.testing.assert_array_equal(vectors, before[1])
    generation = Index.open(docs).generation
    assert not run().changed
    assert Index.open(docs).generation == generation
    assert count_changes(Index.open(docs)) == {"new": 0, "modified": 0, "deleted": 0}


def test_records_that_break_off_leave_nothing_behind(docs, run, monkeypatch):
    monkeypatch.setattr(spool, "WINDOW", 30)  # chunks of the file are in several windows with those of others
    lines = [json.dumps({"text": f"the moon {number}"}) for number in range(2000)]
    (docs / "05.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode())[:-12])
    assert run().documents == 12
    assert Index.open(docs).chunks.count_rows("path = '05.jsonl.gz'") == 0


def test_only_the_lines_that_cannot_be_read_are_left_out_and_they_are_counted(docs, tiny_checkpoint):
    lines = ['{"text": "the moon"}', "not JSON", '{"text": "the river"}', '{"words": "no text"}', "[]", "x", "y"]
    (docs / "some.jsonl").write_text("\n".join(lines))
    done = cdesearch("index", docs, "--model", tiny_checkpoint, "--strict")
    assert done.returncode == 3, "a line that was left out counts under --strict"
    reason = (
        "4 lines left out: line 2 is not JSON (Expecting value at column 1);"
        " line 5 is no JSON object, list or text; line 6 is not JSON (Expecting value at column 1); and 1 more"
    )
    assert f"some.jsonl: {reason}" in done.stderr and "Read in part: 1." in done.stderr
    listed = json.loads(cdesearch("status", "--index", docs, "--files", "--skipped", "--json").stdout)["files"]
    assert listed == [{"path": "some.jsonl", "outcome": "indexed", "reason": reason}]
    ids = Index.open(docs).chunks.search().where("path = 'some.jsonl'").to_arrow()["document_id"].to_pylist()
    assert sorted(ids) == [f"some.jsonl#{number}" for number in (1, 3, 4)], (
        "a row keeps its number when a line before it is mended"
    )


def test_files_that_leave_the_index_are_named_with_the_reason(docs, tiny_checkpoint):
    (docs / "old.jsonl").write_text('{"text": "the moon"}\n')
    (docs / "new.csv").write_text("text,abstract\nthe cat,the dog\n")
    assert cdesearch("index", docs, "--model", tiny_checkpoint).returncode == 0
    again = cdesearch("index", docs, "--text-column", "abstract")
    line = "1 file that was indexed before is no longer in the index: old.jsonl (no column abstract (--text-column))."
    assert again.returncode == 0 and line in again.stderr
    (docs / ".cdesearchignore").write_text("00.md\n01.md\n")
    assert (
        "2 files that were indexed before are no longer in the index: 00.md, 01.md (" in cdesearch("index", docs).stderr
    )
    assert "no longer in the index" not in cdesearch("index", docs).stderr, "they are named only once"
