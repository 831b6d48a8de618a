"""Texts and vectors of synthetic indexes: sentences of real texts, and vectors drawn around real vectors."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from cdesearch.context.vectors import Floats, to_unit
from cdesearch.store.index import Index
from trainer.data.pairs.beir import read_queries, read_texts

ROWS = 10_000  # texts in a batch
QUERIES = 210
SPREAD = 0.6  # length of the noise added to a unit vector: neighbours have a cosine of .85, as near-duplicates have
SHORTEST = 20  # characters of a sentence

Batch = tuple[list[str], Floats]  # texts and their unit vectors (n, d)


@dataclass(frozen=True, slots=True)
class Material:
    """What texts and vectors are drawn from; the index is named by its folder, so that another process can open it."""

    source: Path  # the folder of an index

    def draw(self, n_chunks: int, seed: int = 0) -> Iterator[Batch]:
        """Batches of `n_chunks` in all: sentences in new combinations, and vectors."""
        index = Index(self.source)
        vectors = index.vectors_in(_read(index, index.vectors.columns))
        texts = _read(index, ["text"])["text"].to_pylist()
        sentences = [part for text in texts for part in text.split(". ") if len(part) > SHORTEST]
        random = np.random.default_rng(seed)
        for start in range(0, n_chunks, ROWS):
            n = min(ROWS, n_chunks - start)
            drawn = random.integers(len(sentences), size=(n, 4))
            yield [". ".join(sentences[number] for number in row) for row in drawn], _around(vectors, n, random)


def write_drawn(material: Material, folder: Path, n_chunks: int) -> None:
    """Write drawn batches as files that any system can read: texts.jsonl and vectors.npy (n, d)."""
    folder.mkdir(parents=True)
    shape = n_chunks, Index(material.source).manifest.dimension
    vectors = np.lib.format.open_memmap(folder / "vectors.npy", "w+", np.float32, shape)
    start = 0
    with (folder / "texts.jsonl").open("w", encoding="utf-8") as file:
        for texts, some in material.draw(n_chunks):
            vectors[start : start + len(texts)] = some
            file.writelines(
                json.dumps({"_id": str(number), "text": text}) + "\n" for number, text in enumerate(texts, start)
            )
            start += len(texts)
    vectors.flush()


def read_drawn(folder: Path) -> Iterator[Batch]:
    """Read the batches that `write_drawn` has written."""
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")
    with (folder / "texts.jsonl").open(encoding="utf-8") as lines:
        for start in range(0, len(vectors), ROWS):
            some = np.array(vectors[start : start + ROWS])
            yield [json.loads(next(lines))["text"] for _ in some], some


def corpus_file(corpus: Path) -> Path:
    """The JSONL file of a BEIR folder, or the file itself."""
    return corpus / "corpus.jsonl" if corpus.is_dir() else corpus


def search_queries(corpus: Path) -> list[str]:
    """The first queries of the folder; for a corpus without queries, the first words of its texts."""
    if (corpus / "queries.jsonl").is_file():
        return list(read_queries(corpus).values())[:QUERIES]
    return [" ".join(text.split()[:8]) for text in read_texts(corpus_file(corpus)).values()][:QUERIES]


def _around(vectors: Floats, n: int, random: np.random.Generator) -> Floats:
    d = vectors.shape[1]
    drawn = vectors[random.integers(len(vectors), size=n)]
    return to_unit(drawn + random.standard_normal((n, d), np.float32) * np.float32(SPREAD / d**0.5))


def _read(index: Index, columns: Sequence[str]) -> pa.Table:
    return index.chunks.search().select(list(columns)).limit(index.chunks.count_rows()).to_arrow()
