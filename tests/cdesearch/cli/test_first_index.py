"""A query in a folder without an index makes one: after a question, or without one where nobody can be asked."""

import os
import subprocess
import sys
from contextlib import chdir

import pytest
from command import cdesearch, cdesearch_process
from served_pages import write_pages

from cdesearch.cli import first_index
from cdesearch.cli.first_index import build_first_index
from cdesearch.errors import IndexNotFoundError
from cdesearch.store.index import Index
from indexer.embedding import stages
from indexer.live.first import survey


@pytest.fixture
def folder(tmp_path):
    return write_pages(tmp_path / "docs")


def test_a_small_folder_is_indexed_in_a_pipe_with_the_settings_of_the_project(folder):
    (folder / ".cdesearch.toml").write_text('[index]\nexclude = ["space/"]\n')
    run = cdesearch_process("when do kittens sleep", "-k", "1", cwd=folder)
    assert "pets/cats.md:7" in run.stdout and "Embedding" not in run.stdout
    first, *progress = run.stderr.splitlines()
    assert first.startswith("This folder has no index yet. Indexing 6 files (5 kB) in ")
    assert first.endswith(" takes about 5 seconds.")
    assert progress[0] == "Looking for files" and not any("Next" in line for line in progress)
    assert Index(folder / ".cdesearch").manifest.globs.exclude == ("space/",)
    assert not cdesearch("the moon", "-k", "1", "--mode", "text", cwd=folder, code=1).stdout


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot ask a process to end")
def test_a_stopped_query_stops_the_build_that_it_began(folder):
    command = [sys.executable, "-m", "cdesearch", "the moon"]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as query:
        assert "Indexing 6 files" in query.stderr.readline()
        assert query.stderr.readline() == "Looking for files\n"  # the build has begun
        query.terminate()
        assert query.wait() == 143
    assert "Another run" not in cdesearch("index", ".", cwd=folder).stderr


@pytest.mark.slow
def test_a_large_folder_is_answered_by_words_while_the_vectors_are_added(folder):
    (folder / "many.jsonl").write_text("".join(f'{{"text": "number {n}"}}\n' for n in range(stages.STAGED_FROM)))
    run = cdesearch_process("number 617", "-k", "1", "--yes", cwd=folder)
    assert "many.jsonl" in run.stdout and "is completed in the background (process " in run.stderr
    cdesearch("index", cwd=folder)  # waits for the other run
    assert Index(folder / ".cdesearch").manifest.is_complete


@pytest.mark.parametrize(("arguments", "made"), [([], False), (["--yes"], True)])
def test_more_than_the_limit_is_indexed_only_if_the_user_says_so(folder, tmp_path, monkeypatch, arguments, made):
    monkeypatch.setattr(first_index, "MOST_FILES", 5)
    run = cdesearch("the moon", *arguments, "--mode", "text", cwd=folder, code=0 if made else 2)
    assert (folder / ".cdesearch").exists() is made
    asked = write_pages(tmp_path / "asked")
    cdesearch("ask", "when do kittens sleep?", *arguments, cwd=asked, code=0 if made else 2)
    assert (asked / ".cdesearch").exists() is made
    limit = "A query indexes at most 5 files and 5 MB without a question; there are 6 files (5 kB)."
    assert made or f"Run `cdesearch index {folder}` first. {limit}\n" in run.stderr


def test_no_folder_is_indexed_by_mistake(folder, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    for arguments in (["inde", "moon"], ["moon", "--index", "typo"]):
        cdesearch(*arguments, cwd=folder, code=2)
    assert "--index docs" not in cdesearch("moon", cwd=tmp_path / "empty", code=2).stderr
    cdesearch("index", (folder / "pets").rename(folder / "my pets").name, cwd=folder)
    assert "Name one in it: --index 'my pets'.\n" in cdesearch("moon", cwd=folder, code=2).stderr
    missing = IndexNotFoundError("There is no index.", "Make one.")
    monkeypatch.setenv("HOME", str(tmp_path / "empty" / "me"))
    above = "a home folder or a folder above it"
    places = {"/": above, "/proc": "the root of a disk", tmp_path / "empty": above, tmp_path: above}
    for where, kind in places.items():
        with chdir(where), pytest.raises(IndexNotFoundError, match=f"a search never indexes {kind}"):
            build_first_index(missing, yes=True)
    assert not (tmp_path / ".cdesearch").exists()


@pytest.mark.parametrize(("typed", "code"), [(b"n\n", 2), (b"\x04", 2), pytest.param(b"\n", 0, marks=pytest.mark.slow)])
def test_a_terminal_is_asked_once(folder, typed, code):
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "cdesearch", "the moon", "-k", "1"]
    run = subprocess.Popen(command, cwd=folder, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE)
    os.close(theirs)
    shown = b""
    while b"[Y/n]:" not in shown:
        shown += os.read(ours, 4096)
    assert b"no index yet, and one takes about 5 seconds. Index 6 files (5 kB) in " in shown
    os.write(ours, typed)
    while run.poll() is None:  # a terminal that nobody reads would block the process
        try:
            shown += os.read(ours, 4096)
        except OSError:  # the other side has closed it
            break
    assert run.wait() == code and (b"moon.txt" in run.stdout.read()) is (code == 0)
    assert (b"error: There is no index in" in shown) is (code == 2) and (folder / ".cdesearch").exists() is (code == 0)
    run.stdout.close()
    os.close(ours)


def test_the_estimate_counts_what_a_build_would_read(folder):
    (folder / ".gitignore").write_text("pets/\n")
    (folder / "b.pdf").write_bytes(b"%PDF" + bytes(6_000_000))
    found = survey(folder)
    assert (found.n_files, found.n_bytes > 6_000_000) == (5, True) and 12 < found.seconds < 15
