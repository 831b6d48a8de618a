"""The ranks of the right answers of questions: by words, by vectors, and by both.

The candidates of each question are read once, as a hybrid search reads them, and are then ranked in several ways.

A heading is a part of its passage, so a search for it would find the passage by these very words. An answer is
therefore encoded again without the words of its question, and its BM25 score is reduced to the words that remain.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.context import Context
from cdesearch.context.document import add_document_context
from cdesearch.context.vectors import Floats, to_unit
from cdesearch.encode.encoder import Encoder
from cdesearch.evaluation.measures import DEPTH
from cdesearch.evaluation.own_questions import read_chunks, without
from cdesearch.evaluation.questions import Question
from cdesearch.models.endpoint_model import Model
from cdesearch.search.documents import quoted, read_table
from cdesearch.search.exact import SATURATION
from cdesearch.search.first_stage import first_stage_of, is_kept
from cdesearch.search.fusion import Candidates
from cdesearch.search.lexical import text_search
from cdesearch.search.nearest import RowIds
from cdesearch.search.neighbours import Scores
from cdesearch.search.ranking import ranked_scores, ranked_words
from cdesearch.search.reader import GenerationReader, ReadQuery
from cdesearch.search.request import SearchRequest
from cdesearch.search.searcher import ModelLoader
from cdesearch.store.index import Index
from cdesearch.store.schema import Chunk
from cdesearch.words.word_forms import is_form_of, without_accents

MAX_DOCUMENT = 5_000  # chunks of a document whose vectors are read

_WORD = re.compile(r"[^\W_]+")
MAX_PLAIN = 100_000  # chunks whose vectors fit into memory

Rank = int | None  # from 1; None if no answer is among the first DEPTH hits


def hold_out(
    reader: GenerationReader, query: str, removed: str, answers: Sequence[Chunk], vector: Floats
) -> tuple[Scores, Scores]:
    """The cosines (n,) of the answers of a question without `removed`, and what is left (n,) of their BM25 scores.

    `vector` (d,) is the question's. Of a score, 0 is left if none of the words is.
    """
    encoder = reader.encoder
    texts = [without(chunk.text, removed) for chunk in answers]
    context = reader.index.context_for(encoder)
    documents = {chunk.document_id: _DocumentVectors.of(reader, chunk.document_id) for chunk in answers}
    placed = [
        documents[chunk.document_id].replaced(chunk, text, encoder, context)
        for chunk, text in zip(answers, texts, strict=True)
    ]
    rounded = reader.index.vectors.rounded(np.stack(placed))  # as those of the other candidates are
    cosines = (to_unit(rounded) @ vector).astype(np.float64)
    shares = [_remaining(reader, query, chunk, text) for chunk, text in zip(answers, texts, strict=True)]
    return cosines, np.array(shares)


@dataclass(frozen=True, slots=True)
class _DocumentVectors:
    """The vectors (m, d) of the chunks of a document, before its context where the index keeps them."""

    ids: list[str]
    vectors: Floats

    @classmethod
    def of(cls, reader: GenerationReader, document: str) -> "_DocumentVectors":
        index = reader.index
        columns = ["id", "content_hash", *index.vectors.columns]
        query = index.async_chunks.query().where(f"document_id = {quoted(document)}")
        table = read_table(index, query.select(columns).limit(MAX_DOCUMENT))
        ids, hashes = table["id"].to_pylist(), table["content_hash"].to_pylist()
        if not is_kept(index, reader.encoder):
            return cls(ids, index.vectors_in(table))  # their mean has about the same direction
        found = first_stage_of(index, set(hashes))
        return cls(ids, index.context.whitening.apply(np.stack([found[content] for content in hashes])))

    def replaced(self, chunk: Chunk, text: str, encoder: Encoder, context: Context) -> Floats:
        """The vector (d,) of a chunk in its document after its text was replaced."""
        own = context.whitening.apply(encoder.encode([text], "document", context.sample))
        if chunk.id in self.ids:  # not of a very long document, where one chunk hardly changes the mean
            vectors, at = self.vectors.copy(), self.ids.index(chunk.id)
            vectors[at] = own
            own = add_document_context(vectors, encoder.config.document_weight)[at : at + 1]
        vector: Floats = encoder.attend(own, "document", _context_with(context, chunk, own))[0]
        return vector


def _context_with(context: Context, chunk: Chunk, own: Floats) -> Context:
    """The context in which a chunk, if it was sampled, has the vector (1, d) of its changed text."""
    is_own = np.array([one == chunk.id for one in context.attended_chunks], bool)
    return replace(context, attended=np.where(is_own[:, None], own, context.attended))


def _remaining(reader: GenerationReader, query: str, answer: Chunk, text: str) -> float:
    """The share of an answer's BM25 score that its words still have in `text`.

    A word's part of the score is saturated in the number of its occurrences. The length of the passage is taken to be
    the mean one, and to stay the same. Words with the same numbers of occurrences are searched together.
    """
    whole, rest = _forms(answer.text), _forms(text)
    groups: dict[tuple[int, int], list[str]] = defaultdict(list)
    for word in _WORD.findall(query.lower()):
        groups[_count(whole, word), _count(rest, word)].append(word)
    before = after = 0.0
    for (n_whole, n_rest), words in groups.items():
        search = text_search(reader.index, " ".join(words)).where(f"id = {quoted(answer.id)}").select(["_score"])
        score = sum(read_table(reader.index, search.limit(1))["_score"].to_pylist()) if n_whole else 0.0
        before += score
        after += score * _saturated(n_rest) / _saturated(n_whole) if n_whole else 0.0
    return after / before if before else 0.0


def _forms(text: str) -> Counter[str]:
    return Counter(without_accents(word.lower()) for word in _WORD.findall(text))


def _count(words: Counter[str], word: str) -> int:
    return sum(times for form, times in words.items() if is_form_of(form, without_accents(word)))


def _saturated(times: int) -> float:
    return times / (times + SATURATION)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its candidates, in which its answers have their scores without the words of the question."""

    question: Question
    vector: Floats  # (d,) of the question
    rows: RowIds  # (n,)
    candidates: Candidates  # of these rows
    right: RowIds  # (m,) of the answers

    @property
    def is_right(self) -> NDArray[np.bool_]:
        """(n,) whether each candidate is an answer."""
        return np.isin(self.rows, self.right)


