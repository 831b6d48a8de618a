"""Answer queries from one generation of an index: dense and lexical candidates, their fused scores, and the hits."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from cdesearch.context.vectors import Floats
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.token_signs import QueryTokens
from cdesearch.errors import ModelServerError
from cdesearch.search.confidence import AskedWords, CosineScale, with_confidence
from cdesearch.search.corpus_languages import JUDGED, Languages
from cdesearch.search.documents import read_chunks, read_table
from cdesearch.search.exact import exact_terms, is_exact
from cdesearch.search.facets import COUNTED, Facts
from cdesearch.search.file_filter import FileConditions, all_of
from cdesearch.search.fusion import FUSION, MIN_NULL_SIZE, Candidates, Scores, noise_of
from cdesearch.search.lexical import find_unknown_name, lexical_hits
from cdesearch.search.nearest import Found, RowIds, nearest_chunks
from cdesearch.search.pattern import matching_lines, pattern_condition, rows_in_order
from cdesearch.search.ranking import ranked_scores, ranked_words
from cdesearch.search.request import SearchRequest
from cdesearch.search.result import SearchResult, fold_copies
from cdesearch.search.spelling import respelled
from cdesearch.store.index import Index
from cdesearch.store.schema import Chunk, Hit
from cdesearch.store.vector_format import TOKENS

Output = TypeVar("Output")

RARE_PIECES = 3  # of a word such as "kubernetes"
SPARE = 10  # hits that are read at once beside those that are asked for, because some may be copies of others


@dataclass(frozen=True, slots=True)
class _Ranking:
    """Row ids and scores of hits, best first. `dense` or `text` is None if that search was not run."""

    rows: RowIds
    scores: Scores
    found: tuple[Found, ...] = ()  # that the hits are chosen from
    dense: Scores | None = None  # NaN for rows without a vector
    text: Scores | None = None  # NaN for rows that full text did not find

    @classmethod
    def of(cls, rows: RowIds, scores: Scores, *found: Found, **sides: Scores) -> "_Ranking":
        """Rank the scores. Ties are broken by the row id, so that a query always has the same hits."""
        top = np.lexsort((rows, -scores))
        return cls(rows[top], scores[top], found, **{name: side[top] for name, side in sides.items()})


@dataclass(frozen=True, slots=True)
class ReadQuery:
    """A request with what the model has made of its words."""

    request: SearchRequest
    vector: Floats  # (d,)
    tokens: QueryTokens | None  # None for a model whose tokens cannot be compared


class GenerationReader:
    """Answers queries from one generation, which updates never change."""

    def __init__(self, index: Index, encoder: Callable[[Index], Encoder], executor: Executor) -> None:
        """`encoder` loads the model of an index; `executor` runs the parts of a search that can overlap."""
        self.index = index
        self._load = encoder
        self._executor = executor

    @cached_property
    def encoder(self) -> Encoder:
        """The model, which is loaded on first use; raises ModelError, and IndexStateError if it cannot be used."""
        return self._load(self.index)

    @cached_property
    def files(self) -> FileConditions:
        """The conditions of filters in this generation."""
        return FileConditions(self.index)

    @property
    def has_encoder(self) -> bool:
        """Whether the model is loaded."""
        return "encoder" in vars(self)

    def answer_alike(self, queries: Sequence[SearchRequest]) -> list[SearchResult]:
        """For each query the best chunks; the queries differ only in the words of their texts.

        The executor runs their parts in parallel, and the chunks of all hits are read at once. Raises IndexStateError,
        ModelError, and QueryError for an invalid glob.
        """
        queries = [self.limited(query) for query in queries]
        name, stage = self.index.generation.name, self.index.manifest.stage
        found = zip(queries, self._by_mode(queries), strict=True)
        return [replace(self._respelled(*one), generation=name, stage=stage) for one in found]

    def _respelled(self, query: SearchRequest, result: SearchResult) -> SearchResult:
        """The result for words of the corpus in place of those that it lacks and that are spelled alike, if any are."""
        other = self.respelled(query, result.unknown) if result.unknown else query
        return result if other == query else replace(self._by_mode([other])[0], searched=other.text)

    def respelled(self, query: SearchRequest, unknown: Sequence[str]) -> SearchRequest:
        """The request with words of the corpus in place of the `unknown` ones that are spelled alike."""
        return replace(query, text=respelled(self.index, query.text, unknown))

    def limited(self, query: SearchRequest) -> SearchRequest:
        """The request for at most as many hits as there are chunks: LanceDB allocates memory for k rows."""
        return replace(query, k=min(query.k, max(1, self.index.manifest.n_chunks)))

    def _by_mode(self, queries: Sequence[SearchRequest]) -> list[SearchResult]:
        mode = queries[0].mode
        if not self.index.manifest.n_chunks:  # all of its files were deleted
            return [SearchResult(()) for _ in queries]
        with self.index.checks.reporting_damage(), _offering_text():
            condition = self.condition(queries[0])
            if not queries[0].words:
                rows = rows_in_order(self.index, condition or "true", queries[0].lists)
                return self._results([_Ranking(rows, np.zeros(len(rows)))] * len(queries), queries, None)
            # The first stage of a build has no vectors.
            if mode == "text" or (mode != "dense" and self.index.manifest.n_vectors == 0):

                def rank(query: SearchRequest) -> _Ranking:
                    found = self._lexical_hits(query, condition, ["path", "document_id"])
                    scores = ranked_words(query.words, found.scores, found.paths)
                    return _Ranking.of(found.rows, scores, found, text=found.scores)

                return self._results(self._each(rank, queries), queries, None)
            return self._results(self._rank_with_model(queries, condition), queries, self.encoder)

    @cached_property
    def scale(self) -> CosineScale | None:
        """The scale of cosines in this corpus; None without vectors, and for few chunks if it was not measured.

        It was measured for few chunks with a typical mean, which published models do not have.
        """
        manifest = self.index.manifest
        if manifest.n_vectors == 0:
            return None
        context = self.index.context
        vectors = context.sample_vectors
        if len(vectors) < MIN_NULL_SIZE and manifest.added_context:
            return None
        return CosineScale.of(vectors, is_whitened=bool(context.whitening.shift.any()))

    def condition(self, query: SearchRequest) -> str | None:
        """The SQL condition for the chunks that may be hits; None if all may. Raises QueryError."""
        pattern = None if query.regex is None else pattern_condition(self.index, query.regex)
        return all_of([self.files.of(query.files_of(self.index)), query.query.condition, pattern])

    def _each(self, function: Callable[..., Output], *values: Sequence[Any]) -> list[Output]:
        """Call a function for each value, in threads if there are several."""
        run = map if len(values[0]) == 1 else self._executor.map
        return list(run(function, *values))

    @property
    def _columns(self) -> list[str]:
        """The columns that the fusion needs of every candidate."""
        tokens = [TOKENS] if self.index.vectors.keeps_first_stage else []
        return [*self.index.vectors.columns, "path", "document_id", *tokens]

    def _rank_with_model(self, queries: Sequence[SearchRequest], condition: str | None) -> list[_Ranking]:
        # The tables are opened, and in hybrid mode full text is searched, while the model is loaded and encodes.
        opened = self._executor.submit(lambda: self.index.async_chunks)
        is_hybrid = queries[0].mode == "hybrid"
        searched = queries if is_hybrid else []
        words = [self._executor.submit(self._lexical_hits, query, condition, self._columns) for query in searched]
        encoder = self.encoder
        context = self.index.context_for(encoder)
        vectors, tokens = encoder.encode_queries([query.words for query in queries], context)
        read = list(map(ReadQuery, queries, vectors, tokens))
        opened.result()

        def rank(query: ReadQuery, words: "Future[Found] | None") -> _Ranking:
            nearest = self._dense_hits(query, condition)
            if words is not None:
                return self._fused(query, nearest, words.result())
            cosines = nearest.cosines(query.vector)
            return _Ranking.of(nearest.rows, cosines, nearest, dense=cosines)

        return self._each(rank, read, words or [None] * len(queries))

    def _results(
        self, rankings: Sequence[_Ranking], queries: Sequence[SearchRequest], encoder: Encoder | None
    ) -> list[SearchResult]:
        """Read the best hits of all rankings. `encoder` is the model that has read the queries, if one has."""
        best = [ranking.rows[: query.k + SPARE] for ranking, query in zip(rankings, queries, strict=True)]
        chunks = self.chunks(np.unique(np.concatenate(best)))
        results = []
        for query, ranking in zip(queries, rankings, strict=True):
            name = None
            is_truncated = encoder is not None and encoder.truncates(query.words, "query")
            most = encoder.max_tokens if encoder is not None and is_truncated else None
            found = self._hits(ranking, chunks, query)
            hits = tuple(islice(found, query.k)) if query.lists else fold_copies(found, query.k)
            if query.words:  # the confidence of a hit depends on its final rank
                scale = None if ranking.dense is None else self.scale
                noise = 0.0 if ranking.text is None else noise_of(ranking.text)
                texts = [hit.chunk.text for hit in hits]
                # A search by words alone does not ask the model, because it may not be loaded.
                rare = (lambda _: False) if encoder is None else partial(_is_rare, encoder)
                name = find_unknown_name(self.index, query.words, rare, texts)
                asked = AskedWords.of(self._languages.searched(query.words), self.index.manifest.languages)
                hits = with_confidence(query.words, asked, hits, scale, noise, has_unknown_name=name is not None)
            documents = self._documents(ranking, query.k) if query.facets else {}
            is_complete = any(found.is_complete for found in ranking.found)
            unknown = tuple(word for found in ranking.found for word in found.unknown)
            result = SearchResult(hits, most, unknown_name=name, unknown=unknown, is_complete=is_complete)
            total = len(ranking.rows) if query.lists else None
            results.append(replace(result, documents=documents, total=total))
        return results

    def _documents(self, ranking: _Ranking, k: int) -> dict[tuple[str | None, str], Facts]:
        """What facets read of the documents of the best COUNTED candidates, or of all `k` hits if these are more."""
        best = frozenset(ranking.rows[: max(k, COUNTED)].tolist())
        return {
            (None, document): Facts.of(path, self.files.labels.get(document, ()), self.files.modified.get(path))
            for found in ranking.found
            for row, document, path in zip(found.rows.tolist(), found.documents, found.paths, strict=True)
            if row in best
        }

    def _hits(self, ranking: _Ranking, chunks: Mapping[int, Chunk], query: SearchRequest) -> Iterator[Hit]:
        """Yield the hits of a ranking, best first. `chunks` has those of the first `k + SPARE`; others are read."""
        size = query.k + SPARE
        for start in range(0, len(ranking.rows), size):
            rows = ranking.rows[start : start + size]
            found = self.chunks(rows) if start else chunks
            lines = {} if query.regex is None else matching_lines(self.index, query.regex, rows)
            for i, row in enumerate(rows.tolist(), start):
                dense, text = _score_at(ranking.dense, i), _score_at(ranking.text, i)
                hit = Hit(i + 1, float(ranking.scores[i]), found[row], dense_score=dense, text_score=text)
                yield replace(hit, matches=lines[row]) if lines else hit

    def _fused(self, query: ReadQuery, dense_hits: Found, lexical_hits: Found) -> _Ranking:
        rows, candidates = self._candidates(query, dense_hits, lexical_hits)
        scores = ranked_scores(query.request.words, candidates)
        found = (lexical_hits,) if lexical_hits.is_complete else (dense_hits, lexical_hits)
        return _Ranking.of(rows, scores, *found, dense=candidates.dense, text=candidates.text)

    def candidates(self, query: ReadQuery) -> tuple[RowIds, Candidates]:
        """The row ids (n,) and the scores of the candidates of a hybrid search."""
        request = query.request
        condition = self.condition(request)
        lexical = self._lexical_hits(request, condition, self._columns)
        if request.mode == "dense":  # quotation marks have no meaning there
            lexical = replace(lexical, is_complete=False)
        return self._candidates(query, self._dense_hits(query, condition), lexical)

    def _candidates(self, query: ReadQuery, dense_hits: Found, lexical_hits: Found) -> tuple[RowIds, Candidates]:
        vector, words = query.vector, query.request.words
        if lexical_hits.is_complete:  # a phrase in quotation marks must be found, so the nearest chunks do not count
            dense_hits = lexical_hits
        rows = np.union1d(dense_hits.rows, lexical_hits.rows)
        dense, text = np.empty(len(rows)), np.full(len(rows), np.nan)
        vectors = np.empty((len(rows), len(vector)), np.float32)
        for found in (dense_hits, lexical_hits):
            places = np.searchsorted(rows, found.rows)
            dense[places], vectors[places] = found.cosines(vector), found.vectors
        text[np.searchsorted(rows, lexical_hits.rows)] = lexical_hits.scores
        null = (self.index.context.sample_vectors @ vector).astype(np.float64)
        both = (dense_hits, lexical_hits)
        return rows, Candidates(
            dense,
            text,
            null,
            documents=of_rows(rows, both, "documents"),
            has_parts=self.index.manifest.has_parts,
            blindness=self._blindness(words, lexical_hits),
            vectors=vectors,
            is_exact=is_exact(words),
            paths=of_rows(rows, both, "paths"),
            tokens=of_rows(rows, both, "tokens") if self.index.vectors.keeps_first_stage else None,
            query_tokens=None if exact_terms(words) else query.tokens,  # names and phrases have decided
        )

    @cached_property
    def _languages(self) -> Languages:
        return Languages.of(self.index.manifest)

    def _blindness(self, query: str, lexical_hits: Found) -> float:
        """The estimated probability that the model does not read the language of a query."""
        best = lexical_hits.rows[np.lexsort((lexical_hits.rows, -lexical_hits.scores))[:JUDGED]]
        if not self._languages.unread or not len(best):
            return self._languages.blindness(query, [])
        found = read_table(self.index, self.index.async_chunks.take_row_ids(best.tolist()).select(["text"]))
        return self._languages.blindness(query, found["text"].to_pylist())

    def _dense_hits(self, query: ReadQuery, condition: str | None) -> Found:
        """The nearest chunks, as many as the fusion needs."""
        depth = FUSION.dense_depth(query.request.k)
        return nearest_chunks(self.index, query.vector, depth, condition, self._columns)

    def _lexical_hits(self, query: SearchRequest, condition: str | None, columns: list[str]) -> Found:
        """The chunks with the highest lexical scores, as many as the fusion needs."""
        limit = FUSION.text_depth(query.k)
        hits = lexical_hits(self.index, query.words, condition, columns, limit)
        found = Found.from_table(self.index, hits.table, "_score")
        return replace(found, is_complete=hits.is_complete, unknown=hits.unknown)

    def chunks(self, row_ids: RowIds) -> dict[int, Chunk]:
        """Read chunks by their row ids; raises IndexDamagedError."""
        if not len(row_ids):
            return {}
        return read_chunks(self.index, self.index.async_chunks.take_row_ids(row_ids.tolist()))


def of_rows(rows: RowIds, found: Sequence[Found], name: str) -> list[Any]:
    """The values of an attribute of `Found` for rows, each of which is in one of `found`."""
    value_of = {row: value for one in found for row, value in zip(one.rows, getattr(one, name), strict=True)}
    return [value_of[row] for row in rows]


@contextmanager
def _offering_text() -> Iterator[None]:
    """Add to the error of a server that computes vectors that words can be searched without it."""
    try:
        yield
    except ModelServerError as error:
        raise ModelServerError(error.cause, f"{error.remedy} Until then, search with --mode text.") from None


def _is_rare(encoder: Encoder, word: str) -> bool:
    """Whether the tokenizer of the model divides a word into RARE_PIECES or more."""
    return len(encoder.tokenizer.encode(word.lower(), add_special_tokens=False)) >= RARE_PIECES


def _score_at(scores: Scores | None, i: int) -> float | None:
    return None if scores is None or np.isnan(scores[i]) else float(scores[i])
