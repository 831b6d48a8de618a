"""The ranks of the right answers of questions: by words, by vectors, and by both.

The candidates of each question are read once, as a hybrid search reads them, and are then ranked in several ways.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats
from cdesearch.evaluation.measures import DEPTH
from cdesearch.evaluation.questions import Question
from cdesearch.models.endpoint_model import Model
from cdesearch.search.documents import quoted, read_table
from cdesearch.search.fusion import Candidates, Scores
from cdesearch.search.nearest import RowIds
from cdesearch.search.ranking import ranked_scores, ranked_words
from cdesearch.search.reader import GenerationReader, ReadQuery
from cdesearch.search.request import SearchRequest
from cdesearch.search.searcher import ModelLoader
from cdesearch.search.stages import first_stage_of, is_kept
from cdesearch.store.index import Index

MAX_PLAIN = 100_000  # chunks whose vectors fit into memory

Rank = int | None  # from 1; None if no answer is among the first DEPTH hits


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its candidates."""

    question: Question
    vector: Floats  # (d,) of the question
    rows: RowIds  # (n,)
    candidates: Candidates  # of these rows
    right: RowIds  # (m,) of the answers


@dataclass(frozen=True, slots=True)
class Asking:
    """Asks the questions of one generation of an index."""

    index: Index
    reader: GenerationReader

    def ask(self, questions: Sequence[Question], advance: Callable[[int], None]) -> list[Asked]:
        """Read the candidates of all questions. `advance` is called with 1 after each; raises IndexStateError."""
        if not self.index.manifest.is_complete:
            raise self.index.unfinished()
        encoder = self.reader.encoder
        context = self.index.context_for(encoder)
        read = encoder.encode_queries([question.text for question in questions], context)
        found = []
        for question, vector, tokens in zip(questions, *read, strict=True):
            found.append(self._asked(question, ReadQuery(SearchRequest(question.text, DEPTH), vector, tokens)))
            advance(1)
        return found

    def _asked(self, question: Question, query: ReadQuery) -> Asked:
        rows, candidates = self.reader.candidates(query)
        condition = f"id IN ({', '.join(map(quoted, sorted(question.answers)))})"
        table = read_table(self.index, self.index.async_chunks.query().where(condition).select(["id"]).with_row_id())
        return Asked(question, query.vector, rows, candidates, table["_rowid"].to_numpy())


@contextmanager
def asking(index: Index, model: Model | None = None) -> Iterator[Asking]:
    """Ask questions with the model of an index, or with the `model` that the user has named; raises CdesearchError."""
    with ThreadPoolExecutor(thread_name_prefix="cdesearch-text") as executor:
        yield Asking(index, GenerationReader(index, ModelLoader("auto", model).encoder_for, executor))


def by_words(asked: Asked) -> Rank:
    """The rank of the first answer by words alone."""
    return _rank(asked, ranked_words(asked.question.text, asked.candidates.text, asked.candidates.paths))


def by_vectors(asked: Asked) -> Rank:
    """The rank of the first answer by cosine."""
    return _rank(asked, np.where(np.isnan(asked.candidates.dense), -np.inf, asked.candidates.dense))


def by_both(asked: Asked) -> Rank:
    """The rank of the first answer in a hybrid search."""
    return _rank(asked, ranked_scores(asked.question.text, asked.candidates))


def _rank(asked: Asked, scores: Scores) -> Rank:
    """The rank of the first answer by scores (n,), of which -inf is no hit; equal scores as in a search."""
    best = np.lexsort((asked.rows, -scores))[:DEPTH]
    return _first(np.isin(asked.rows[best], asked.right) & (scores[best] > -np.inf))


def _first(is_right: NDArray[np.bool_]) -> Rank:
    return int(is_right.argmax()) + 1 if is_right.any() else None


class PlainVectors:
    """The first-stage vectors of an index, to which its statistics and its documents were not applied.

    The tokens of a text still have the weights of the corpus.
    """

    def __init__(self, asking: Asking) -> None:
        self._index = asking.index
        self._encoder = asking.reader.encoder

    @property
    def is_different(self) -> bool:
        """Whether the statistics or the documents change the vectors, and whether these are stored and fit in memory.

        Those of a model that reads the chunks of a document together are not stored by their texts.
        """
        index, whitening = self._index, self._index.context.whitening
        is_same = np.array_equal(whitening.projection, np.eye(len(whitening.shift), dtype=np.float32))
        is_plain = is_same and not self._encoder.config.document_weight
        return not is_plain and is_kept(index, self._encoder) and index.manifest.n_chunks <= MAX_PLAIN

    def rank(self, asked: Asked) -> Rank:
        """The rank of the first answer by the cosine of plain vectors."""
        rows, vectors = self._all
        query = self._encoder.encode([asked.question.text], "query", self._index.context.sample)[0]
        scores = (vectors @ query).astype(np.float64)
        best = np.lexsort((rows, -scores))[:DEPTH]
        return _first(np.isin(rows[best], asked.right))

    @cached_property
    def _all(self) -> tuple[RowIds, Floats]:
        """The row ids (n,) of all chunks, and their vectors (n, d); raises IndexDamagedError."""
        table = read_table(self._index, self._index.async_chunks.query().select(["content_hash"]).with_row_id())
        found = first_stage_of(self._index)
        vectors = np.stack([found[key] for key in table["content_hash"].to_pylist()])
        return table["_rowid"].to_numpy(), vectors
