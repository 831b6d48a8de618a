"""Scores of the pairs by a frozen model, the surrogate, and by BM25. Clusters, the filter and the teacher use them.

Mining by BM25 needs no torch, so only the functions that run a model import it.
"""

import re
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.head import Role
from cdesearch.context.vectors import Floats
from cdesearch.encode.backends.onnx import export_precision
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import load_encoder, load_tokenizer
from cdesearch.models.hub import checkpoint_folder
from cdesearch.models.registry import family_of
from cdesearch.search.fusion import Candidates, ZScoreFusion, z_scores
from trainer.data.store import Arrays, Integers, digest_of, spans, stored, stored_in_blocks
from trainer.recipe import Filter

if TYPE_CHECKING:
    import torch

K1, B = 0.9, 0.4  # as in BEIR
WORD = re.compile(r"\w+")
AT_ONCE = 1 << 21  # products that are in memory at the same time, each with some 50 bytes
NO_NULL = np.empty(0)  # z-scores need no null distribution


@dataclass(frozen=True)
class WordScores:
    """The weight of each word in each of n texts: the idf of the whole domain times the saturated term frequency."""

    _vocabulary: Mapping[str, int]  # from a word to its column
    _weights: Floats  # of the sparse matrix (n, V), row by row
    _columns: NDArray[np.int32]
    _starts: Integers  # (n + 1,) of the rows

    @classmethod
    def fit(cls, texts: Iterable[str]) -> "WordScores":
        """Index all texts of a domain that a batch can contain."""
        vocabulary: dict[str, int] = {}
        ids, ends = array("i"), array("q", [0])
        for text in texts:
            ids.extend([vocabulary.setdefault(word, len(vocabulary)) for word in WORD.findall(text.lower())])
            ends.append(len(ids))
        bounds = np.asarray(ends, np.int64)
        lengths, n, n_words = bounds[1:] - bounds[:-1], len(bounds) - 1, max(1, len(vocabulary))
        cells, counts = np.unique(np.repeat(np.arange(n), lengths) * n_words + np.asarray(ids), return_counts=True)
        rows, columns = np.divmod(cells, n_words)
        n_with = np.bincount(columns, minlength=n_words)
        idf = np.log1p((n - n_with + 0.5) / (n_with + 0.5))  # Lucene's, which is positive for every word
        norms = K1 * (1 - B + B * lengths * (n / max(1, len(ids))))
        weights = idf[columns] * counts * (K1 + 1) / (counts + norms[rows])
        starts = np.searchsorted(rows, np.arange(n + 1))
        return cls(vocabulary, weights.astype(np.float32), columns.astype(np.int32), starts)

    @classmethod
    def stored(cls, folder: Path, texts: Sequence[str]) -> "WordScores":
        """The index of `texts`, stored in a folder whose name begins with that of `folder`; raises StorageError."""
        found = stored(folder.with_name(f"{folder.name}-{digest_of(texts)}"), lambda: cls.fit(texts).to_arrays())
        words = found["words"].tobytes().decode().split("\n") if len(found["words"]) else []
        vocabulary = {word: column for column, word in enumerate(words)}
        return cls(vocabulary, found["weights"], found["columns"], found["starts"])

    def to_arrays(self) -> Arrays:
        """The words of the vocabulary, one a line, and the sparse matrix (n, V)."""
        words = np.frombuffer("\n".join(self._vocabulary).encode(), np.uint8)
        return {"words": words, "weights": self._weights, "columns": self._columns, "starts": self._starts}

    def __len__(self) -> int:
        return len(self._starts) - 1

    def take(self, rows: Integers) -> "WordScores":
        """The scores of only the texts at `rows`, with the idf of the whole domain."""
        firsts, lengths = self._starts[rows], self._starts[rows + 1] - self._starts[rows]
        entries = spans(firsts, lengths)
        return WordScores(self._vocabulary, self._weights[entries], self._columns[entries], np.cumsum([0, *lengths]))

    def scores(self, queries: Sequence[str]) -> Floats:
        """(Q, n) BM25 scores; a word that a query repeats counts once."""
        columns, texts, weights = self._by_word
        asked = [{self._vocabulary.get(word, -1) for word in WORD.findall(query.lower())} for query in queries]
        words = np.array([column for one in asked for column in one], np.int32)
        of_query = np.repeat(np.arange(len(queries)), np.fromiter(map(len, asked), np.int64))
        firsts = np.searchsorted(columns, words)
        lengths = np.searchsorted(columns, words, "right") - firsts  # 0 for a word of no text
        table = np.zeros(len(queries) * len(self))
        ends = np.cumsum(lengths)
        for start in range(0, int(ends[-1]) if len(ends) else 0, AT_ONCE):
            part = slice(*np.searchsorted(ends, (start, start + AT_ONCE), "right"))
            entries = spans(firsts[part], lengths[part])
            cells = np.repeat(of_query[part] * len(self), lengths[part]) + texts[entries]
            table += np.bincount(cells, weights[entries], len(table))
        return table.reshape(len(queries), len(self)).astype(np.float32)

    @cached_property
    def _by_word(self) -> tuple[NDArray[np.int32], Integers, Floats]:
        """The columns of all entries of the matrix in order, with their texts and weights."""
        order = np.argsort(self._columns, kind="stable")
        texts = np.repeat(np.arange(len(self)), np.diff(self._starts))
        return self._columns[order], texts[order], self._weights[order]


