"""Which files count as changed, compared with an index that a real build has made."""

import json
import os
import shutil
from dataclasses import replace

import pytest
from built import make_index, write_files

from cdesearch.builders import UnreadFile
from cdesearch.store.index import Index
from indexer import description, job, plan
from indexer.files.outcome import Source
from indexer.plan import STAMP_NS, count_changes, find_changes, make_plan

SECOND = 10**9
BUILT = 10**9  # seconds; in nanoseconds it is still exact as a float
TEXTS = {"a.md": "the cat", "b.md": "the dog", "c.md": "the moon"}
RECORDS = [{"id": "one", "text": "the river"}, {"id": "two", "text": "the stone"}]


def write_old(docs, texts):
    write_files(docs, texts)
    for name in texts:
        os.utime(docs / name, ns=(BUILT * SECOND, BUILT * SECOND))


@pytest.fixture(scope="module")
def indexed(tmp_path_factory, tiny_checkpoint):
    docs = tmp_path_factory.mktemp("plan") / "docs"
    write_old(docs, TEXTS | {"d.jsonl": "\n".join(map(json.dumps, RECORDS))})
    make_index([docs], model=tiny_checkpoint)
    return docs


@pytest.fixture
def base(indexed):
    """The index, as if it had been built long after its files were written."""
    index = Index.open(indexed)
    index.manifest = replace(index.manifest, updated=float(BUILT + 1000))
    return index


def source_of(file, **changed):
    stat = file.stat()
    source = Source(str(file), file.name, stat.st_size, stat.st_mtime_ns, ctime_ns=stat.st_ctime_ns)
    return replace(source, **changed)


def sources_of(docs):
    return [source_of(file) for file in sorted(docs.iterdir()) if file.is_file()]


def plan_of(found, base, **options):
    counted = []
    plan = make_plan(found, base, counted.append, **options)
    assert counted == [1] * len(found), "each is counted once"
    return plan


def without_time(records):
    return sorted(
        ({name: value for name, value in record.items() if name != "mtime_ns"} for record in records), key=str
    )


def test_if_nothing_has_changed_every_record_is_kept_and_no_file_is_read(indexed, base):
    gone = [replace(source, location="/nowhere") for source in sources_of(indexed)]
    plan = plan_of(gone, base)
    assert (plan.to_read, plan.gone) == ([], set()) and plan.is_empty
    assert plan.files == {path: file for path, file in plan.before.items() if file.outcome == "indexed"}
    assert "documents" not in vars(base), "the table is not read for nothing"
    plan = plan_of([*gone, UnreadFile("x", "why")], base)
    assert (plan.to_read, plan.gone) == ([], set()) and not plan.is_empty
    assert without_time(plan.kept.to_pylist()) == without_time(base.documents.to_arrow().to_pylist())
    assert {record["mtime_ns"] for record in plan.kept.to_pylist()} == {BUILT * SECOND}
    assert sum(record["path"] == "d.jsonl" for record in plan.kept.to_pylist()) == 2, "all records of a file"


def test_new_and_changed_files_are_read_and_deleted_ones_are_gone(indexed, base, tmp_path):
    news = tmp_path / "news.md"
    news.write_text("the bread")
    first, _deleted, *rest = sources_of(indexed)
    larger = replace(first, size=first.size + 1)
    plan = plan_of([larger, *rest, source_of(news)], base)
    assert plan.to_read == [larger, source_of(news)] and plan.gone == {"a.md", "b.md"} and not plan.is_empty
    assert {record["path"] for record in plan.kept.to_pylist()} == {"c.md", "d.jsonl"}
    assert not plan_of([first, *rest], base).is_empty
    assert not plan_of([*sources_of(indexed), source_of(news)], base).is_empty


@pytest.mark.parametrize(
    ("text", "changed"), [("the cow", True), ("the cat", False), ("the cats", True), ("the ca", True)]
)
def test_a_file_with_another_time_is_changed_if_its_contents_are(indexed, base, tmp_path, text, changed):
    file = tmp_path / "a.md"
    file.write_text(text)
    os.utime(file, ns=(BUILT * SECOND + 5, BUILT * SECOND + 5))
    plan = plan_of([source_of(file), *sources_of(indexed)[1:], UnreadFile("x", "why")], base)
    assert plan.gone == {source.path for source in plan.to_read} == ({"a.md"} if changed else set())
    assert plan.files["a.md"].mtime_ns == BUILT * SECOND + 5
    if not changed:
        assert [r["mtime_ns"] for r in plan.kept.to_pylist() if r["path"] == "a.md"] == [BUILT * SECOND + 5], (
            "known next time"
        )


