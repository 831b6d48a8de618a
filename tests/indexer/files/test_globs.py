"""Files that a user includes and excludes, in the walk, in the index, and in every later update."""

import json
from threading import Event

import pytest
from command import run_here

from cdesearch.errors import InputError
from cdesearch.store.file_account import read_files
from cdesearch.store.index import Index
from cdesearch.store.manifest import Globs
from indexer.files.outcome import Ignored, Source
from indexer.files.walk import Selection, concerns_walk, find_sources
from indexer.live.watched import Watched
from indexer.plan import count_changes


def put(root, name, text="x"):
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def found(root, include=(), exclude=()):
    items = find_sources([root], root, Selection(10**6, Globs(tuple(include), tuple(exclude))))
    return [item.path for item in items if isinstance(item, Source)]


def rules(root, include=(), exclude=()):
    items = find_sources([root], root, Selection(10**6, Globs(tuple(include), tuple(exclude))))
    return {item.path: item.rule for item in items if isinstance(item, Ignored)}


@pytest.fixture
def folder(tmp_path):
    for name in ("a.md", "b.py", "docs/c.md", "docs/old/d.md", "docs/old/e.py", "src/f.py", "package-lock.json"):
        put(tmp_path, name)
    return tmp_path


@pytest.mark.parametrize(
    ("include", "exclude", "expected"),
    [
        (["*.md"], [], ["a.md", "docs/c.md", "docs/old/d.md"]),
        (["docs/"], [], ["docs/c.md", "docs/old/d.md", "docs/old/e.py"]),
        (["/*.md", "src"], [], ["a.md", "src/f.py"]),
        (["docs/**/*.py"], [], ["docs/old/e.py"]),
        (["*.md", "!a.md"], [], ["docs/c.md", "docs/old/d.md"]),
        ([], ["docs"], ["a.md", "b.py", "src/f.py"]),
        ([], ["*.md", "!c.md"], ["b.py", "docs/c.md", "docs/old/e.py", "src/f.py"]),
        (["*.md"], ["old/"], ["a.md", "docs/c.md"]),
        (["a.md"], ["a.md"], []),
    ],
)
def test_globs_choose_files_as_lines_of_an_ignore_file_do(folder, include, exclude, expected):
    assert found(folder, include, exclude) == expected


def test_every_file_that_is_left_out_names_its_glob(folder):
    assert rules(folder, ["*.md"], ["old/", "!c.md"]) == {
        "b.py": "no --include matches it",
        "docs/old/": "--exclude old/",
        "package-lock.json": "lock file",
        "src/f.py": "no --include matches it",
    }


@pytest.mark.parametrize(("include", "exclude"), [(["package-lock.json"], []), ([], ["!*-lock.json"])])
def test_a_name_without_wildcards_or_a_negated_glob_includes_what_a_program_has_written(folder, include, exclude):
    assert "package-lock.json" in found(folder, include, exclude)
    assert "package-lock.json" not in found(folder, ["*.json"])


def test_globs_include_neither_hidden_nor_ignored_files(tmp_path):
    for name in (".secret.md", ".git/HEAD", "b.md"):
        put(tmp_path, name)
    put(tmp_path, ".gitignore", "b.md\n")
    assert found(tmp_path, [".secret.md", ".git", "b.md"], ["!.secret.md", "!.git", "!b.md"]) == []


def test_a_file_that_the_user_names_is_read_even_if_the_globs_exclude_it(folder):
    items = list(find_sources([folder / "b.py"], folder, Selection(10**6, Globs(("*.md",), ("*.py",)))))
    assert [(item.path, item.is_wanted) for item in items] == [("b.py", True)]


@pytest.mark.parametrize("glob", ["", "# no glob", "a\nb", "\x1b]0;", "a\udcff", "  "])
def test_a_text_that_is_not_a_glob_is_refused(tmp_path, glob):
    with pytest.raises(InputError):
        found(tmp_path, [], [glob])


def test_too_many_globs_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"\.cdesearchignore"):
        found(tmp_path, ["a" * 100_001])


def test_a_change_counts_only_if_the_globs_choose_the_file(folder):
    globs = Globs(("*.md", "src"), ("old/",))
    put(folder, "docs/x.py")
    seen = ["a.md", "docs/new.md", "src/f.py", "docs", "gone"]  # what was removed may have been a folder
    unseen = ["b.py", "docs/old/d.md", "docs/old", "docs/x.py"]
    assert {name: concerns_walk(folder, [folder / name], globs) for name in seen + unseen} == (
        dict.fromkeys(seen, True) | dict.fromkeys(unseen, False)
    )