def surrogate_vectors(
    name: str, texts: Sequence[str], role: Role, encoder: Encoder, folder: Path, advance: Callable[[int], object]
) -> Floats:
    """(n, d) unit vectors of `texts` in the null context, memory-mapped.

    They are stored by contents and model, block by block. Raises StorageError if they cannot be written.
    """

    def embedded(start: int, stop: int) -> Arrays:
        vectors = np.zeros((stop - start, encoder.dimension), np.float32)
        for rows, batch, _ in encoder.stream(texts[start:stop], role, None) if stop > start else ():
            vectors[rows] = batch
            advance(len(rows))
        return {"vectors": vectors}

    digest = digest_of(encoder.fingerprint, texts)
    return stored_in_blocks(folder / f"{name}-{role}-{digest}", len(texts), embedded)["vectors"]


@dataclass(frozen=True, slots=True)
class PairVectors:
    """The unit vectors of the N pairs of a domain by one model, and of its M hard negatives."""

    queries: Floats  # (N, d)
    documents: Floats  # (N, d)
    negatives: Floats  # (M, d), those of all pairs that the recipe uses, in order

    def cosines(self, rows: Integers, negatives: Integers) -> Callable[[slice], Floats]:
        """A function that returns the cosines of some queries of the pairs at `rows` with their documents."""
        vectors, asked = np.concatenate([self.documents[rows], self.negatives[negatives]]), self.queries[rows]
        return lambda some: asked[some] @ vectors.T


@dataclass(frozen=True, slots=True)
class Surrogate(PairVectors):
    """The vectors of a domain by the surrogate, with BM25 scores and the vectors by further teachers."""

    lexical: WordScores | None = None  # of all documents, then the hard negatives; None if not needed
    fingerprint: str = ""  # of the model
    teachers: tuple[PairVectors, ...] = ()

    def view(self, rows: Integers, negatives: Integers, queries: Sequence[str]) -> Callable[[Filter, slice], Floats]:
        """A function for one batch: the `queries` of the pairs at `rows`, whose documents precede the `negatives`.

        It returns the (R, D) scores of the queries in a slice: cosines, BM25, both fused, or zeros, by the filter.
        """
        cosines = self.cosines(rows, negatives)
        lexical = self.lexical
        if lexical is not None:
            lexical = lexical.take(np.concatenate([rows, len(self.documents) + negatives]))

        def scores(kind: Filter, some: slice) -> Floats:
            if kind == "none":
                return np.zeros((len(queries[some]), len(rows) + len(negatives)), np.float32)
            dense = cosines(some)
            if kind == "dense":
                return dense
            assert lexical is not None
            by_words = lexical.scores(queries[some])
            if kind == "text":
                return by_words
            return ZScoreFusion().scores(Candidates(dense, by_words, NO_NULL)).astype(np.float32, copy=False)

        return scores

    def taught(self, rows: Integers, negatives: Integers) -> Callable[[Floats, slice], Floats]:
        """A function that adds the teachers' cosines, in standard deviations of each query, to fused scores (R, D)."""
        further = [teacher.cosines(rows, negatives) for teacher in self.teachers]
        return lambda fused, some: sum((z_scores(cosines(some)) for cosines in further), fused)


def open_surrogate(folder: Path, device: "torch.device") -> Encoder:
    """Open any model that `load_encoder` opens; raises ModelError.

    Only a CPU with ONNX Runtime uses an ONNX export. The fingerprint is the same on every device, so stored vectors can
    be used on all of them. It includes the precision of the export, since exports of one model share the rest.
    """
    folder = checkpoint_folder(folder)
    loaded = family_of(folder).open(folder)
    if device.type == "cpu" and loaded.onnx is not None and find_spec("onnxruntime") is not None:
        encoder = load_encoder(folder, "cpu")
    else:
        from cdesearch.encode.backends.torch import TorchRuntime

        runtime = TorchRuntime(loaded.load_network(), device)
        encoder = Encoder(loaded.config, load_tokenizer(loaded.tokenizer), runtime, loaded.fingerprint)
    precision = "fp32" if loaded.onnx is None else export_precision(loaded.onnx)
    encoder.fingerprint = f"{loaded.fingerprint} {precision}"
    return encoder
