"""A cheap look at names, sizes and times sees what an update would find, and spares indexes that it must not touch."""

import os
import shutil

import pytest
from built import write_files
from served_pages import write_pages

import cdesearch
from cdesearch.store.changes import is_updatable, may_be_behind
from cdesearch.store.index import Index
from cdesearch.store.trust import trust_file
from indexer.plan import find_changes

CHANGES = {
    "nothing": lambda docs: None,
    "a new file": lambda docs: (docs / "new.md").write_text("new"),
    "a new folder": lambda docs: write_files(docs, {"a/b/new.md": "new"}),
    "another text": lambda docs: (docs / "long.md").write_text("short"),
    "another text of the same size": lambda docs: (docs / "space/moon.txt").write_text(
        "The moon pulls the tides of the SEA."
    ),
    "another time": lambda docs: os.utime(docs / "long.md", (1, 1)),
    "no file": lambda docs: (docs / "long.md").unlink(),
    "no folder": lambda docs: shutil.rmtree(docs / "pets"),
    "a rule": lambda docs: (docs / ".gitignore").write_text("pets/\n"),
    "no rule": lambda docs: (docs / ".gitignore").unlink(),
    "a file that is ignored": lambda docs: (docs / "ignored" / "more.md").write_text("more"),
    "a part of the index": lambda docs: (docs / ".cdesearch" / "note.md").write_text("note"),
}


@pytest.fixture
def docs(tmp_path, tiny_checkpoint):
    folder = write_pages(tmp_path / "docs")
    write_files(folder, {".gitignore": "ignored/\n", "ignored/a.md": "ignored"})
    for file in folder.rglob("*"):
        os.utime(file, (1_700_000_000, 1_700_000_000))  # so that no file is doubtful
    cdesearch.build(folder, model=tiny_checkpoint).close()
    return folder


@pytest.mark.parametrize("change", CHANGES)
def test_the_look_agrees_with_an_update(docs, change):
    CHANGES[change](docs)
    index = Index.open(docs)
    assert may_be_behind(index) is find_changes(index).has_news, change


def test_the_documents_of_a_missing_source_stay(docs, tmp_path, tiny_checkpoint):
    away = write_files(tmp_path / "away", {"a.md": "away"})
    cdesearch.build(away, docs / "long.md", index=docs, model=tiny_checkpoint).close()
    assert not may_be_behind(Index.open(docs))
    shutil.rmtree(away)
    assert not may_be_behind(Index.open(docs))
    (docs / "long.md").write_text("short")
    assert may_be_behind(Index.open(docs))


def test_only_an_index_of_this_user_that_needs_no_confirmation_is_updated(docs, tmp_path, tiny_checkpoint, monkeypatch):
    (docs / "new.md").write_text("new")
    index = Index.open(docs)
    assert is_updatable(index) and may_be_behind(index)
    with monkeypatch.context() as patched:
        patched.setattr(os, "access", lambda *_: False)  # of a disk that is read-only
        assert not is_updatable(index)
    with monkeypatch.context() as patched:
        patched.setenv("SUDO_UID", str(os.getuid() + 1))
        patched.setattr(os, "geteuid", lambda: os.getuid() + 1)
        assert not is_updatable(index)
    trust_file().rename(tmp_path / "trusted.json")
    try:
        assert not is_updatable(index)
    finally:
        (tmp_path / "trusted.json").rename(trust_file())
