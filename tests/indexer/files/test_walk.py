import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cdesearch.errors import SourceError
from indexer.files.outcome import Ignored, Skipped, Source
from indexer.files.walk import Selection, concerns_walk, find_sources


def items(root, *paths, limit=10**7):
    return list(find_sources([Path(p) for p in paths] or [root], root, Selection(limit)))


def found(root, *paths):
    return [item.path for item in items(root, *paths) if isinstance(item, Source)]


def left_out(root, *paths):
    return {
        item.path: item.rule if isinstance(item, Ignored) else item.reason
        for item in items(root, *paths)
        if not isinstance(item, Source)
    }


def put(root, name, text="x"):
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_nested_ignore_files_apply_and_every_entry_names_its_rule(tmp_path):
    for name in ["a.md", "b.md", "c.md", "sub/d.md", "sub/e.md", ".hidden/f.md", ".cdesearch/g.md", "h.png"]:
        put(tmp_path, name)
    put(tmp_path, "built/deep/i.md")
    put(tmp_path, ".gitignore", "# comment\nb.md\nbuilt/\n")
    put(tmp_path, ".cdesearchignore", "/c.md\n")
    put(tmp_path, "sub/.cdesearchignore", "e.md\n")
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
    for name in ["a.md", "b.md", ".github/c.md", ".vscode/d.md"]:
        put(tmp_path, name)
    put(tmp_path, ".gitignore", "*.md\n!.vscode/\n")
    put(tmp_path, ".cdesearchignore", "!b.md\n!.github/\n!.github/*.md\n!.git\n")
    put(tmp_path, ".git/HEAD.md")
    assert found(tmp_path) == [".github/c.md", "b.md"]


def test_ignore_files_of_parents_apply_up_to_the_root_of_the_repository(tmp_path):
    put(tmp_path, ".gitignore", "a.md\n")
    put(tmp_path, "repo/.git/info/exclude", "c.md\n")
    put(tmp_path, "repo/.gitignore", "/docs/b.md\nb.txt\n")
    for name in ["a.md", "b.md", "b.txt", "c.md"]:
        put(tmp_path, f"repo/docs/{name}")
    assert found(tmp_path / "repo" / "docs") == ["a.md"]
    assert left_out(tmp_path / "repo" / "docs") == {
        "b.md": "../.gitignore:1 /docs/b.md",
        "b.txt": "../.gitignore:2 b.txt",
        "c.md": "../.git/info/exclude:1 c.md",
    }


def test_a_repository_in_a_folder_has_rules_of_its_own(tmp_path):
    put(tmp_path, ".gitignore", "a.md\n")
    put(tmp_path, "inner/.git/HEAD")
    put(tmp_path, "inner/a.md")
    assert found(tmp_path) == ["inner/a.md"]


def git(*arguments):
    owner = ["-c", "user.name=x", "-c", "user.email=x@y", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *owner, *map(str, arguments)], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path):
    """A repository with one commit."""
    git("init", tmp_path / "repo")
    git("-C", tmp_path / "repo", "commit", "--allow-empty", "-m", "x")
    return tmp_path / "repo"


@pytest.mark.skipif(shutil.which("git") is None, reason="git makes the worktrees")
@pytest.mark.parametrize("is_bare", [False, True])
def test_the_excludes_of_a_repository_apply_in_its_worktrees(tmp_path, repository, is_bare):
    if is_bare:
        git("clone", "--bare", repository, tmp_path / "bare.git")
        repository = tmp_path / "bare.git"
    git("-C", repository, "worktree", "add", "--detach", tmp_path / "tree")
    put(repository, "info/exclude" if is_bare else ".git/info/exclude", "a.md\n")
    put(tmp_path, "tree/a.md")
    (tmp_path / "linked").symlink_to("tree")
    for tree in (tmp_path / "tree", tmp_path / "linked"):
        assert left_out(tree) == {".git": "hidden", "a.md": ".git/info/exclude:1 a.md"}


