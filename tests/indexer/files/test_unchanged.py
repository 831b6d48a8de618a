"""A walk that leaves out unchanged folders finds the same as a whole one."""

import random
import shutil

import pytest

from cdesearch.store.file_account import FileRecord
from indexer.files.outcome import Ignored, Source
from indexer.files.selection import Selection
from indexer.files.unchanged import Unchanged
from indexer.files.walk import find_sources

MAX_BYTES = 10_000
FILES = ("a.md", "b.py", "c.xyz", "package.json", "d.log")
FOLDERS = ("docs", "src", "build", "a", "a.b")


def record(item):
    """The record that a build makes of an item of the walk."""
    if isinstance(item, FileRecord):
        return item
    if isinstance(item, Source):
        return FileRecord(item.path, "indexed", "", item.size, item.mtime_ns)
    is_ignored = isinstance(item, Ignored)
    return FileRecord(item.path, "ignored" if is_ignored else "skipped", item.rule if is_ignored else item.reason)


def walk(sources, root, unchanged=None):
    items = find_sources(sources, root, Selection(MAX_BYTES), unchanged=unchanged)
    return {found.path: found for found in map(record, items)}


class Tree:
    """A folder that is changed at random. It keeps the paths that a watch of the file system would report."""

    def __init__(self, root, seed):
        self.root, self.random, self.changed = root, random.Random(seed), set()
        for _ in range(30):
            self.write()
        self.changed.clear()

    def place(self):
        depth = self.random.choice([0, 1, 1, 2, 3])
        return self.root.joinpath(*self.random.choices(FOLDERS, k=depth))

    def write(self):
        file = self.place() / self.random.choice([*FILES] * 4 + [".gitignore", "CACHEDIR.TAG"])
        if any(folder.is_file() for folder in file.parents):
            return
        missing = [folder for folder in file.parents if not folder.exists()]
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.is_dir():
            text = "*.log\n" if file.name == ".gitignore" else "word " * self.random.randrange(40)
            file.write_text(text)
            self.changed |= {file, *missing}

    def remove(self):
        path = self.some()
        self.changed.add(path)
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    def move(self):
        path, target = self.some(), self.place()
        if target.parent.is_dir() and not target.exists() and not target.is_relative_to(path):
            path.rename(target)
            self.changed |= {path, target}

    def some(self):
        return self.random.choice(sorted(self.root.rglob("*")))


@pytest.mark.parametrize("seed", range(8))
def test_after_any_changes_a_walk_that_uses_the_last_one_finds_the_same(tmp_path, seed):
    root = tmp_path / "top"
    root.mkdir()
    tree = Tree(root, seed)
    sources = [root / "src", root] if (root / "src").is_dir() and seed % 2 else [root]
    before, n_used = walk(sources, root), 0
    for _ in range(20):
        for _ in range(tree.random.randrange(1, 4)):
            tree.random.choice([tree.write, tree.write, tree.move, tree.remove])()
            tree.write()
        sources = [source for source in sources if source.is_dir()]
        unchanged = Unchanged.since(before, tree.changed, root)
        n_used += unchanged is not None
        found = walk(sources, root, unchanged)
        assert list(found.items()) == list(walk(sources, root).items())
        before = found
        tree.changed.clear()
    assert n_used


def test_folders_without_a_change_are_not_listed_again(tmp_path):
    for folder in ("kept/below", "changed"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.md").write_text("word")
    before = walk([tmp_path], tmp_path)
    (tmp_path / "kept" / "below" / "unreported.md").write_text("word")
    (tmp_path / "changed" / "b.md").write_text("word")
    found = walk([tmp_path], tmp_path, Unchanged.since(before, [tmp_path / "changed" / "b.md"], tmp_path))
    assert list(found) == ["changed/a.md", "changed/b.md", "kept/below/a.md"]
    assert [found[path] is before.get(path) for path in found] == [False, False, True]


@pytest.mark.parametrize("name", [".gitignore", ".cdesearchignore", "CACHEDIR.TAG", ".git"])
def test_a_change_of_a_file_that_decides_about_others_needs_a_whole_walk(tmp_path, name):
    (tmp_path / "a.md").write_text("word")
    assert Unchanged.since(walk([tmp_path], tmp_path), [tmp_path / "docs" / name], tmp_path) is None
