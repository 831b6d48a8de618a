import json

import numpy as np
import pytest
from built import contents
from command import run_here

from cdesearch.errors import IndexDamagedError
from cdesearch.files import FILES, read_files
from cdesearch.index import Index
from indexer.command import _reasons
from indexer.plan import count_changes
from indexer.walk import Skipped


def cdesearch(*arguments):
    return run_here(arguments, ".")


def outcomes(docs):
    return {file.path: file.outcome for file in read_files(Index.open(docs).generation)}


def test_strict_counts_what_was_skipped_and_status_lists_it(docs, tiny_checkpoint):
    for name in ("a.epub", "b.pptx", "c.png"):
        (docs / name).write_text("x")
    done = cdesearch("index", docs, "--model", tiny_checkpoint, "--strict", "--json")
    assert done.returncode == 3, done.stderr
    report = json.loads(done.stdout)
    assert report["files"] == {"indexed": 12, "ignored": 1, "skipped": 2}
    assert report["skipped_by_reason"] == {"unknown format .epub": 1, "unknown format .pptx": 1}
    listed = json.loads(cdesearch("status", "--index", docs, "--files", "--skipped", "--json").stdout)["files"]
    assert listed == [
        {"path": "a.epub", "outcome": "skipped", "reason": "unknown format .epub"},
        {"path": "b.pptx", "outcome": "skipped", "reason": "unknown format .pptx"},
    ]
    for name in ("a.epub", "b.pptx"):
        (docs / name).unlink()
    assert cdesearch("index", docs, "--strict").returncode == 0, "an image is ignored, not skipped"


def test_a_file_that_is_left_out_is_remembered_though_no_document_has_changed(docs, run):
    run()
    before, generation = contents(docs), Index.open(docs).generation
    (docs / "a.epub").write_text("x")
    (docs / "none.jsonl").write_text("")
    report = run()
    assert not report.changed and report.embedded == 0
    assert report.n_files == {"indexed": 13, "ignored": 0, "skipped": 1}
    assert Index.open(docs).generation != generation
    assert outcomes(docs)["a.epub"] == "skipped" and outcomes(docs)["none.jsonl"] == "indexed"
    assert {file.path for file in read_files(generation)} == {f"{n:02}.md" for n in range(12)}
    rows, vectors = contents(docs)
    assert rows.equals(before[0])
    np.testing.assert_array_equal(vectors, before[1])
    generation = Index.open(docs).generation
    assert not run().changed
    assert Index.open(docs).generation == generation
    assert count_changes(Index.open(docs)) == {"new": 0, "modified": 0, "deleted": 0}


def test_a_file_that_could_not_be_read_is_tried_again_when_it_changes(docs, run):
    (docs / "bad.md").write_bytes(b"ab\0cd")
    assert [item.path for item in run().skipped] == ["bad.md"]
    assert count_changes(Index.open(docs)) == {"new": 0, "modified": 0, "deleted": 0}
    (docs / "bad.md").write_text("the stone")
    assert count_changes(Index.open(docs)) == {"new": 0, "modified": 1, "deleted": 0}
    report = run()
    assert report.skipped == () and report.n_documents == 13
    (docs / "bad.md").write_bytes(b"ab\0cd")
    report = run()
    assert report.n_documents == 12 and outcomes(docs)["bad.md"] == "skipped"


def test_records_that_break_off_leave_nothing_behind(docs, run):
    lines = [json.dumps({"text": f"the moon {number}"}) for number in range(2000)]
    (docs / "many.jsonl").write_text("\n".join([*lines, "{"]))
    report = run()
    assert report.n_documents == 12
    assert Index.open(docs).chunks.count_rows("path = 'many.jsonl'") == 0


@pytest.mark.parametrize("damage", [b"", b"PAR1 nothing", b"PAR1" + b"\xff" * 100 + b"PAR1"])
def test_a_damaged_list_of_files_says_how_to_mend_it(docs, run, damage):
    run()
    (Index.open(docs).generation / FILES).write_bytes(damage)
    with pytest.raises(IndexDamagedError, match="doctor --repair"):
        run()
    assert run(rebuild=True).n_documents == 12


class Report:
    def __init__(self, *skipped):
        self.skipped = [Skipped(*item) for item in skipped]


def test_reasons_are_grouped_in_at_most_ten_lines_and_printed_safely():
    unknown = [(f"{number}.epub", "unknown format .epub") for number in range(180)] + [("a.odt", "unknown format .odt")]
    large = [(f"{number}.md", "larger than 20 MB") for number in range(5)]
    assert _reasons(Report(*unknown, *large)) == [
        "181 unknown formats: 180 .epub, 1 .odt",
        "5 larger than 20 MB: 0.md, 1.md, 2.md, and 2 more",
    ]
    many = _reasons(Report(*((f"{number}.md", f"reason {number}") for number in range(30))))
    assert len(many) == 11 and many[-1] == "20 for other reasons"
    assert _reasons(Report(("a\x1b[31m.md", "no text column among: \x07"))) == [
        r"1 no text column among: \x07: a\x1b[31m.md"
    ]
