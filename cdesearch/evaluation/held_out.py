"""Score an answer without the words from which its question was made.

A heading is a part of its passage, so a search for it would find the passage by these very words. The passage is
therefore encoded again without them, and its BM25 score is reduced to the words that remain.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cdesearch.context.document import add_document_context, subtract_document_context
from cdesearch.context.vectors import Floats, to_unit
from cdesearch.evaluation.own_questions import without
from cdesearch.search.documents import quoted, read_table
from cdesearch.search.exact import SATURATION
from cdesearch.search.fusion import Scores
from cdesearch.search.lexical import text_search
from cdesearch.search.reader import GenerationReader
from cdesearch.search.word_forms import is_form_of, without_accents
from cdesearch.store.schema import Chunk

MAX_DOCUMENT = 5_000  # chunks of a document whose vectors are read

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The evidence of the n answers of a question without the words of the question."""

    cosines: Scores  # (n,)
    own_vectors: Floats  # (n, d) of length 1, without document context
    text_shares: Scores  # (n,) what is left of the BM25 score; 0 if none of the words is left


def hold_out(reader: GenerationReader, query: str, removed: str, answers: Sequence[Chunk], vector: Floats) -> HeldOut:
    """Score the answers of a question (n) without `removed`; `vector` (d,) is the question's."""
    encoder = reader.encoder
    texts = [without(chunk.text, removed) for chunk in answers]
    own = encoder.encode(texts, "document", reader.index.context_for(encoder))
    documents = {chunk.document_id: _DocumentVectors.of(reader, chunk.document_id) for chunk in answers}
    placed = [
        documents[chunk.document_id].replaced(chunk.id, one, encoder.config.document_weight)
        for chunk, one in zip(answers, own, strict=True)
    ]
    rounded = reader.index.vectors.rounded(np.stack(placed))  # as those of the other candidates are
    cosines = (to_unit(rounded) @ vector).astype(np.float64)
    shares = [_remaining(reader, query, chunk, text) for chunk, text in zip(answers, texts, strict=True)]
    return HeldOut(cosines, own, np.array(shares))


@dataclass(frozen=True, slots=True)
class _DocumentVectors:
    """The stored vectors (m, d) of the chunks of a document."""

    ids: list[str]
    stored: Floats
    keeps_lengths: bool  # as in `VectorFormat`

    @classmethod
    def of(cls, reader: GenerationReader, document: str) -> "_DocumentVectors":
        index = reader.index
        query = index.async_chunks.query().where(f"document_id = {quoted(document)}")
        table = read_table(index, query.select(["id", *index.vectors.columns]).limit(MAX_DOCUMENT))
        return cls(table["id"].to_pylist(), index.vectors_in(table), index.vectors.keeps_lengths)

    def replaced(self, chunk: str, vector: Floats, weight: float) -> Floats:
        """Return the vector (d,) of a chunk in its document after its own vector (d,) was replaced."""
        if chunk not in self.ids:  # of a very long document, where one chunk hardly changes the mean
            return vector
        # The offset cannot be subtracted from signs. Their mean nevertheless has about the direction of the offset.
        own = subtract_document_context(self.stored, weight) if self.keeps_lengths else self.stored.copy()
        own[self.ids.index(chunk)] = vector
        shifted: Floats = add_document_context(own, weight)[self.ids.index(chunk)]
        return shifted


def _remaining(reader: GenerationReader, query: str, answer: Chunk, text: str) -> float:
    """Return the share of an answer's BM25 score that its words still have in `text`.

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
