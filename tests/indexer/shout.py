"""A format that a newcomer adds: a class and an entry in the registry. Run as a script, it is a worker that has it."""

from indexer.formats import registry
from indexer.formats.encoding import decode
from indexer.formats.format import Document, Format
from indexer.workers import worker


class Shout(Format):
    """Lines that are read in upper case; the first is the title."""

    suffixes = frozenset({".shout"})

    def read(self, file):
        title, _, text = decode(file.stream.read()).upper().partition("\n")
        yield Document(file.path, file.path, title, text, "text")


FORMATS = (*registry.FORMATS, Shout())

if __name__ == "__main__":
    registry.FORMATS = FORMATS
    worker.main()