@pytest.mark.skipif(shutil.which("git") is None, reason="git makes the worktrees")
def test_a_worktree_with_relative_paths_has_its_excludes(tmp_path, repository):
    git("-C", repository, "worktree", "add", "--detach", tmp_path / "tree")
    put(tmp_path, "tree/.git", "gitdir: ../repo/.git/worktrees/tree\n")
    put(repository, ".git/worktrees/tree/gitdir", "../../../../tree/.git\n")
    put(repository, ".git/info/exclude", "a.md\n")
    put(tmp_path, "tree/a.md")
    assert left_out(tmp_path / "tree") == {".git": "hidden", "a.md": ".git/info/exclude:1 a.md"}


@pytest.mark.skipif(shutil.which("git") is None, reason="git makes the submodule")
def test_the_excludes_of_a_submodule_apply(tmp_path, repository):
    git("init", tmp_path / "outer")
    git("-C", tmp_path / "outer", "submodule", "add", repository, "sub")
    put(tmp_path, "outer/.git/modules/sub/info/exclude", "a.md\n")
    put(tmp_path, "outer/sub/a.md")
    assert left_out(tmp_path / "outer")["sub/a.md"] == "sub/.git/info/exclude:1 a.md"


@pytest.mark.parametrize(
    ("named", "is_reported"), [("out", True), ("out/.git/worktrees/tree", True), ("out/missing", False), ("a\0b", True)]
)
def test_a_git_file_that_names_a_foreign_folder_reads_nothing_there(tmp_path, named, is_reported):
    put(tmp_path, "docs/a.md")
    put(tmp_path, "docs/.git", f"gitdir: ../{named}\n")
    put(tmp_path, "out/config", "[core]\n\tbare = false\n")
    put(tmp_path, "out/info/exclude", "a.md\n")
    put(tmp_path, "out/.git/info/exclude", "a.md\n")
    put(tmp_path, "out/.git/worktrees/tree/gitdir", f"{tmp_path}/elsewhere/.git\n")
    put(tmp_path, "out/.git/worktrees/tree/commondir", "../..\n")
    assert found(tmp_path / "docs") == ["a.md"]
    reason = "not used: .git names a repository that does not name it in turn"
    reported = {".git/info/exclude": reason} if is_reported else {}
    assert left_out(tmp_path / "docs") == {".git": "hidden", **reported}


@pytest.mark.parametrize("link", [".git", ".git/info", ".git/info/exclude"])
def test_git_excludes_behind_a_link_are_not_read(tmp_path, link):
    put(tmp_path, "docs/a.md")
    for part in ("", "info/", "info/info/"):
        put(tmp_path, f"out/{part}exclude", "a.md\n")
    place = tmp_path / "docs" / link
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(tmp_path / "out" / ("exclude" if place.name == "exclude" else ""))
    assert found(tmp_path / "docs") == ["a.md"]
    reason = "cannot be used as an ignore file: a link, or a file behind one"
    assert left_out(tmp_path / "docs")[".git/info/exclude"] == reason


@pytest.mark.parametrize("link", ["info", "info/exclude", "worktrees/tree/gitdir"])
def test_a_repository_that_a_worktree_names_is_not_read_through_links(tmp_path, link):
    put(tmp_path, "docs/a.md")
    put(tmp_path, "docs/.git", "gitdir: repo/worktrees/tree\n")
    put(tmp_path, "docs/repo/info/exclude", "a.md\n")
    put(tmp_path, "docs/repo/worktrees/tree/gitdir", f"{tmp_path}/docs/.git\n")
    assert "a.md" not in found(tmp_path / "docs")
    (tmp_path / "docs" / "repo" / link).rename(tmp_path / "out")
    (tmp_path / "docs" / "repo" / link).symlink_to(tmp_path / "out")
    assert "a.md" in found(tmp_path / "docs")


