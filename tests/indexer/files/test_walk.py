import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from walked import found, items, left_out, put

from cdesearch.builders import UnreadFile
from indexer.files.outcome import Ignored, Source
from indexer.files.walk import concerns_walk


def test_nested_ignore_files_apply_and_every_entry_names_its_rule(tmp_path):
    put(tmp_path, "a.md", "b.md", "c.md", "sub/d.md", "sub/e.md", ".hidden/f.md", ".cdesearch/g.md", "h.png")
    put(tmp_path, "built/deep/i.md")
    put(tmp_path, ".gitignore", text="# comment\nb.md\nbuilt/\n")
    put(tmp_path, ".cdesearchignore", text="/c.md\n")
    put(tmp_path, "sub/.cdesearchignore", text="e.md\n")
    assert found(tmp_path) == ["a.md", "sub/d.md"]
    assert left_out(tmp_path) == {
        ".cdesearchignore": "hidden",
        ".gitignore": "hidden",
        ".hidden/": "hidden",
        "b.md": ".gitignore:2 b.md",
        "built/": ".gitignore:3 built/",
        "c.md": ".cdesearchignore:1 /c.md",
        "h.png": "image (.png)",
        "sub/.cdesearchignore": "hidden",
        "sub/e.md": "sub/.cdesearchignore:1 e.md",
    }


def test_a_cdesearchignore_file_can_include_what_others_exclude(tmp_path):
    put(tmp_path, "a.md", "b.md", ".github/c.md", ".vscode/d.md")
    put(tmp_path, ".gitignore", text="*.md\n!.vscode/\n")
    put(tmp_path, ".cdesearchignore", text="!b.md\n!.github/\n!.github/*.md\n!.git\n")
    put(tmp_path, ".git/HEAD.md")
    assert found(tmp_path) == [".github/c.md", "b.md"]


def test_ignore_files_of_parents_apply_up_to_the_root_of_the_repository(tmp_path):
    put(tmp_path, ".gitignore", text="a.md\n")
    put(tmp_path, "repo/.git/info/exclude", text="c.md\n")
    put(tmp_path, "repo/.gitignore", text="/docs/b.md\nb.txt\n")
    put(tmp_path / "repo" / "docs", "a.md", "b.md", "b.txt", "c.md")
    assert found(tmp_path / "repo" / "docs") == ["a.md"]
    assert left_out(tmp_path / "repo" / "docs") == {
        "b.md": "../.gitignore:1 /docs/b.md",
        "b.txt": "../.gitignore:2 b.txt",
        "c.md": "../.git/info/exclude:1 c.md",
    }


def test_a_repository_in_a_folder_has_rules_of_its_own(tmp_path):
    put(tmp_path, ".gitignore", text="a.md\n")
    put(tmp_path, "inner/.git/HEAD")
    put(tmp_path, "inner/a.md")
    assert found(tmp_path) == ["inner/a.md"]


LARGE = "*[a-z]?[!b]*17"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda place: place.symlink_to("/dev/zero"), "a link, or a file behind one"),
        (lambda place: place.symlink_to(put(place.parent, "rules", text="*.md\n")), "a link, or a file behind one"),
        (lambda place: put(place, "b.md"), "not a regular file"),
        (os.mkfifo, "not a regular file"),
        (lambda place: place.write_text("x" * 1_000_001), "larger than 1 MB"),
        (lambda place: place.write_text("a*\n" * 5_001 + "a.md"), "more than 5,000 rules"),
        (lambda place: place.write_text(f"{LARGE * 4}\n" * 2_000), "more than 100,000 characters in its rules"),
    ],
    ids=["device", "link", "folder", "pipe", "large", "many rules", "long rules"],
)
def test_an_ignore_file_that_cannot_be_used_is_reported_once_with_its_reason(tmp_path, make, problem):
    put(tmp_path, "part/a.md")
    make(tmp_path / "part" / ".gitignore")
    assert [item for item in items(tmp_path) if "gitignore" in item.path] == [
        UnreadFile("part/.gitignore", f"cannot be used as an ignore file: {problem}")
    ]
    assert "part/a.md" in found(tmp_path)


