"""Explain why a chunk is a hit: the evidence of its vector and of its words, as numbers that add up to its score."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from cdesearch.errors import NotIndexedError, QueryError
from cdesearch.search.corpus_languages import Languages
from cdesearch.search.documents import quoted, read_chunks, read_table
from cdesearch.search.exact import ExactTerm, exact_terms, idf
from cdesearch.search.fusion import FUSION, SHARE, Evidence
from cdesearch.search.lexical import ExactHits, exact_hits, text_search, unknown_words
from cdesearch.search.options import Mode
from cdesearch.search.ranking import lifts, ranked_words
from cdesearch.search.reader import GenerationReader, ReadQuery
from cdesearch.search.request import SearchRequest
from cdesearch.search.stages import ContextEvidence, context_evidence, own_cosine
from cdesearch.store.index import Index
from cdesearch.store.schema import Chunk
from cdesearch.words.analyzer import query_words, runs_of
from cdesearch.words.scripts import UNSPACED
from cdesearch.words.word_forms import piece_spans, pieces

MAX_WORDS = 32  # words of a query that are explained, each of which needs two searches


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the query, and its contribution to the BM25 score of the chunk."""

    word: str
    chunks: int  # the number of chunks that contain it; 0 also for words that full text ignores, such as "the"
    idf: float  # log(1 + (N - n + 0.5) / (n + 0.5)) if n > 0 of N chunks contain the word, and 0 if none does
    count: int  # the number of occurrences in the chunk, including its title and headings
    bm25: float  # the part of the chunk's BM25 score


@dataclass(frozen=True, slots=True)
class DenseEvidence:
    """The evidence of the vectors: the cosine, in standard deviations from the mean of a null distribution."""

    cosine: float | None  # None if the chunk has no vector yet
    own_cosine: float | None  # without its document and without the context head; None if it is unknown
    null_mean: float  # the mean of the query's cosines with the context chunks
    null_spread: float  # the standard deviation of these cosines
    z: float  # the deviation from the mean; for a chunk without a vector, it is estimated from the words
    near_z: float  # the mean deviation of the nearest of the best candidates; `z` if the chunk has no neighbours
    share: float  # of the evidence that comes from `near_z`
    weight: float  # 1, or less if the model does not read the language of the query
    blindness: float  # the estimated probability that the model does not read the language of the query
    contribution: float  # weight * ((1 - share) * z + share * near_z), which is the part of the hybrid score


@dataclass(frozen=True, slots=True)
class TextEvidence:
    """The evidence of the words: the BM25 score, in standard deviations from the mean of the best BM25 scores."""

    bm25: float | None  # None if full text did not find the chunk, which then counts as the last of the best scores
    own: float  # the deviation from the mean
    of_document: float | None  # the highest `own` in the chunk's document; None if documents are not made of records
    evidence: float  # `own`, or the mean of `own` and `of_document`
    weight: float  # the weight of text relative to the vectors
    contribution: float  # weight * evidence, which is the part of the hybrid score


@dataclass(frozen=True, slots=True)
class Explanation:
    """The evidence for one chunk.

    In hybrid mode, `score` is `dense.contribution + text.contribution + code + tokens`.
    """

    chunk: str
    mode: Mode
    score: float
    dense: DenseEvidence
    text: TextEvidence
    code: float  # what is added because of its file, see `cdesearch.search.ranking.file_lifts`; mostly 0 for texts
    tokens: float  # what is added in hybrid mode because of its tokens, see `cdesearch.search.ranking`; otherwise 0
    context: ContextEvidence | None  # None for a model without a context head
    words: tuple[Word, ...]  # in the order of the query
    n_chunks: int  # the number of chunks of the corpus
    k: int  # the number of hits that the search requested


