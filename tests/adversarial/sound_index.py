"""An index of two generations, to damage and to repair."""

import shutil

from damage import copied, files

from cdesearch.progress import Silent
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from indexer.build import build
from indexer.settings import Options

WORDS = ["cat", "dog", "water", "moon", "engine", "bread", "river", "stone", "light"]
MODES = ("hybrid", "dense", "text")
ASKED = "moon river 3"


class SoundIndex:
    """An index of two generations, its documents, and what it answers."""

    def __init__(self, place, checkpoint, encoder, n_files):
        self.docs, self.encoder, self.options = place / "docs", encoder, Options(model=checkpoint)
        self.docs.mkdir()
        for number in range(n_files):
            word = WORDS[number % len(WORDS)]
            text = f"# About {word} {number}\n\n" + f"the {word} is in house {number * 7919}. " * 4
            (self.docs / f"{number:03}.md").write_text(text)
        self.update()
        (self.docs / "new.md").write_text("the new river is here")
        self.update()
        self.index = self.docs / ".cdesearch"
        self.copy = copied(self.index, place / "copy")
        self.live = Index(self.index).generation.name
        (self.kept,) = (one.name for one in (self.index / "generations").iterdir() if one.name != self.live)
        self.answers = {mode: self.ask(mode) for mode in MODES}

    def update(self, **options):
        return build([self.docs], self.options, Silent())

    def ask(self, mode="hybrid"):
        hits = Searcher(Index(self.docs / ".cdesearch"), self.encoder).search(ASKED, mode=mode)
        return [(hit.chunk.id, hit.score) for hit in hits]

    def restore(self):
        shutil.rmtree(self.index)
        copied(self.copy, self.index)

    def files_of(self, generation):
        return [file for file in files(self.copy) if generation in file]

    def path(self, part):
        """The first file of the live generation whose path has this part."""
        return self.index / next(file for file in self.files_of(self.live) if part in file)

    def is_right(self):
        return {mode: self.ask(mode) for mode in MODES} == self.answers
