"""`sources` and `clear` on a real index, and updates after a source or all files were removed."""

import shutil
import sys

import pytest
from built import assert_same, contents, make_index, write_files
from notes import Notes

from cdesearch.cli.main import run as run_command
from cdesearch.errors import IndexNotFoundError, InputError, SourceError
from cdesearch.search.drift import level_of, measure_drift
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from indexer.files.walk import concerns_walk
from indexer.plan import count_changes


@pytest.fixture
def two(tmp_path, tiny_checkpoint):
    """An index of two folders."""
    write_files(tmp_path, {f"{name}/a.md": f"the cat is in house {name}" for name in ("one", "two")})
    make_index([tmp_path / "one", tmp_path / "two"], model=tiny_checkpoint)
    return tmp_path


def command(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["cdesearch", *map(str, arguments)])
    return run_command()


def paths(folder):
    return sorted(contents(folder)[0]["path"].to_pylist())


def test_a_source_that_is_gone_keeps_its_documents_until_it_is_removed(two, monkeypatch, capsys):
    before = contents(two)
    shutil.rmtree(two / "two")
    assert not any(count_changes(Index.open(two)).values()), "its files do not count as deleted"
    notes = Notes()
    make_index([], notes, index=two)
    (line,) = notes.lines
    assert str(two / "two") in line and "sources remove" in line
    assert_same(contents(two), before)
    (two / "one" / "b.md").write_text("the dog")
    make_index([], index=two)
    assert paths(two) == ["one/a.md", "one/b.md", "two/a.md"]
    command(monkeypatch, "sources", "list", "--index", two)
    assert capsys.readouterr().out.splitlines() == [str(two / "one"), f"{two / 'two'}  (does not exist)"]
    command(monkeypatch, "sources", "remove", two / "two", "--index", two)
    assert paths(two) == ["one/a.md", "one/b.md"] and Index.open(two).sources == (two / "one",)


def test_a_run_that_would_have_to_read_a_missing_source_is_refused(two):
    shutil.rmtree(two / "two")
    for options in ({"rebuild": True}, {"refresh_context": True}):
        with pytest.raises(SourceError, match="sources remove"):
            make_index([], index=two, **options)


@pytest.mark.slow
def test_after_a_source_elsewhere_is_added_and_removed_the_index_is_as_before(docs, run, tmp_path_factory, monkeypatch):
    run()
    before, root = contents(docs), Index.open(docs).root
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "c.md").write_text("the moon")
    command(monkeypatch, "sources", "add", elsewhere, "--index", docs)
    assert root.is_relative_to(Index.open(docs).root) and Index.open(docs).root != root
    command(monkeypatch, "sources", "remove", elsewhere, "--index", docs)
    assert Index.open(docs).root == root and Index.open(docs).manifest.root == ".."
    assert_same(contents(docs), before)
    assert not any(count_changes(Index.open(docs)).values())


def test_only_a_source_can_be_removed_and_not_the_last_one(two, monkeypatch):
    with pytest.raises(InputError, match="not a source"):
        command(monkeypatch, "sources", "remove", two / "one" / "a.md", "--index", two)
    with pytest.raises(InputError, match="clear"):
        command(monkeypatch, "sources", "remove", two / "one", two / "two", "--index", two)


@pytest.mark.parametrize("mode", ["hybrid", "dense", "text"])
def test_an_index_whose_files_were_all_deleted_is_empty_and_can_grow_again(docs, run, tiny_encoder, mode):
    run()
    for file in docs.glob("*.md"):
        file.unlink()
    report = run()
    assert (report.documents, report.chunks, report.changed) == (0, 0, True)
    index = Index.open(docs)
    with Searcher(index, encoder=tiny_encoder) as searcher:
        assert len(searcher.search("water", 3, mode).hits) == 0
    assert level_of(measure_drift(index)) == "none"
    (docs / "new.md").write_text("the water is in the river")
    assert run().documents == 1
    with Searcher(Index.open(docs), encoder=tiny_encoder) as searcher:
        assert [hit.chunk.path for hit in searcher.search("water", 3, mode).hits] == ["new.md"]


def test_clear_removes_the_index_and_nothing_else(docs, run, monkeypatch):
    folder = run().folder
    (folder / "mine.txt").write_text("keep")
    command(monkeypatch, "clear", docs, "--yes")
    assert [one.name for one in folder.iterdir()] == ["mine.txt"] and len(list(docs.glob("*.md"))) == 12
    (folder / "mine.txt").unlink()
    run()
    command(monkeypatch, "clear", docs, "--yes")
    assert not folder.exists()


def test_clear_asks_and_refuses_a_folder_without_the_marker(docs, run, tmp_path, monkeypatch):
    folder = run().folder
    with pytest.raises(InputError, match="--yes"):
        command(monkeypatch, "clear", docs)
    assert (folder / "CURRENT").exists()
    write_files(tmp_path / "other", {"CURRENT": "x"})
    with pytest.raises((IndexNotFoundError, InputError)):
        command(monkeypatch, "clear", "--index", tmp_path / "other", "--yes")
    assert (tmp_path / "other" / "CURRENT").exists()


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["query", "cat", "--mode", "text"], ["status"]])
def test_below_two_indexes_a_command_says_which_one_answers_and_how_to_choose_the_other(
    two, tiny_checkpoint, monkeypatch, capsys, arguments
):
    inner, outer = two / "one" / ".cdesearch", two / ".cdesearch"
    write_files(two / "one" / "deep", {"cat.md": "the deep cat"})
    make_index([two / "one"], model=tiny_checkpoint)
    monkeypatch.chdir(two / "one" / "deep")
    command(monkeypatch, *arguments)
    line = f"{inner} answers here. {outer} covers this folder as well: --index {outer} chooses it."
    assert capsys.readouterr().err.splitlines() == [line]
    command(monkeypatch, *arguments, "--index", outer)
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_a_source_can_have_globs_of_its_own(two, monkeypatch, capsys):
    for name in ("a.md", "b.txt", "old/c.md"):
        write_files(two, {f"{folder}/{name}": f"the cat is in {folder}" for folder in ("one", "three")})
    command(monkeypatch, "index", "--index", two, "--exclude", "*.txt")
    command(monkeypatch, "sources", "add", two / "three", "--include", "*.txt", "--include", "a.*", "--index", two)
    assert paths(two) == ["one/a.md", "one/old/c.md", "three/a.md", "three/b.txt", "two/a.md"]
    capsys.readouterr()
    command(monkeypatch, "sources", "--index", two)
    assert f"{two / 'three'}  (--include '*.txt' --include 'a.*')\n" in capsys.readouterr().out
    index = Index.open(two)
    (two / "three" / "d.md").write_text("the dog")
    assert not any(count_changes(index).values())
    assert not concerns_walk(two / "three", [two / "three" / "d.md"], index.source_globs[two / "three"])
    make_index([], index=two)
    assert "three/d.md" not in paths(two)
    command(monkeypatch, "sources", "add", two / "three", "--include=", "--exclude", "old/", "--index", two)
    assert paths(two) == ["one/a.md", "one/old/c.md", "three/a.md", "three/b.txt", "three/d.md", "two/a.md"]
    command(monkeypatch, "sources", "add", two / "three", "--exclude=", "--index", two)
    assert Index.open(two).source_globs == {} and "three/old/c.md" in paths(two) and "three/b.txt" not in paths(two)
