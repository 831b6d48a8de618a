"""Only files of an index are written or deleted: other folders, links in an index, odd paths, failed runs."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from built import make_index, write_files
from command import cdesearch, cdesearch_several, picture

from cdesearch.cli.status import read_status
from cdesearch.errors import InputError
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from cdesearch.store.layout import FORMAT, MARK, MARKER

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ready(tmp_path_factory, tiny_checkpoint):
    """A folder with an index of the present format, to copy."""
    root = write_files(tmp_path_factory.mktemp("ready") / "docs", {"a.md": "the cat in the house"})
    make_index([root], model=tiny_checkpoint)
    return root


@pytest.fixture
def docs(ready, tmp_path):
    """A copy of the indexed folder, with a new document for the next run."""
    folder = shutil.copytree(ready, tmp_path / "docs", symlinks=True)
    (folder / "b.md").write_text("the dog in the water")
    return folder


@pytest.fixture
def cats(tmp_path):
    """A folder without an index."""
    return write_files(tmp_path / "docs", {"a.md": "the cat"})


@pytest.fixture
def home(tmp_path):
    return write_files(tmp_path / "home", {"letters/one.txt": "dear cat", ".bashrc": "alias ll='ls -l'\n"})


# Folders of others.


def test_a_project_folder_named_with_index_keeps_its_files(cats, tmp_path):
    write_files(tmp_path / "generations" / "2024", {"data.bin": "years of work"})
    before = picture(tmp_path)
    cdesearch("index", "docs", "--index", tmp_path, cwd=tmp_path)
    after = picture(tmp_path)
    assert {name: after.get(name) for name in before} == before
    assert all(name.startswith(str(tmp_path / ".cdesearch")) for name in after.keys() - before.keys())
    assert cdesearch("query", "cat", "--index", tmp_path, "-k", "1", cwd=tmp_path).stdout


@pytest.mark.parametrize("files", [[".gitignore", "generations/2024/data.bin"], ["CURRENT", "generations/2024/data"]])
def test_a_folder_in_the_place_of_the_index_is_refused_untouched(cats, tmp_path, files):
    write_files(cats / ".cdesearch", dict.fromkeys(files, "mine"))
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
    for arguments in (["query", "x", "--index", index], ["doctor"], ["doctor", "--repair"]):
        output = cdesearch(*arguments, cwd=docs, code=2).stderr
        assert f"has index format {FORMAT - 1}" in output and f"`cdesearch index {docs} --index {index}`" in output
    assert {name: before[name] for name in before if "lock" not in name}.items() <= picture(docs).items()
    renewed = cdesearch("index", "--model", tiny_checkpoint, cwd=docs).stderr
    assert f"The index in {index} has an older format, and is built again." in renewed
    assert len(list((index / "generations").iterdir())) == 1 and Index.open(docs).chunks.count_rows()
    (index / MARKER).write_text(f"cdesearch index\nformat {FORMAT - 1}\n")
    cdesearch("clear", "--yes", cwd=docs)
    assert not index.exists()


# Links and pipes in an index.

IN_INDEX = [".gitignore", "lock", "lock.holder", "CURRENT.new", MARKER]
IN_GENERATION = [
    "plan.json",
    "manifest.json",
    "context.safetensors",
    "spool.arrow",
    "tables/chunks.lance/x",
    "tables/y",
]


@pytest.mark.parametrize("name", ["", "generations", *IN_INDEX, *(f"live/{name}" for name in IN_GENERATION)])
def test_a_link_in_an_index_is_refused_and_its_target_kept(docs, home, name):
    folder = docs / ".cdesearch"
    live = Index.open(docs).generation
    file = live / name.removeprefix("live/") if name.startswith("live/") else folder / name
    if file.is_dir():
        shutil.move(file, home / "moved")
    file.unlink(missing_ok=True)
    file.symlink_to(home / "moved" if (home / "moved").exists() else home / ".bashrc")
    before = picture(home)
    commands = [["index", "."], ["index", ".", "--rebuild"]]
    if name not in IN_INDEX:  # such files are not read by a query
        commands += [["status"], ["query", "cat", "--mode", "text"]]
    for run in cdesearch_several(*((arguments, 2) for arguments in commands), cwd=docs):
        assert "symbolic link" in run.stderr or "marker" in run.stderr
    assert picture(home) == before


def test_a_linked_folder_above_an_index_is_not_refused(docs, tmp_path, tiny_checkpoint):
    (tmp_path / "way").symlink_to(docs)
    assert make_index([tmp_path / "way"], model=tiny_checkpoint).changed


@pytest.mark.parametrize("name", [".gitignore", "lock", "lock.holder", "CURRENT.new", "live"])
def test_a_hard_link_to_a_foreign_file_is_never_written_through(docs, home, name, tiny_checkpoint):
    file = Index.open(docs).generation / "spool.arrow" if name == "live" else docs / ".cdesearch" / name
    file.unlink(missing_ok=True)
    os.link(home / ".bashrc", file)
    run = cdesearch("index", ".", "--model", tiny_checkpoint, cwd=docs, code=2 if name == "lock" else 0)
    assert name != "lock" or "hard link" in run.stderr
    assert (home / ".bashrc").read_text() == "alias ll='ls -l'\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes among its files")
@pytest.mark.parametrize("name", ["lock", "CURRENT", "lock.holder", ".gitignore"])
def test_a_pipe_in_the_index_does_not_hang_a_run(docs, name):
    file = docs / ".cdesearch" / name
    file.unlink(missing_ok=True)
    os.mkfifo(file)
    assert "plain file" in cdesearch("index", ".", cwd=docs, code=2).stderr


def test_a_gitignore_of_the_index_that_its_user_has_changed_is_kept(docs, tiny_checkpoint):
    (docs / ".cdesearch" / ".gitignore").write_text("!*\n")
    make_index([docs], model=tiny_checkpoint)
    assert (docs / ".cdesearch" / ".gitignore").read_text() == "!*\n"


# The folder that --index names.


@pytest.mark.parametrize("name", ["new/.cdesearch", "s3:", "a%20b", "a#b?c=d", "a'b\"c", "~x"])
def test_an_index_path_that_looks_like_an_address_is_a_path(cats, tmp_path, name, tiny_checkpoint, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_index([Path("docs")], index=Path(name), model=tiny_checkpoint)
    assert (tmp_path / name / "CURRENT").is_file()
    assert {entry.name for entry in tmp_path.iterdir()} == {"docs", name.partition("/")[0]}
    for form in (Path(name), tmp_path / name):
        assert Searcher(Index.open(form)).search("cat")
        assert read_status(Index.open(form))["chunks"] == 1
        assert not make_index([], index=form).changed
    assert cdesearch("query", "cat", "--mode", "text", "--index", name, cwd=tmp_path).stdout


def test_a_folder_of_documents_named_with_index_gets_its_index_inside(cats, tmp_path, tiny_checkpoint):
    assert "Name the files or folders to index" in cdesearch("index", "--index", "docs", cwd=tmp_path, code=2).stderr
    assert [entry.name for entry in cats.iterdir()] == ["a.md"]
    with pytest.raises(InputError, match="is a file"):
        make_index([cats], model=tiny_checkpoint, index=cats / "a.md")
    make_index([cats], index=cats, model=tiny_checkpoint)
    assert (cats / ".cdesearch" / "CURRENT").exists() and (cats / "a.md").read_text() == "the cat"
    for form in (cats, cats / ".cdesearch"):
        assert Searcher(Index.open(form)).search("cat")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
@pytest.mark.parametrize("name", ["new\nline", "bell\x07", os.fsdecode(b"\xff\xfe")])
def test_an_index_path_that_lancedb_cannot_open_is_refused_in_one_line(cats, tmp_path, name, tiny_checkpoint):
    output = cdesearch("index", "docs", "--index", name, cwd=tmp_path, code=2).stderr
    assert "control character or is not UTF-8" in output and "--index DIR" in output
    assert [entry.name for entry in tmp_path.iterdir()] == ["docs"]
    cats.rename(tmp_path / name)  # its documents can be indexed elsewhere
    make_index([tmp_path / name], model=tiny_checkpoint, index=tmp_path / "idx")
    assert not make_index([], index=tmp_path / "idx").changed
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
        ["docs", "--context-size", "100000000000000000000"],
        *(["docs", "--max-file-size", size] for size in ("1e400", "-5", "0", "nan", "1e30")),
    ],
)
def test_a_failed_first_run_leaves_nothing_behind(tmp_path, arguments):
    write_files(tmp_path / "docs", {"rows.jsonl": '{"text": "the cat"}\n'})
    (tmp_path / "empty").mkdir()
    before = picture(tmp_path)
    place = {"HF_ENDPOINT": "http://127.0.0.1:9"} if "me/model" in arguments else {}
    cdesearch("index", *arguments, cwd=tmp_path, code=2, **place)
    assert picture(tmp_path) == before


def test_a_failed_run_keeps_an_existing_index(docs):
    before = picture(docs / ".cdesearch" / "generations")
    cdesearch("index", ".", "--rebuild", "--model", "nowhere", cwd=docs, code=2)
    assert picture(docs / ".cdesearch" / "generations") == before and Index.open(docs)


@pytest.mark.parametrize("length", [0, 5, len(MARK) - 1])
def test_a_partly_written_marker_is_completed(cats, length, tiny_checkpoint):
    write_files(cats / ".cdesearch", {MARKER: MARK[:length]})
    assert make_index([cats], model=tiny_checkpoint).chunks == 1
