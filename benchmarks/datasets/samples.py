"""Data sets for choosing constants: samples of a training domain or of long documents in chunks."""

from pathlib import Path

import numpy as np

from benchmarks.datasets.dataset import Dataset
from cdesearch.errors import SourceError
from indexer.formats.records import PART
from trainer.data.pairs.reading import domain_name, read_pairs

COLUMNS = ["doc_id", "title", "chunks", "questions"]  # of a file of long documents


def read_domain(file: Path, documents: int, characters: int, queries: int) -> Dataset:
    """A sample of the documents of a pair file, each cut to `characters`, with one query for some of them.

    The sample is the same in every run.
    """
    asked: dict[str, str] = {}
    for pair in read_pairs(file):
        asked.setdefault(pair.document[:characters], pair.query)
    random = np.random.default_rng(0)
    every = list(asked)
    texts = [every[row] for row in random.permutation(len(every))[:documents]]
    name = domain_name(file)
    ids = tuple(f"{name}-{row}" for row in range(len(texts)))
    rows = random.permutation(len(texts))[:queries].tolist()
    questions = {f"query-{row}": asked[texts[row]] for row in rows}
    judged = {f"query-{row}": {ids[row]: 1} for row in rows}
    return Dataset(name, file, ids, tuple(texts), questions, judged, ())


def has_long_documents(file: Path) -> bool:
    """Whether a Parquet file has the columns of long documents; other files hold pairs."""
    import pyarrow.parquet as pq

    return file.suffix == ".parquet" and set(COLUMNS) <= set(pq.read_schema(file).names)


def read_long_documents(file: Path, chunks: int, characters: int, queries: int) -> Dataset:
    """A sample of whole documents with about `chunks` chunks in all; the same in every run. Raises SourceError.

    A text is the title with the first `characters` of a chunk. Every chunk that answers a question is relevant to it.
    """
    import pyarrow.parquet as pq

    rows = pq.read_table(file, columns=COLUMNS).to_pylist()
    random = np.random.default_rng(0)
    texts: dict[str, str] = {}
    asked: dict[str, set[str]] = {}
    for number in random.permutation(len(rows)):
        if len(texts) >= chunks:
            break
        row = rows[number]
        names = [f"{number}{PART}{place}" for place in range(len(row["chunks"]))]
        texts |= {name: f"{row['title']}\n{text[:characters]}" for name, text in zip(names, row["chunks"], strict=True)}
        try:
            for question in row["questions"]:
                asked.setdefault(question["text"].strip(), set()).add(names[question["chunk"]])
        except (IndexError, KeyError, TypeError) as error:
            raise SourceError(f"{file} has a question without a chunk ({error}).", "Correct the file.") from None
    every = list(asked)
    chosen = [every[row] for row in random.permutation(len(every))[:queries]]
    named = {f"question-{row}": question for row, question in enumerate(chosen)}
    judged = {name: dict.fromkeys(sorted(asked[question]), 1) for name, question in named.items()}
    return Dataset(f"{domain_name(file)} in chunks", file, tuple(texts), tuple(texts.values()), named, judged, ())