def test_a_watch_does_not_wake_for_a_file_that_the_globs_leave_out(folder):
    watched = Watched([folder], Globs((), ("*.py",)))
    (folder / "b.py").write_text("changed")
    (folder / "a.md").write_text("changed")
    assert watched.wait(Event())
    watched = Watched([folder], Globs((), ("*.py", "*.md")))
    assert not concerns_walk(folder, [folder / "a.md", folder / "b.py"], watched.globs)


def test_an_index_keeps_its_globs_for_updates_and_status(docs, run):
    (docs / "notes.py").write_text("# a bear\n")
    run(include=("0*.md", "*.py"), exclude=("*.py",))
    manifest = Index.open(docs).manifest
    assert (manifest.include, manifest.exclude) == (("0*.md", "*.py"), ("*.py",))
    assert manifest.n_documents == 10 and manifest.files == {"indexed": 10, "ignored": 3, "skipped": 0}
    (docs / "new.txt").write_text("left out")
    (docs / "0new.md").write_text("the moon")
    assert count_changes(Index.open(docs)) == {"new": 1, "modified": 0, "deleted": 0}
    assert run().n_documents == 11
    reasons = {file.path: file.reason for file in read_files(Index.open(docs).generation) if file.outcome == "ignored"}
    assert reasons["new.txt"] == "no --include matches it" and reasons["notes.py"] == "--exclude *.py"
    report = run(exclude=(), include=())
    assert report.n_documents == 15 and Index.open(docs).manifest.globs == Globs()


def test_globs_that_match_no_file_are_stored_too(docs, run):
    run()
    report = run(exclude=("*.log",))
    assert not report.changed and Index.open(docs).manifest.exclude == ("*.log",)
    generation = Index.open(docs).generation
    run()
    assert Index.open(docs).generation == generation
    (docs / "a.log").write_text("the moon")
    assert run().n_documents == 12


@pytest.mark.slow
def test_generated_code_is_ignored_and_counted_until_it_is_wanted(docs, run):
    (docs / "a_pb2.py").write_text("# Generated by the compiler. DO NOT EDIT!\nx = 'honey'\n")
    report = run()
    assert report.skipped == () and report.n_files == {"indexed": 12, "ignored": 1, "skipped": 0}
    (record,) = (file for file in read_files(Index.open(docs).generation) if file.outcome == "ignored")
    assert record.path == "a_pb2.py" and record.reason.startswith("generated code, as line 1 says: # Generated by")
    assert count_changes(Index.open(docs)) == {"new": 0, "modified": 0, "deleted": 0}
    assert not run().changed
    assert run(exclude=("!*_pb2.py",)).n_documents == 13
    assert run(exclude=("*_pb2.py",)).n_documents == 12
    (docs / "a_pb2.py").write_text("x = 'honey'\n")
    assert run(exclude=()).n_documents == 13
    (docs / "a_pb2.py").write_text("# Generated by the compiler. DO NOT EDIT!\ny = 'honey'\n")
    report = run()
    assert report.n_documents == 12 and [item.path for item in report.dropped] == ["a_pb2.py"]


def test_the_options_are_repeatable_and_status_names_the_rule(docs, tiny_checkpoint):
    (docs / "yarn.lock").write_text("x")
    options = ["--include", "0*.md", "--include", "yarn.lock", "--exclude", "01.md", "--json"]
    done = run_here(["index", docs, "--model", tiny_checkpoint, *options], ".")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["files"] == {"indexed": 10, "ignored": 3, "skipped": 0}
    listed = run_here(["status", "--index", docs, "--files"], ".").stdout
    assert "ignored  01.md  (--exclude 01.md)" in listed and "indexed  yarn.lock" in listed
    shown = run_here(["status", "--index", docs], ".").stdout
    assert "include" in shown and "'0*.md' yarn.lock" in shown
    done = run_here(["index", docs, "--include=", "--json"], ".")
    assert json.loads(done.stdout)["files"] == {"indexed": 11, "ignored": 2, "skipped": 0}
    done = run_here(["index", docs, "--exclude", "# no"], ".")
    assert done.returncode == 2 and "cannot be used as a glob" in done.stderr and "Traceback" not in done.stderr
