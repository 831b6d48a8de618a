"""Kinds of damage to a file, and an index of two generations to damage and to repair."""

import os
import shutil
from pathlib import Path

from built import WORDS, make_index

from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index

MODES = ("hybrid", "dense", "text")
ASKED = "moon river 3"


def delete(file: Path) -> None:
    file.unlink()


def cut_in_half(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def flip_a_byte(file: Path) -> None:
    """Change one byte in the middle of the file, and keep the file's time."""
    before = file.stat()
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0x10
    file.write_bytes(content)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def overwrite(file: Path) -> None:
    """Replace the content by as many meaningless bytes."""
    size = file.stat().st_size
    file.write_bytes((b"\x93garbage\x00\xff" * (size // 10 + 1))[:size])


def append(file: Path) -> None:
    with file.open("ab") as stream:
        stream.write(b"\x00more")


def make_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


KINDS = (delete, cut_in_half, flip_a_byte, overwrite, append, make_a_folder)


class SoundIndex:
    """An index of two generations, with its documents and its answers."""

    def __init__(self, place, checkpoint, encoder, n_files):
        self.docs, self.encoder, self.model = place / "docs", encoder, checkpoint
        self.docs.mkdir()
        for number in range(n_files):
            word = WORDS[number % len(WORDS)]
            text = f"# About {word} {number}\n\n" + f"the {word} is in house {number * 7919}. " * 4
            (self.docs / f"{number:03}.md").write_text(text)
        self.update()
        (self.docs / "new.md").write_text("the new river is here")
        self.update()
        self.index = self.docs / ".cdesearch"
        self.copy = shutil.copytree(self.index, place / "copy")  # with the same times, and without hard links
        self.live = Index(self.index).generation.name
        (self.kept,) = (one.name for one in (self.index / "generations").iterdir() if one.name != self.live)
        self.answers = {mode: self.ask(mode) for mode in MODES}

    def update(self):
        return make_index([self.docs], model=self.model)

    def ask(self, mode="hybrid"):
        hits = Searcher(Index(self.docs / ".cdesearch"), self.encoder).search(ASKED, mode=mode)
        return [(hit.chunk.id, hit.score) for hit in hits]

    def restore(self):
        shutil.rmtree(self.index)
        shutil.copytree(self.copy, self.index)

    def files_of(self, generation):
        files = sorted(file.relative_to(self.copy).as_posix() for file in self.copy.rglob("*") if file.is_file())
        return [file for file in files if generation in file]

    def path(self, part):
        """The first file of the live generation whose path has this part."""
        return self.index / next(file for file in self.files_of(self.live) if part in file)

    def is_right(self):
        return {mode: self.ask(mode) for mode in MODES} == self.answers
