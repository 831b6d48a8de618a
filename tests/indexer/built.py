"""The documents that tests of builds write, and the contents of the resulting index."""

import numpy as np

from cdesearch.progress import Silent
from cdesearch.store.index import Index
from indexer.build import build
from indexer.settings import Options

WORDS = ["cat", "dog", "water", "moon", "engine", "bread", "river", "stone", "light"]


def write_files(folder, texts):
    """Write files, whose texts are given by name, into a folder."""
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def write_documents(folder):
    """Twelve small documents."""
    folder.mkdir()
    for number in range(12):
        word = WORDS[number % len(WORDS)]
        (folder / f"{number:02}.md").write_text(f"# About {word} {number}\n\n" + f"the {word} is in the house. " * 8)
    return folder


def make_index(paths, progress=None, **options):
    """Build or update an index, and return the report."""
    return build(paths, Options(**options), progress or Silent())


def long_text(words):
    """A document with a chunk of each of the numbered words."""
    return "# Long\n\n" + "\n\n".join(f"## Part {number}\n\n" + f"the {word} {number} " * 6 for number, word in words)


def contents(docs):
    index = Index.open(docs)
    table = index.chunks.to_arrow().sort_by("id")
    # Which tokens are stored depends on their weights, so on the context, like the vectors.
    others = [name for name in (*index.vectors.columns, "tokens") if name in table.column_names]
    return table.drop_columns(others), index.vectors_in(table)


def stored_tokens(folder):
    """The tokens of chunks for late interaction, by chunk id."""
    rows = Index.open(folder).chunks.to_arrow()
    return dict(zip(rows["id"].to_pylist(), rows["tokens"].to_pylist(), strict=True))


def stored_vectors(folder):
    """The decoded vectors of an index, by chunk id."""
    index = Index.open(folder)
    rows = index.chunks.to_arrow()
    return dict(zip(rows["id"].to_pylist(), index.vectors_in(rows), strict=True))


def assert_same(one, other):
    assert one[0].equals(other[0])
    np.testing.assert_allclose(one[1], other[1], atol=1e-3)