class Asking:
    """Asks the questions of one generation of an index."""

    def __init__(self, index: Index, models: ModelLoader, executor: ThreadPoolExecutor) -> None:
        self.index = index
        self.reader = GenerationReader(index, models.encoder_for, executor)

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
        vector = query.vector
        rows, candidates = self.reader.candidates(query)
        condition = f"id IN ({', '.join(map(quoted, sorted(question.answers)))})"
        table = read_table(self.index, self.index.async_chunks.query().where(condition).select(["id"]).with_row_id())
        right: RowIds = table["_rowid"].to_numpy()
        if not question.removed or not len(right):
            return Asked(question, vector, rows, candidates, right)
        dense, text = candidates.dense.copy(), candidates.text.copy()
        answers = read_chunks(self.index, right.tolist())
        held = hold_out(self.reader, question.text, question.removed, answers, vector)
        for row, cosine, share in zip(right, *held, strict=True):
            dense[rows == row] = cosine
            text[rows == row] *= share if share > 0 else np.nan
        # The stored tokens of an answer contain the words of the question, so it is not compared by them.
        tokens = candidates.tokens
        if tokens is not None:
            tokens = [b"" if row in right else one for row, one in zip(rows, tokens, strict=True)]
        changed = replace(candidates, dense=dense, text=text, tokens=tokens)
        return Asked(question, vector, rows, changed, right)


@contextmanager
def asking(index: Index, model: Model | None = None) -> Iterator[Asking]:
    """Ask questions with the model of an index, or with the `model` that the user has named; raises CdesearchError."""
    with ThreadPoolExecutor(thread_name_prefix="cdesearch-text") as executor:
        yield Asking(index, ModelLoader("auto", model), executor)


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
    return _first(asked.is_right[best] & (scores[best] > -np.inf))


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
        question, plain = asked.question, self._index.context.sample
        query = self._encoder.encode([question.text], "query", plain)[0]
        scores = (vectors @ query).astype(np.float64)
        if question.removed and len(asked.right):
            texts = [without(chunk.text, question.removed) for chunk in read_chunks(self._index, asked.right.tolist())]
            for row, own in zip(asked.right, self._encoder.encode(texts, "document", plain), strict=True):
                scores[rows == row] = own @ query
        best = np.lexsort((rows, -scores))[:DEPTH]
        return _first(np.isin(rows[best], asked.right))

    @cached_property
    def _all(self) -> tuple[RowIds, Floats]:
        """The row ids (n,) of all chunks, and their vectors (n, d); raises IndexDamagedError."""
        table = read_table(self._index, self._index.async_chunks.query().select(["content_hash"]).with_row_id())
        found = first_stage_of(self._index)
        vectors = np.stack([found[key] for key in table["content_hash"].to_pylist()])
        return table["_rowid"].to_numpy(), vectors