def explain(reader: GenerationReader, query: SearchRequest, chunk_id: str) -> Explanation:
    """The evidence for a chunk that `query` finds; raises QueryError if it is not among the candidates."""
    if not query.words:
        raise QueryError("A hit of a query without words has no scores.", "Add words to search for.")
    query, index, encoder = reader.limited(query), reader.index, reader.encoder
    if query.mode != "dense":
        query = reader.respelled(query, unknown_words(index, query.words))
    with index.checks.reporting_damage():
        row, chunk = _found(index, chunk_id)
        vectors, tokens = encoder.encode_queries([query.words], index.context_for(encoder))
        rows, candidates = reader.candidates(ReadQuery(query, vectors[0], tokens[0]))
        evidence = FUSION.evidence(candidates)
        positions = np.flatnonzero(rows == row)
        if not len(positions):
            raise QueryError("This chunk is not a hit of the query.", "Pass the same k and path as the search.")
        at = int(positions[0])
        bm25 = None if np.isnan(candidates.text[at]) else float(candidates.text[at])
        cosine = None if np.isnan(candidates.dense[at]) else float(candidates.dense[at])
        text = _text_evidence(evidence, at, bm25)
        own = None if cosine is None else own_cosine(index, encoder, query.words, chunk.content_hash)
        code, interaction = (float(lift[at]) for lift in lifts(query.words, evidence.scores, candidates))
        by_words = float(ranked_words(query.words, candidates.text, candidates.paths)[at])
        fused = float(evidence.scores[at]) + code + interaction
        scores = {"hybrid": fused, "dense": cosine or 0.0, "text": 0.0 if bm25 is None else by_words}
        return Explanation(
            chunk=chunk_id,
            mode=query.mode,
            score=scores[query.mode],
            dense=_dense_evidence(evidence, at, cosine, own, candidates.blindness),
            text=text,
            code=code if query.mode != "text" else scores["text"] - (bm25 or 0.0),
            tokens=interaction if query.mode == "hybrid" else 0.0,
            context=context_evidence(index, encoder, query.words),
            words=_words(reader, query, row, chunk),
            n_chunks=index.manifest.n_chunks,
            k=query.k,
        )


def _found(index: Index, chunk_id: str) -> tuple[int, Chunk]:
    """The row id and the chunk with an id; raises NotIndexedError."""
    found = read_chunks(index, index.async_chunks.query().where(f"id = {quoted(chunk_id)}"))
    if not found:
        raise NotIndexedError(
            f"The index has no chunk {chunk_id:.80}.", "Search again, because an update may have replaced it."
        )
    return next(iter(found.items()))


def _dense_evidence(
    evidence: Evidence, at: int, cosine: float | None, own: float | None, blindness: float
) -> DenseEvidence:
    z, weight = float(evidence.dense_z[at]), evidence.dense_weight
    near = z if evidence.near_z is None else float(evidence.near_z[at])
    contribution = weight * float(evidence.dense[at])
    numbers = evidence.null_mean, evidence.null_spread
    return DenseEvidence(cosine, own, *numbers, z, near, SHARE, weight, blindness, contribution)


def _text_evidence(evidence: Evidence, at: int, bm25: float | None) -> TextEvidence:
    own, total = float(evidence.own[at]), float(evidence.text[at])
    best = None if evidence.of_document is None else float(evidence.of_document[at])
    weight = evidence.text_weight
    return TextEvidence(bm25, own, best, total, weight, weight * total)


def _words(reader: GenerationReader, query: SearchRequest, row: int, chunk: Chunk) -> tuple[Word, ...]:
    """Explain each word of the query once, and then each term that the chunk contains as a whole.

    A BM25 score is a sum over words, so a search for one word alone yields the contribution of this word.
    """
    condition = reader.condition(query)
    exact = {term: exact_hits(reader.index, term, query.words, condition) for term in exact_terms(query.words)}
    asked = Counter(runs_of(query.words))
    searched = frozenset(runs_of(Languages.of(reader.index.manifest).searched(query.words)))
    words = [
        _word(reader, word, times, chunk) if word in searched else Word(word, 0, 0.0, 0, 0.0)
        for word, times in list(asked.items())[:MAX_WORDS]
    ]
    return (*words, *_terms(exact, row, chunk.text, reader.index.manifest.n_chunks))


def _word(reader: GenerationReader, word: str, times: int, chunk: Chunk) -> Word:
    n_chunks = reader.index.manifest.n_chunks
    search = text_search(reader.index, word).select(["_score"]).with_row_id()
    n_found = read_table(reader.index, search.limit(n_chunks)).num_rows
    search = text_search(reader.index, word).select(["_score"])
    scores = read_table(reader.index, search.where(f"id = {quoted(chunk.id)}").limit(1))["_score"].to_pylist()
    count = _count(word, chunk.text, reader.index.manifest.languages) if scores else 0
    return Word(word, n_found, idf(n_found, n_chunks), count, times * float(scores[0]) if scores else 0.0)


def _count(word: str, text: str, languages: Collection[str]) -> int:
    """How many words of a text full text takes for a word of the query, or for one of its parts."""
    if UNSPACED.search(word):
        return sum(1 for _ in piece_spans(text, pieces(word)))
    asked = query_words(word, languages).keys()
    return sum(1 for run in runs_of(text) if not asked.isdisjoint(query_words(run, languages)))


def _terms(exact: Mapping[ExactTerm, ExactHits], row: int, text: str, n_chunks: int) -> Iterator[Word]:
    """Explain the terms in a chunk whose evidence is added to the score, in quotation marks."""
    for term, hits in exact.items():
        evidence = float(hits.added[hits.table["_rowid"].to_numpy() == row].sum())
        if evidence:
            n_found = hits.table.num_rows
            yield Word(f'"{term.text}"', n_found, idf(n_found, n_chunks), term.count(text), evidence)