def test_the_excludes_of_the_user_apply(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    put(tmp_path, "home/.gitconfig", text="[user]\n\tname = x\n[core]\n\texcludesFile = ~/mine\n")
    put(tmp_path, "home/mine", text="*.log\n")
    put(tmp_path, "docs/a.log")
    assert left_out(tmp_path / "docs") == {"a.log": "~/mine:1 *.log"}


NAMES = st.sampled_from(["a", "b", "ab", "a.b", "c", "x y", "[a]", "a]", "a-b"])
WILDCARDS = ["*", "**", "?", "a", "b", "ab", "a*", "*b", "\\a", "\\*"]
CLASSES = ["[ab]", "[!a]", "[a-c]", "[]a]", "[^]]", "[[:alpha:]]"]
BROKEN = ["[a", "a\\", "***", "x y"]
PIECE = st.sampled_from([*WILDCARDS, *CLASSES, *BROKEN]) | st.text("ab*?[]!-\\^", min_size=1, max_size=5)
PATTERN = st.builds(
    lambda negated, lead, parts, tail: negated + lead + "/".join(parts) + tail,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/", "**/"]),
    st.lists(PIECE, min_size=1, max_size=3),
    st.sampled_from(["", "", "/", "/**", " "]),
)
TREE = st.lists(st.lists(NAMES, min_size=1, max_size=4), min_size=1, max_size=14)
IGNORES = st.dictionaries(
    st.sampled_from([".", "a", "a/b", "b"]), st.lists(PATTERN, min_size=1, max_size=5), min_size=1, max_size=3
)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="git is the oracle")
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(TREE, IGNORES)
@example([["a"], ["b", "a"]], {".": ["*/*", "[/[ab]"]})
def test_the_walk_finds_exactly_the_files_that_git_does_not_ignore(paths, ignores):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        subprocess.run(["git", "init", "-q", folder], check=True)
        for parts in paths:
            file = root.joinpath(*parts)
            if not any(place.exists() and not place.is_dir() for place in [file, *file.parents]) and not file.exists():
                put(root, "/".join(parts))
        for place, lines in ignores.items():
            if (root / place).is_dir():
                (root / place / ".gitignore").write_text("\n".join(lines) + "\n")
        call = ["git", "-C", folder, "ls-files", "-z", "--others", "--exclude-standard"]
        listed = subprocess.run(call, capture_output=True, text=True, check=True).stdout.split("\0")
        expected = {path for path in listed if path and not path.endswith(".gitignore")}
        assert {item.path for item in items(root) if not isinstance(item, Ignored)} == expected


def test_a_named_file_is_always_read_once(tmp_path):
    put(tmp_path, ".gitignore", text="*.md\n")
    named, other = put(tmp_path, "a.md"), put(tmp_path, "b.xyz")
    assert found(tmp_path, named, other) == ["a.md", "b.xyz"]
    assert found(tmp_path, tmp_path, named) == ["a.md"]
    assert "a.md" not in left_out(tmp_path, tmp_path, named)


def test_links_out_of_the_tree_are_left_out(tmp_path):
    outside = put(tmp_path, "outside.md")
    put(tmp_path, "tree/in.md")
    (tmp_path / "tree" / "out.md").symlink_to(outside)
    (tmp_path / "tree" / "loop").symlink_to(tmp_path / "tree")
    (tmp_path / "tree" / "also.md").symlink_to("in.md")
    assert found(tmp_path / "tree") == ["in.md"]
    assert left_out(tmp_path / "tree") == {
        "also.md": "link to a file",
        "loop": "link to a folder",
        "out.md": "link out of the tree",
    }


def test_a_named_link_is_followed(tmp_path):
    put(tmp_path, "in.md")
    (tmp_path / "also.md").symlink_to("in.md")
    assert found(tmp_path, tmp_path / "also.md") == ["also.md"]
    assert found(tmp_path, tmp_path, tmp_path / "also.md") == ["in.md", "also.md"]


