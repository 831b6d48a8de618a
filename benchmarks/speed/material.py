"""Texts and vectors of synthetic indexes: sentences of real texts, and vectors drawn around or between real vectors."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats, to_unit
from cdesearch.store.index import Index
from trainer.data.pairs.beir import read_queries, read_texts
from trainer.data.pairs.reading import domain_files, read_pairs

ROWS = 10_000  # texts in a batch
QUERIES = 210
SPREAD = 0.6  # length of the noise added to a unit vector: neighbours have a cosine of .85, as near-duplicates have
PAIRS = 2_000  # of a domain, so that none outweighs the others
SHORTEST, LONGEST = 20, 300  # characters of a sentence; longer ones are tables and code
NEIGHBOURS = 10
PARTS_SEARCHED = 12  # of the square root of n parts, in which neighbours are looked for
TRAINED_PER_PART = 40

Batch = tuple[list[str], Floats]  # texts and their unit vectors (n, d)


@dataclass(frozen=True, slots=True)
class Material:
    """What texts and vectors are drawn from; the index is named by its folder, so that another process can open it."""

    source: Path  # the folder of an index
    sentences: Sequence[str] | None = None  # default: those of the index
    resembles: bool = False  # whether vectors are drawn between near neighbours in the index, which has many

    def draw(self, n_chunks: int, seed: int = 0) -> Iterator[Batch]:
        """Batches of `n_chunks` in all: sentences in new combinations, and vectors."""
        index = Index(self.source)
        vectors = index.vectors_in(_read(index, index.vectors.columns))
        draw_vectors = Resembling(vectors).draw if self.resembles else partial(_around, vectors)
        sentences = self.sentences or sentences_in(_read(index, ["text"])["text"].to_pylist())
        random = np.random.default_rng(seed)
        for start in range(0, n_chunks, ROWS):
            n = min(ROWS, n_chunks - start)
            drawn = random.integers(len(sentences), size=(n, 4))
            yield [". ".join(sentences[number] for number in row) for row in drawn], draw_vectors(n, random)


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


def sentences_in(texts: Sequence[str]) -> list[str]:
    """The sentences of some texts, without very short ones."""
    return [part for text in texts for part in text.split(". ") if len(part) > SHORTEST]


def of_pairs(folder: Path, n_queries: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """About `n_queries` queries, and all sentences of the first pairs of each domain in a folder of pair files.

    There are equally many queries of each domain, in random order, so that a warm-up sees several. Raises SourceError.
    """
    domains = [
        list(islice((pair for pair in read_pairs(file) if pair.query and pair.document), PAIRS))
        for file in domain_files([folder])
    ]
    documents = dict.fromkeys(pair.document for pairs in domains for pair in pairs)
    sentences = [one for one in sentences_in(list(documents)) if len(one) <= LONGEST]
    random = np.random.default_rng(seed)
    each = max(1, n_queries // max(1, len(domains)))
    chosen = [pairs[number].query for pairs in domains for number in random.permutation(len(pairs))[:each]]
    return [chosen[number] for number in random.permutation(len(chosen))], sentences


class Resembling:
    """Draws unit vectors between real vectors and one of their nearest.

    In 439,196 vectors that were drawn between a tenth of so many real ones, each number of parts of an index holds the
    same share of the nearest vectors as in 439,196 real ones, within .011 (benchmarks/results/LOG.md).
    """

    def __init__(self, vectors: Floats) -> None:
        """`vectors` (n, d) have n > 1."""
        unit = to_unit(vectors)
        self._neighbours = _neighbours(unit, min(NEIGHBOURS, len(unit) - 1))
        self._vectors = unit.astype(np.float16)

    def draw(self, n: int, random: np.random.Generator) -> Floats:
        """Draw unit vectors (n, d)."""
        first = random.integers(len(self._vectors), size=n)
        second = self._neighbours[first, random.integers(self._neighbours.shape[1], size=n)]
        share = random.random((n, 1), np.float32)
        return to_unit((1 - share) * self._vectors[first] + share * self._vectors[second])


def _neighbours(vectors: Floats, k: int) -> NDArray[np.int64]:
    """The numbers (n, k) of the nearest other vectors of each of `vectors` (n, d), most of which faiss finds."""
    import faiss

    n, d = vectors.shape
    n_parts = max(1, round(n**0.5))
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(d), d, n_parts, faiss.METRIC_INNER_PRODUCT)
    sample = np.random.default_rng(0).permutation(n)[: TRAINED_PER_PART * n_parts]
    index.train(vectors[sample])
    index.add(vectors)
    index.nprobe = PARTS_SEARCHED
    found = index.search(vectors, k + 1)[1]
    # A vector need not be its own first neighbour, because others may be equal to it.
    is_other = found != np.arange(n)[:, None]
    is_other[is_other.all(axis=1), -1] = False
    others: NDArray[np.int64] = found[is_other].reshape(n, k)
    return np.where(others < 0, np.arange(n)[:, None], others)


def _around(vectors: Floats, n: int, random: np.random.Generator) -> Floats:
    d = vectors.shape[1]
    drawn = vectors[random.integers(len(vectors), size=n)]
    return to_unit(drawn + random.standard_normal((n, d), np.float32) * np.float32(SPREAD / d**0.5))


def _read(index: Index, columns: Sequence[str]) -> pa.Table:
    return index.chunks.search().select(list(columns)).limit(index.chunks.count_rows()).to_arrow()