@pytest.mark.parametrize(("later", "read"), [(-1, True), (0, True), (1, False)])
def test_a_file_written_within_the_resolution_of_time_stamps_before_the_build_is_read_again(indexed, base, later, read):
    """It may have been written again with the same size in the same tick of the clock."""
    base.manifest = replace(base.manifest, updated=float(BUILT + STAMP_NS // SECOND + later))
    plan = plan_of([replace(source, location="/nowhere") for source in sources_of(indexed)], base)
    assert bool(plan.to_read) == read == (not plan.is_empty)


def test_a_file_that_could_not_be_read_is_tried_again_by_another_version_in_one_run(docs, run, monkeypatch):
    (docs / "broken.pdf").write_bytes(b"no pdf")
    run()
    found = [replace(source, location="/nowhere") for source in sources_of(docs)]
    assert plan_of(found, later(docs)).to_read == []
    for module in (job, plan, description):
        monkeypatch.setattr(module, "__version__", "99.0")
    assert [source.path for source in plan_of(found, later(docs)).to_read] == ["broken.pdf"]
    run()
    assert later(docs).manifest.cdesearch == "99.0" and plan_of(found, later(docs)).to_read == []


def test_changes_are_counted(docs, run):
    (docs / "broken.pdf").write_bytes(b"no pdf")
    run()
    assert count_changes(Index.open(docs)) == {"new": 0, "modified": 0, "deleted": 0}, "broken.pdf is recorded"
    (docs / "00.md").write_text("another text")
    (docs / "01.md").unlink()
    (docs / "02.md").unlink()
    write_files(docs, dict.fromkeys(["n1.md", "n2.md", "n3.md"], "new"))
    assert count_changes(Index.open(docs)) == {"new": 3, "modified": 1, "deleted": 2}
    assert find_changes(Index.open(docs)).n_bytes == len("another text") + 3 * len("new")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no time of the last change of attributes")
def test_a_broken_file_that_is_replaced_by_a_good_one_of_the_same_size_and_time_is_modified(tmp_path, tiny_checkpoint):
    docs = write_files(tmp_path / "docs", {"other.md": "the dog"})
    good = json.dumps({"cells": [{"cell_type": "markdown", "source": "the cat"}], "nbformat": 4, "metadata": {}})
    write_old(docs, {"bad.ipynb": "{" * len(good)})
    assert [one.path for one in make_index([docs], model=tiny_checkpoint).skipped] == ["bad.ipynb"]
    write_old(docs, {"bad.ipynb": good})
    assert count_changes(Index.open(docs))["modified"] == 1
    assert make_index([docs]).documents == 2


def test_only_files_that_an_update_would_read_are_new_and_those_that_are_ignored_now_are_not_deleted(
    tmp_path, tiny_checkpoint
):
    write_files(tmp_path, {"a.md": "the cat", "b.md": "the moon", ".ignore": "a.md\n"})
    make_index([tmp_path], model=tiny_checkpoint, max_file_bytes=100)
    (tmp_path / ".ignore").write_text("b.md\n")
    (tmp_path / "large.md").write_text("the dog " * 100)
    assert count_changes(Index.open(tmp_path)) == {"new": 1, "modified": 0, "deleted": 0}


@pytest.fixture
def updated(tmp_path, tiny_checkpoint):
    """Updates the index of a folder with three old files, and returns the report."""
    write_old(tmp_path / "docs", TEXTS)

    def run():
        return make_index([tmp_path / "docs"], model=tiny_checkpoint)

    run()
    return run


def later(docs):
    """The index, as if it had been built long after its files were written."""
    index = Index.open(docs)
    index.manifest = replace(index.manifest, updated=index.manifest.updated + 1000)
    return index


@pytest.mark.skipif(os.name == "nt", reason="Windows has no time of the last change of attributes")
@pytest.mark.parametrize("name", ["a.new", "a.md"], ids=["moved", "copied"])
def test_another_file_of_the_same_size_and_time_is_a_change(tmp_path, updated, name):
    docs = tmp_path / "docs"
    write_old(docs, {name: "the cow"})
    (docs / name).replace(docs / "a.md")
    assert count_changes(later(docs)) == {"new": 0, "modified": 1, "deleted": 0}
    assert updated().embedded == 1
    texts = [row["text"] for row in Index.open(docs).chunks.search().to_list()]
    assert "a.md\nthe cow" in texts and "a.md\nthe cat" not in texts


def test_a_change_of_attributes_is_compared_once_and_embeds_nothing(tmp_path, updated):
    docs = tmp_path / "docs"
    (docs / "a.md").chmod(0o600)
    (tmp_path / "other.md").hardlink_to(docs / "b.md")
    (docs / "c.md").touch()
    before = Index.open(docs).generation
    report = updated()
    assert not report.changed and Index.open(docs).generation != before, "the new times are stored"
    times = {row["path"]: row["mtime_ns"] for row in Index.open(docs).documents.to_arrow().to_pylist()}
    assert times["c.md"] == (docs / "c.md").stat().st_mtime_ns
    unreadable = [replace(source, location="/nowhere") for source in sources_of(docs)]
    assert plan_of(unreadable, later(docs)).is_empty
    before = Index.open(docs).generation
    assert not updated().changed and Index.open(docs).generation == before


def test_a_copied_folder_with_its_index_embeds_nothing(tmp_path, updated, tiny_checkpoint):
    shutil.copytree(tmp_path / "docs", tmp_path / "copy")
    report = make_index([tmp_path / "copy"], model=tiny_checkpoint)
    assert (report.embedded, report.changed) == (0, False)