def test_odd_names_stay_different_and_bytes_that_are_not_utf8_are_escaped(tmp_path):
    names = [b"\xff.md", b"\\xff.md", b"\\x5cxff.md", b"\\\xff.md", b"\\\\xff.md", "é\\xff.md".encode(), b"\xe9\xff.md"]
    names += [b"with space.md", b"new\nline.md", "🐈.md".encode(), b"caf\xe9.md"]
    for name in names:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("x")
    shown = found(tmp_path)
    assert len(set(shown)) == len(names)
    assert {"with space.md", "new\nline.md", "🐈.md", "caf\\xe9.md"} <= set(shown)


def test_large_files_are_skipped_by_name(tmp_path):
    put(tmp_path, "a.md", text="x" * 100)
    (item,) = items(tmp_path, limit=10)
    assert isinstance(item, UnreadFile) and "--max-file-size" in item.reason


@pytest.mark.skipif(not hasattr(os.stat_result, "st_blocks"), reason="no file shows its holes")
def test_a_sparse_file_of_records_is_skipped(tmp_path):
    put(tmp_path, "a.jsonl", text='{"text": "x"}\n' * 100)
    os.truncate(put(tmp_path, "b.jsonl"), 10**12)
    assert [type(item) for item in items(tmp_path, limit=10)] == [Source, UnreadFile]


def test_a_file_without_suffix_is_read_if_it_is_text(tmp_path):
    put(tmp_path, "script", text="#!/usr/bin/env python3\nprint(1)\n")
    put(tmp_path, "notes", text="some words")
    put(tmp_path, "empty", text="")
    put(tmp_path, "Apache-2.0", text="a licence")
    put(tmp_path, "cat.1", text="a page of the manual")
    (tmp_path / "program").write_bytes(b"\x7fELF\0\0")
    assert found(tmp_path) == ["Apache-2.0", "cat.1", "empty", "notes", "script"]
    assert left_out(tmp_path) == {"program": "binary file without suffix"}


def test_a_beir_folder_leaves_out_its_queries_and_judgements_alone(tmp_path):
    put(tmp_path, "beir/corpus.jsonl", "beir/queries.jsonl", "beir/qrels/test.tsv", "beir/README.md", "beir/more/b.md")
    put(tmp_path, "other/corpus.jsonl", "other/qrels/test.tsv", "other/a.md")
    assert found(tmp_path / "beir") == ["README.md", "corpus.jsonl", "more/b.md"]
    assert found(tmp_path / "other") == ["a.md", "corpus.jsonl", "qrels/test.tsv"]
    rule = "queries and judgements of a BEIR folder"
    assert left_out(tmp_path) == {"beir/qrels/": rule, "beir/queries.jsonl": rule}


def test_a_change_counts_only_if_the_walk_would_see_it(tmp_path):
    put(tmp_path, ".gitignore", text="*.log\nbuilt/\n")
    put(tmp_path, "sub/.ignore", text="e.md\n")
    put(tmp_path, "built/deep/i.md", ".git/HEAD", ".cdesearch/x", "sub/d.md")
    seen = ["a.md", "new/b.md", "sub", "sub/d.md", "sub/.ignore", ".gitignore", "a.png"]
    unseen = ["x.log", "built/deep/i.md", "built", ".git/HEAD", ".cdesearch/x", ".cdesearch", "sub/e.md", ".swp"]
    (tmp_path / "new").mkdir()
    verdicts = {name: concerns_walk(tmp_path, [tmp_path / name]) for name in seen + unseen}
    assert verdicts == dict.fromkeys(seen, True) | dict.fromkeys(unseen, False)
    assert concerns_walk(tmp_path, [tmp_path]) and not concerns_walk(tmp_path, [tmp_path.parent / "other.md"])
    assert concerns_walk(tmp_path, [tmp_path / "x.log", tmp_path / "a.md"])