@pytest.mark.parametrize("target", ["/dev/zero", "elsewhere"])
@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
def test_an_ignore_file_that_cannot_be_used_is_reported_and_not_called_hidden(tmp_path, target):
    put(tmp_path, "docs/part/a.md")
    put(tmp_path, "elsewhere", "*.md\n")
    (tmp_path / "docs" / "part" / ".gitignore").symlink_to(target if target[0] == "/" else tmp_path / target)
    items = [
        item
        for item in find_sources([tmp_path / "docs"], tmp_path / "docs", Selection(1000))
        if "gitignore" in item.path
    ]
    reason = "cannot be used as an ignore file: a link, or a file behind one"
    assert items == [Skipped("part/.gitignore", reason)]


@pytest.mark.parametrize("kind", ["folder", "pipe", "large"])
@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes with names")
def test_what_has_the_name_of_an_ignore_file_and_is_unusable_is_reported_once_with_its_reason(tmp_path, kind):
    put(tmp_path, "part/a.md")
    place = tmp_path / "part" / ".gitignore"
    if kind == "folder":
        put(place, "b.md")
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.write_text("x" * 1_000_001)
    problem = "larger than 1 MB" if kind == "large" else "not a regular file"
    items = [item for item in find_sources([tmp_path], tmp_path, Selection(1000)) if "gitignore" in item.path]
    assert items == [Skipped("part/.gitignore", f"cannot be used as an ignore file: {problem}")]


@pytest.mark.parametrize(
    ("rules", "problem"),
    [
        (["a*"] * 5_001, "more than 5,000 rules"),
        (["*[a-z]?[!b]*17" * 4] * 2_000, "more than 100,000 characters in its rules"),
        (["*[a-z]?[!b]*17" * 8_000], "more than 100,000 characters in its rules"),
    ],
)
def test_an_ignore_file_that_would_take_minutes_to_compile_is_reported_and_not_used(tmp_path, rules, problem):
    put(tmp_path, "a.md")
    put(tmp_path, ".gitignore", "\n".join([*rules, "a.md"]))
    items = list(find_sources([tmp_path], tmp_path, Selection(1_000_000)))
    assert Skipped(".gitignore", f"cannot be used as an ignore file: {problem}") in items
    assert "a.md" in {item.path for item in items if isinstance(item, Source)}


def test_comments_do_not_count_as_rules(tmp_path):
    put(tmp_path, "a.md")
    put(tmp_path, ".gitignore", "# a long comment that is no rule\n\n" * 20_000 + "a.md")
    assert found(tmp_path) == []


