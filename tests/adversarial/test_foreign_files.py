"""Only files of an index are written or deleted: other folders, links in an index, odd paths, failed runs."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from command import cdesearch, cdesearch_several, picture

from cdesearch.cli.status import read_status
from cdesearch.errors import IndexMismatchError, IndexUntrustedError, InputError
from cdesearch.progress import Silent
from cdesearch.search.searcher import Searcher
from cdesearch.store.finding import chosen_place
from cdesearch.store.index import Index
from cdesearch.store.layout import FORMAT, MARK, MARKER
from indexer.build import build
from indexer.settings import Options

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ready(tmp_path_factory, tiny_checkpoint):
    """A folder with an index of the present format, to copy."""
    root = tmp_path_factory.mktemp("ready") / "docs"
    root.mkdir()
    (root / "a.md").write_text("the cat in the house")
    build([root], Options(model=tiny_checkpoint), Silent())
    return root


@pytest.fixture
def docs(ready, tmp_path):
    """A copy of the indexed folder, with a new document for the next run."""
    folder = shutil.copytree(ready, tmp_path / "docs", symlinks=True)
    (folder / "b.md").write_text("the dog in the water")
    return folder


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    (folder / "letters").mkdir(parents=True)
    (folder / "letters" / "one.txt").write_text("dear cat")
    (folder / ".bashrc").write_text("alias ll='ls -l'\n")
    return folder


def update(docs, tiny_checkpoint):
    return build([docs], Options(model=tiny_checkpoint), Silent())


def test_a_project_folder_named_with_index_keeps_its_files(tmp_path):
    project = tmp_path / "proj"
    (project / "docs").mkdir(parents=True)
    (project / "docs" / "a.md").write_text("the cat")
    (project / ".gitignore").write_text("*.pyc\n")
    (project / "generations" / "2024").mkdir(parents=True)
    (project / "generations" / "2024" / "data.bin").write_bytes(b"years of work")
    before = picture(project)
    cdesearch("index", "proj/docs", "--index", "proj", cwd=tmp_path)
    after = picture(project)
    assert {name: after.get(name) for name in before} == before
    new = {name for name in after.keys() - before.keys() if not name.startswith(str(project / ".cdesearch"))}
    assert not new
    assert cdesearch("query", "cat", "--index", "proj", "-k", "1", cwd=tmp_path).stdout


@pytest.mark.parametrize("files", [[".gitignore", "generations/2024/data.bin"], ["CURRENT", "generations/2024/data"]])
def test_a_folder_in_the_place_of_the_index_is_refused_untouched(tmp_path, files):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("the cat")
    foreign = tmp_path / "docs" / ".cdesearch"
    for name in files:
        (foreign / name).parent.mkdir(parents=True, exist_ok=True)
        (foreign / name).write_text("mine")
    before = picture(tmp_path)
    cdesearch("index", "docs", cwd=tmp_path, code=2)
    cdesearch("index", "docs", "--rebuild", cwd=tmp_path, code=2)
    assert picture(tmp_path) == before


def test_an_index_of_an_older_format_is_built_again_with_one_line(docs, tiny_checkpoint):
    index = docs / ".cdesearch"
    (index / MARKER).write_text(f"cdesearch index\nformat {FORMAT - 1}\n")
    for manifest in index.rglob("manifest.json"):
        manifest.write_text("{}")
    before = picture(docs)
    for arguments in (["index"], ["query", "x", "--index", index], ["doctor"], ["doctor", "--repair"]):
        output = cdesearch(*arguments, cwd=docs, code=2).stderr
        assert f"has index format {FORMAT - 1}" in output and f"`cdesearch index {docs} --index {index}`" in output
    assert {name: before[name] for name in before if "lock" not in name}.items() <= picture(docs).items()
    renewed = cdesearch("index", docs, "--model", tiny_checkpoint, cwd=docs.parent).stderr
    assert f"The index in {index} has an older format, and is built again." in renewed
    assert len(list((index / "generations").iterdir())) == 1 and Index.open(docs).chunks.count_rows()
    (index / MARKER).write_text(f"cdesearch index\nformat {FORMAT - 1}\n")
    cdesearch("clear", "--yes", cwd=docs)
    assert not index.exists()


def test_an_index_of_a_later_format_is_left_unchanged(docs, tiny_checkpoint):
    (docs / ".cdesearch" / MARKER).write_text(f"cdesearch index\nformat {FORMAT + 1}\n")
    before = picture(docs)
    with pytest.raises(IndexMismatchError, match=f"index format {FORMAT + 1}; this cdesearch reads {FORMAT}"):
        update(docs, tiny_checkpoint)
    assert picture(docs) == before


def test_a_generations_folder_that_is_a_link_to_the_home_folder_is_refused(docs, home, tiny_checkpoint):
    index = docs / ".cdesearch"
    shutil.move(index / "generations", docs / "elsewhere")
    (index / "generations").symlink_to("../../home")
    (docs / "elsewhere").rename(home / "letters" / "kept")
    before = picture(home)
    commands = [["index", "."], ["index", ".", "--rebuild"], ["status"], ["query", "cat"]]
    for run in cdesearch_several(*((arguments, 2) for arguments in commands), cwd=docs):
        assert "symbolic link" in run.stderr
    assert picture(home) == before


@pytest.mark.parametrize("name", [".gitignore", "lock", "lock.holder", "CURRENT.new", MARKER])
def test_a_file_of_the_index_that_is_a_link_is_refused_and_its_target_kept(docs, home, name, tiny_checkpoint):
    file = docs / ".cdesearch" / name
    file.unlink(missing_ok=True)
    file.symlink_to(home / ".bashrc")
    before = picture(home)
    output = cdesearch("index", ".", cwd=docs, code=2).stderr
    assert "symbolic link" in output or "marker" in output
    assert picture(home) == before


@pytest.mark.parametrize(
    "name", ["plan.json", "manifest.json", "context.safetensors", "spool.arrow", "tables/chunks.lance/x", "tables/y"]
)
def test_a_link_in_a_generation_is_refused_by_every_command(docs, home, name, tiny_checkpoint):
    file = Index.open(docs).generation / name
    file.unlink(missing_ok=True)
    file.symlink_to(home)
    before = picture(home)
    for arguments in (["index", "."], ["status"], ["query", "cat", "--mode", "text"]):
        assert "symbolic link" in cdesearch(*arguments, cwd=docs, code=2).stderr
    assert picture(home) == before


@pytest.mark.parametrize("name", [".gitignore", "lock.holder", "CURRENT.new", "spool.arrow"])
def test_a_hard_link_to_a_foreign_file_is_never_written_through(docs, home, name, tiny_checkpoint):
    folder = Index.open(docs).generation if name == "spool.arrow" else docs / ".cdesearch"
    (folder / name).unlink(missing_ok=True)
    os.link(home / ".bashrc", folder / name)
    update(docs, tiny_checkpoint)
    assert (home / ".bashrc").read_text() == "alias ll='ls -l'\n"


def test_a_lock_that_is_a_hard_link_to_a_foreign_file_is_refused(docs, home, tiny_checkpoint):
    (docs / ".cdesearch" / "lock").unlink(missing_ok=True)
    os.link(home / ".bashrc", docs / ".cdesearch" / "lock")
    with pytest.raises(IndexUntrustedError, match="hard link"):
        update(docs, tiny_checkpoint)
    assert (home / ".bashrc").read_text() == "alias ll='ls -l'\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes among its files")
@pytest.mark.parametrize("name", ["lock", "CURRENT", "lock.holder", ".gitignore"])
def test_a_pipe_in_the_index_does_not_hang_a_run(docs, name):
    file = docs / ".cdesearch" / name
    file.unlink(missing_ok=True)
    os.mkfifo(file)
    assert "plain file" in cdesearch("index", ".", cwd=docs, code=2).stderr


def test_an_index_folder_that_is_a_link_is_refused_and_a_linked_parent_is_not(docs, tmp_path, tiny_checkpoint):
    (tmp_path / "way").symlink_to(docs)
    assert build([tmp_path / "way"], Options(model=tiny_checkpoint), Silent()).changed
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "c.md").write_text("the moon")
    (tmp_path / "other" / ".cdesearch").symlink_to(docs / ".cdesearch")
    before = picture(docs)
    for arguments in (["index", "."], ["query", "cat"], ["status"]):
        assert "symbolic link" in cdesearch(*arguments, cwd=tmp_path / "other", code=2).stderr
    assert picture(docs) == before


def test_a_gitignore_of_the_index_that_its_user_has_changed_is_kept(docs, tiny_checkpoint):
    (docs / ".cdesearch" / ".gitignore").write_text("!*\n")
    update(docs, tiny_checkpoint)
    assert (docs / ".cdesearch" / ".gitignore").read_text() == "!*\n"


# The folder that --index names.


def test_every_form_of_index_names_the_same_folder(tmp_path, tiny_checkpoint, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("the cat")
    assert "Name the files or folders to index" in cdesearch("index", "--index", "docs", cwd=tmp_path, code=2).stderr
    assert [entry.name for entry in (tmp_path / "docs").iterdir()] == ["a.md"]
    build([Path("docs")], Options(index=Path("docs"), model=tiny_checkpoint), Silent())
    for form in ("docs", "docs/.cdesearch", "docs/", tmp_path / "docs"):
        index = Index.open(Path(form))
        assert Searcher(index).search("cat")
        assert not build([], Options(index=Path(form)), Silent()).changed
        assert read_status(index)["root"] == str(tmp_path / "docs")


def test_the_index_folder_that_a_path_names(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a.md").write_text("x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / MARKER).write_text(MARK)
    meant = {name: chosen_place(tmp_path / name) for name in ("full", "empty", "index", "new", "new/.cdesearch")}
    assert meant == {
        "full": tmp_path / "full" / ".cdesearch",
        "empty": tmp_path / "empty",
        "index": tmp_path / "index",
        "new": tmp_path / "new",
        "new/.cdesearch": tmp_path / "new" / ".cdesearch",
    }


def test_a_file_named_as_index_is_refused(tmp_path, tiny_checkpoint):
    (tmp_path / "a.md").write_text("the cat")
    with pytest.raises(InputError, match="is a file"):
        build([tmp_path], Options(model=tiny_checkpoint, index=tmp_path / "a.md"), Silent())
    assert (tmp_path / "a.md").read_text() == "the cat"


@pytest.mark.parametrize(
    "name", ["a:b", "s3:", "s3://bucket/x", "db://x", "a%20b", "a%zz", "a b ", " ", "a#b", "a?b=c", "a'b\"c", "ü", "~x"]
)
def test_an_index_path_that_looks_like_an_address_is_a_path(tmp_path, name, tiny_checkpoint, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("the cat")
    build([Path("docs")], Options(index=Path(name), model=tiny_checkpoint), Silent())
    assert (tmp_path / name / "CURRENT").is_file()
    assert {entry.name for entry in tmp_path.iterdir()} == {"docs", name.partition("/")[0]}
    assert Searcher(Index.open(Path(name))).search("cat")
    assert read_status(Index.open(Path(name)))["chunks"] == 1
    assert not build([], Options(index=Path(name)), Silent()).changed


def test_a_relative_path_with_a_colon_works_on_the_command_line(docs):
    shutil.move(docs / ".cdesearch", docs / "a:b")
    assert cdesearch("query", "cat", "--mode", "text", "--index", "a:b", cwd=docs).stdout


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
@pytest.mark.parametrize("name", ["new\nline", "bell\x07", os.fsdecode(b"\xff\xfe")])
def test_an_index_path_that_lancedb_cannot_open_is_refused_in_one_line(tmp_path, name):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("the cat")
    output = cdesearch("index", "docs", "--index", name, cwd=tmp_path, code=2).stderr
    assert "control character or is not UTF-8" in output and "--index DIR" in output
    assert [entry.name for entry in tmp_path.iterdir()] == ["docs"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
@pytest.mark.parametrize("name", ["new\nline", "bell\x07"])
def test_documents_at_such_a_path_can_be_indexed_elsewhere(tmp_path, name, tiny_checkpoint):
    (tmp_path / name).mkdir()
    (tmp_path / name / "a.md").write_text("the cat")
    with pytest.raises(InputError, match="--index DIR"):
        build([tmp_path / name], Options(model=tiny_checkpoint), Silent())
    build([tmp_path / name], Options(model=tiny_checkpoint, index=tmp_path / "idx"), Silent())
    assert not build([], Options(index=tmp_path / "idx"), Silent()).changed
    assert Searcher(Index.open(tmp_path / "idx")).search("cat")[0].chunk.path == "a.md"


# Failed runs.


@pytest.mark.parametrize(
    "arguments",
    [
        ["docs", "--model", "nowhere"],
        ["docs", "--model", "me/model"],
        ["docs/rows.jsonl", "--text-column", "missing"],
        ["empty"],
        ["docs", "--index", "new/deep/index", "--model", "nowhere"],
        ["docs", "--index", "empty", "--model", "nowhere"],
    ],
)
def test_a_failed_first_run_leaves_nothing_behind(tmp_path, arguments):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "rows.jsonl").write_text('{"text": "the cat"}\n')
    (tmp_path / "empty").mkdir()
    before = picture(tmp_path)
    place = {"HF_ENDPOINT": "http://127.0.0.1:9"} if "me/model" in arguments else {}
    cdesearch("index", *arguments, cwd=tmp_path, code=2, **place)
    assert picture(tmp_path) == before


def test_a_failed_run_keeps_an_existing_index(docs):
    before = picture(docs)
    cdesearch("index", ".", "--rebuild", "--model", "nowhere", cwd=docs, code=2)
    after = picture(docs)
    new_files = {str(docs / ".cdesearch" / name) for name in ("lock", "lock.holder")}
    assert {name: text for name, text in after.items() if name not in new_files} == {
        name: text for name, text in before.items() if name not in new_files
    }


def test_a_failed_run_keeps_files_of_others_in_its_folder(tmp_path, tiny_checkpoint):
    (tmp_path / "docs").mkdir()
    foreign = tmp_path / "docs" / ".cdesearch" / "generations" / "notes.txt"

    class Putting(Silent):
        def stage(self, name, total):
            foreign.write_text("mine")
            return super().stage(name, total)

    with pytest.raises(InputError, match="nothing readable"):
        build([tmp_path / "docs"], Options(model=tiny_checkpoint), Putting())
    assert foreign.read_text() == "mine"


@pytest.mark.parametrize("length", [0, 5, len(MARK) - 1])
def test_a_partly_written_marker_is_completed(tmp_path, length, tiny_checkpoint):
    (tmp_path / "docs" / ".cdesearch").mkdir(parents=True)
    (tmp_path / "docs" / "a.md").write_text("the cat")
    (tmp_path / "docs" / ".cdesearch" / MARKER).write_text(MARK[:length])
    assert build([tmp_path / "docs"], Options(model=tiny_checkpoint), Silent()).n_chunks == 1
