import os
from pathlib import Path

import pytest

from cdesearch.errors import SourceError
from indexer.walk import Skipped, Source, find_sources


def found(root, *paths, limit=10**7):
    return [item.path for item in find_sources([Path(p) for p in paths] or [root], root, limit)]


def put(root, name, text="x"):
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_ignore_files_hold_nested_and_hidden_files_stay_out(tmp_path):
    for name in ["a.md", "b.md", "c.md", "sub/d.md", "sub/e.md", ".hidden/f.md", ".cdesearch/g.md", "h.png"]:
        put(tmp_path, name)
    put(tmp_path, ".gitignore", "b.md\n")
    put(tmp_path, ".cdesearchignore", "/c.md\n")
    put(tmp_path, "sub/.cdesearchignore", "e.md\n")
    assert found(tmp_path) == ["a.md", "sub/d.md"]


def test_what_sphinx_puts_beside_its_pages_stays_out(tmp_path):
    for name in [
        "html/a.html",
        "html/searchindex.js",
        "html/_sources/a.rst.txt",
        "html/genindex.html",
        "genindex.html",
    ]:
        put(tmp_path, name)
    assert found(tmp_path) == ["genindex.html", "html/a.html", "html/searchindex.js"]


def test_a_named_file_is_always_taken(tmp_path):
    put(tmp_path, ".gitignore", "*.md\n")
    assert found(tmp_path, put(tmp_path, "a.md")) == ["a.md"]


def test_links_out_of_the_tree_are_left_out(tmp_path):
    outside = put(tmp_path, "outside.md")
    put(tmp_path, "tree/in.md")
    (tmp_path / "tree" / "out.md").symlink_to(outside)
    (tmp_path / "tree" / "loop").symlink_to(tmp_path / "tree")
    assert found(tmp_path / "tree") == ["in.md"]


@pytest.mark.parametrize("name", ["with space.md", "new\nline.md", "🐈.md"])
def test_odd_names(tmp_path, name):
    put(tmp_path, name)
    assert found(tmp_path) == [name]


def test_a_name_that_is_not_utf8_is_escaped(tmp_path):
    file = os.fsencode(tmp_path) + b"/caf\xe9.md"
    with open(file, "w") as stream:  # noqa: PTH123 (bytes)
        stream.write("x")
    assert found(tmp_path) == ["caf\\xe9.md"]


def test_large_files_are_skipped_by_name(tmp_path):
    put(tmp_path, "a.md", "x" * 100)
    (item,) = find_sources([tmp_path], tmp_path, 10)
    assert isinstance(item, Skipped) and "--max-file-size" in item.reason


def test_a_beir_folder_is_its_corpus(tmp_path):
    for name in ["corpus.jsonl", "queries.jsonl", "README.md"]:
        put(tmp_path, name)
    assert found(tmp_path) == ["corpus.jsonl"]


def test_a_missing_path_is_named(tmp_path):
    with pytest.raises(SourceError, match="nowhere"):
        found(tmp_path, tmp_path / "nowhere")


def test_size_and_time_are_the_files_own(tmp_path):
    file = put(tmp_path, "a.md", "four")
    (item,) = find_sources([tmp_path], tmp_path, 10)
    assert item == Source(file, "a.md", 4, file.stat().st_mtime_ns)