def test_the_excludes_of_the_user_apply(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    put(tmp_path, "home/.gitconfig", "[user]\n\tname = x\n[core]\n\texcludesFile = ~/mine\n")
    put(tmp_path, "home/mine", "*.log\n")
    put(tmp_path, "docs/a.log")
    assert left_out(tmp_path / "docs") == {"a.log": "~/mine:1 *.log"}


@pytest.mark.parametrize("is_link", [True, False])
def test_excludes_of_the_user_that_cannot_be_found_are_none(tmp_path, monkeypatch, is_link):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    if is_link:  # to itself
        put(tmp_path, "home/.config/git/config").with_name("ignore").symlink_to("ignore")
    else:
        put(tmp_path, "home/.gitconfig", "[core]\n\texcludesFile = a\0b\n")
    put(tmp_path, "docs/a.log")
    assert left_out(tmp_path / "docs") == {}


NAMES = st.sampled_from(["a", "b", "ab", "a.b", "c", "x y", "[a]", "a]", "a-b"])
PIECES = [
    "*",
    "**",
    "?",
    "a",
    "b",
    "ab",
    "[ab]",
    "[!a]",
    "[a-c]",
    "[]a]",
    "[^]]",
    "\\a",
    "\\*",
    "a*",
    "*b",
    "[[:alpha:]]",
]
PIECE = st.one_of(st.sampled_from([*PIECES, "[a", "a\\", "***", "x y"]), st.text("ab*?[]!-\\^", min_size=1, max_size=5))
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


def test_files_that_accompany_sphinx_pages_are_excluded(tmp_path):
    for name in [
        "html/a.html",
        "html/searchindex.js",
        "html/_sources/a.rst.txt",
        "html/genindex.html",
        "genindex.html",
    ]:
        put(tmp_path, name)
    assert found(tmp_path) == ["genindex.html", "html/a.html"]
    assert set(left_out(tmp_path).values()) == {"search page or asset of Sphinx"}


def test_a_named_file_is_always_read_once(tmp_path):
    put(tmp_path, ".gitignore", "*.md\n")
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


def test_a_link_does_not_include_a_file_that_a_rule_excludes(tmp_path):
    put(tmp_path, ".env")
    put(tmp_path, ".ssh/id_rsa")
    put(tmp_path, ".gitignore", "private.md\n")
    put(tmp_path, "private.md")
    put(tmp_path, "docs/in.md")
    for number, target in enumerate(["../.env", "../.ssh/id_rsa", "../private.md"]):
        (tmp_path / "docs" / f"{number}.md").symlink_to(target)
    assert found(tmp_path) == ["docs/in.md"]


def test_a_named_link_is_followed(tmp_path):
    put(tmp_path, "in.md")
    (tmp_path / "also.md").symlink_to("in.md")
    assert found(tmp_path, tmp_path / "also.md") == ["also.md"]
    assert found(tmp_path, tmp_path, tmp_path / "also.md") == ["in.md", "also.md"]


@pytest.mark.parametrize("name", ["with space.md", "new\nline.md", "🐈.md"])
def test_odd_names(tmp_path, name):
    put(tmp_path, name)
    assert found(tmp_path) == [name]


def test_a_name_that_is_not_utf8_is_escaped(tmp_path):
    file = os.fsencode(tmp_path) + b"/caf\xe9.md"
    with open(file, "w") as stream:  # noqa: PTH123 (bytes)
        stream.write("x")
    assert found(tmp_path) == ["caf\\xe9.md"]


def test_names_that_differ_in_invalid_bytes_alone_stay_different(tmp_path):
    names = [b"\xff.md", b"\\xff.md", b"\\x5cxff.md", b"\\\xff.md", b"\\\\xff.md", "é\\xff.md".encode(), b"\xe9\xff.md"]
    for name in names:
        with open(os.fsencode(tmp_path) + b"/" + name, "w") as stream:  # noqa: PTH123 (bytes)
            stream.write("x")
    assert len(set(found(tmp_path))) == len(names)


def test_large_files_are_skipped_by_name(tmp_path):
    put(tmp_path, "a.md", "x" * 100)
    (item,) = items(tmp_path, limit=10)
    assert isinstance(item, Skipped) and "--max-file-size" in item.reason


@pytest.mark.skipif(not hasattr(os.stat_result, "st_blocks"), reason="no file shows its holes")
def test_a_sparse_file_of_records_is_skipped(tmp_path):
    put(tmp_path, "a.jsonl", '{"text": "x"}\n' * 100)
    os.truncate(put(tmp_path, "b.jsonl"), 10**12)
    assert [type(item) for item in items(tmp_path, limit=10)] == [Source, Skipped]


UNKNOWN = ["djvu", "ppt", "xls", "pages", "key", "msg", "gz", "zip", "foo"]


@pytest.mark.parametrize("suffix", UNKNOWN)
def test_a_format_that_cannot_be_read_is_skipped_by_its_name(tmp_path, suffix):
    put(tmp_path, f"a.{suffix.upper()}")
    assert items(tmp_path) == [Skipped(f"a.{suffix.upper()}", f"unknown format .{suffix}")]


@pytest.mark.parametrize(
    "suffix", ["ps1", "svelte", "Rmd", "qmd", "bat", "vb", "gradle", "groovy", "conf", "srt", "vtt"]
)
def test_well_known_text_formats_are_read(tmp_path, suffix):
    put(tmp_path, f"a.{suffix}")
    assert found(tmp_path) == [f"a.{suffix}"]


def test_a_file_without_suffix_is_read_if_it_is_text(tmp_path):
    put(tmp_path, "script", "#!/usr/bin/env python3\nprint(1)\n")
    put(tmp_path, "notes", "some words")
    put(tmp_path, "empty", "")
    put(tmp_path, "Apache-2.0", "a licence")
    put(tmp_path, "cat.1", "a page of the manual")
    (tmp_path / "program").write_bytes(b"\x7fELF\0\0")
    assert found(tmp_path) == ["Apache-2.0", "cat.1", "empty", "notes", "script"]
    assert left_out(tmp_path) == {"program": "binary file without suffix"}


def test_a_beir_folder_leaves_out_its_queries_and_judgements_alone(tmp_path):
    for name in ["beir/corpus.jsonl", "beir/queries.jsonl", "beir/qrels/test.tsv", "beir/README.md", "beir/more/b.md"]:
        put(tmp_path, name)
    for name in ["other/corpus.jsonl", "other/qrels/test.tsv", "other/a.md"]:
        put(tmp_path, name)
    assert found(tmp_path) == [
        "beir/README.md",
        "beir/corpus.jsonl",
        "beir/more/b.md",
        "other/a.md",
        "other/corpus.jsonl",
        "other/qrels/test.tsv",
    ]
    rule = "queries and judgements of a BEIR folder"
    assert left_out(tmp_path) == {"beir/qrels/": rule, "beir/queries.jsonl": rule}


def test_files_come_in_the_order_of_their_whole_paths(tmp_path):
    for name in ["a/x.md", "a-b.md", "a.md", "b.md", "a/b/c.md"]:
        put(tmp_path, name)
    assert found(tmp_path) == sorted(["a/x.md", "a-b.md", "a.md", "b.md", "a/b/c.md"])


def test_a_missing_path_is_named(tmp_path):
    with pytest.raises(SourceError, match="nowhere"):
        found(tmp_path, tmp_path / "nowhere")


def test_size_and_time_are_those_of_the_file(tmp_path):
    file = put(tmp_path, "a.md", "four")
    (item,) = items(tmp_path, limit=10)
    assert item == Source(
        str(file.resolve()),
        "a.md",
        4,
        file.stat().st_mtime_ns,
        tmp_path.resolve(),
        ctime_ns=file.stat().st_ctime_ns,
    )


def test_a_change_counts_only_if_the_walk_would_see_it(tmp_path):
    put(tmp_path, ".gitignore", "*.log\nbuilt/\n")
    put(tmp_path, "sub/.ignore", "e.md\n")
    for name in ("built/deep/i.md", ".git/HEAD", ".cdesearch/x", "sub/d.md"):
        put(tmp_path, name)
    seen = ["a.md", "new/b.md", "sub", "sub/d.md", "sub/.ignore", ".gitignore", "a.png"]
    unseen = ["x.log", "built/deep/i.md", "built", ".git/HEAD", ".cdesearch/x", ".cdesearch", "sub/e.md", ".swp"]
    (tmp_path / "new").mkdir()
    verdicts = {name: concerns_walk(tmp_path, [tmp_path / name]) for name in seen + unseen}
    assert verdicts == dict.fromkeys(seen, True) | dict.fromkeys(unseen, False)
    assert concerns_walk(tmp_path, [tmp_path]) and not concerns_walk(tmp_path, [tmp_path.parent / "other.md"])
    assert concerns_walk(tmp_path, [tmp_path / "x.log", tmp_path / "a.md"])
