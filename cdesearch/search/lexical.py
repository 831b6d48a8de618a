"""Search an index for words by BM25, and for names, options and quoted phrases as a whole."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from cdesearch.search.corpus_languages import Languages
from cdesearch.search.documents import read_candidates
from cdesearch.search.exact import ExactTerm, demands_phrases, exact_evidence, exact_terms, is_quoted
from cdesearch.search.file_filter import all_of
from cdesearch.search.fusion import Scores
from cdesearch.store.damage import damaged
from cdesearch.store.index import Index
from cdesearch.words.analyzer import NAMED, query_words, runs_of
from cdesearch.words.compounds import JOINING
from cdesearch.words.detection import ignored_words, main_language
from cdesearch.words.known import ENGLISH
from cdesearch.words.numbers import is_time

if TYPE_CHECKING:
    import pyarrow as pa

# German manuals, MRR@10 without and with compounds: questions of whole words 70.5 and 70.3, with a part of a compound
# among three words 43.9 and 48.9. With a weight of .35, whole words lose 2 points more.
COMPOUND_WEIGHT = 0.25  # of their BM25 scores
NAMES_WEIGHT = 0.5  # of words in the name of a file, relative to words in its text
# LanceDB counts a word of a query as often as it is repeated. Its weight is a multiple of this, at most so many times.
LEAST_WEIGHT, MOST_TIMES = 0.25, 8
SPOKEN, MOST_SPOKEN = 0.02, 4  # the share of the chunks from which on a query may be in their language
LEAST_MISSPELLED, MOST_MISSPELLED = 4, 4  # letters of a word that may be misspelled, and of how many in a query
LEAST_NAME, MOST_NAMES = 3, 4  # letters of a name that the corpus may lack, and names of a query that are looked up
NO_WORD = "\0"  # LanceDB accepts no query without words
MOST_JOINED = 12  # words of a query that compounds are looked up for
_NUMBERED = re.compile(r"(?=(?:.*\d){2})(?=.*[^\W\d_])[\w-]{3,30}")  # a word of letters and several digits
_BETWEEN = re.compile(r"[\W_]+")
_WORD = re.compile(r"[^\W\d_]+")
MAX_EXACT = 500  # chunks with all words of a term that are read to look for the term itself
# Beyond so many chunks, a search of all texts would take longer than everything else: 8 s of ten million.
MAX_SEARCHED = 300_000
MAX_READ = 5_000  # replaces MAX_EXACT in such an index, which takes 40 ms longer


@dataclass(frozen=True, slots=True)
class ExactHits:
    """The n chunks that contain a term as a whole."""

    table: "pa.Table"  # (n rows) `_rowid`, the columns of the search, and as `_score` the BM25 score of the whole query
    added: Scores  # (n,) the evidence of the term, which is added to the BM25 scores


@dataclass(frozen=True, slots=True)
class LexicalHits:
    """The n best chunks by the words of a query."""

    table: "pa.Table"  # (n rows) `_rowid`, `_score` and the columns of the search
    is_complete: bool  # whether no other chunk may be a hit
    unknown: tuple[str, ...]  # words of the query that no chunk contains


def lexical_hits(index: Index, query: str, condition: str | None, columns: Sequence[str], limit: int) -> "LexicalHits":
    """The `limit` chunks with the highest lexical scores.

    Every hit must contain one of the quoted phrases of the query if the query has no other words, or if it is short and
    any chunk contains one. The lexical score is BM25 plus the evidence of the terms that are matched as a whole.
    `condition` is SQL.
    """
    terms = exact_terms(query)
    if not terms and demands_phrases(query) and not searched_words(index, query):
        # Full text ignores all words of the query, so their order decides.
        terms = (ExactTerm(" ".join(query.split()), is_phrase=True),)
    exact = {term: exact_hits(index, term, query, condition, columns) for term in terms}
    found = read_candidates(index, text_search(index, query), ["_score", "words", *columns], limit, condition)
    unknown = unknown_words(index, query, found["words"].to_pylist())
    found = found.select(["_rowid", "_score", *columns])
    phrases = [hits for term, hits in exact.items() if term.is_phrase]
    is_found = any(hits.table.num_rows for hits in phrases)
    if not is_quoted(query) and not (is_found and demands_phrases(query)):
        phrases = []
    table = _with_exact(found, phrases, [*exact.values()], limit) if exact else found
    return LexicalHits(table, bool(phrases), tuple(unknown))


def text_search(index: Index, query: str) -> Any:
    """The search for the words of a query, in texts and in the names of their files."""
    search = index.async_chunks.query()  # loads LanceDB; while another thread loads it, its modules are incomplete
    return search.nearest_to_text(any_of(searched_words(index, query)))


def unknown_words(index: Index, query: str, found: Sequence[str] = ()) -> list[str]:
    """The words of a query, of LEAST_MISSPELLED letters or more, that the corpus does not contain in any form.

    `found` are the words of some of its chunks.
    """
    text, unknown = f" {' '.join(found)} ", []
    for run in dict.fromkeys(runs_of(query)):
        words = searched_words(index, run) if run.isalpha() and len(run) >= LEAST_MISSPELLED else {}
        if words and not any(f" {word} " in text for word in words) and not _is_known(index, words):
            unknown.append(run)
    return unknown[:MOST_MISSPELLED]


def find_unknown_name(index: Index, query: str, is_rare: Callable[[str], bool], texts: Sequence[str]) -> str | None:
    """A name in a query that the corpus lacks, so that the query is likely about something else; None without one.

    A name is a phrase in quotation marks, has letters and several digits, such as BX-300, or begins with a capital
    letter, while most words do not, or `is_rare`. Outside English, other words do, too. `texts` are some of the corpus,
    which spare a search.
    """
    quoted = exact_terms(query) if demands_phrases(query) else ()
    phrases = (one for one in quoted if one.is_phrase and not one.is_one_word and not any(map(one.count, texts)))
    for phrase in phrases:
        if not exact_hits(index, phrase, query, None).table.num_rows:
            return phrase.text
    runs, seen = runs_of(query), "\n".join(texts).lower()
    for number in islice(filter(_NUMBERED.fullmatch, runs), MOST_NAMES):
        whole = next(iter(searched_words(index, number)), None)  # the other words are its parts
        is_seen = _BETWEEN.sub("", number.lower()) in _BETWEEN.sub("", seen)
        if whole is not None and not is_seen and not _is_known(index, {whole: 1.0}):
            return number
    if main_language(index.manifest.languages) != ENGLISH:
        return None
    has_capitals = 2 * sum(run[0].isupper() for run in runs) > len(runs)
    unseen = (
        run
        for at, run in enumerate(runs)
        if run.isalpha() and len(run) >= LEAST_NAME and run.lower() not in seen and not is_time(run)
        if is_rare(run) or (at > 0 and run[0].isupper() and not has_capitals)
    )
    for name in islice(unseen, MOST_NAMES):
        words = searched_words(index, name)
        if words and not _is_known(index, words):
            return name
    return None


def _is_known(index: Index, words: Mapping[str, float]) -> bool:
    search = index.async_chunks.query().nearest_to_text(any_of(words))
    return bool(read_candidates(index, search, ["_score"], 1, None).num_rows)


def any_of(words: Mapping[str, float]) -> Any:
    """The query of LanceDB for chunks with any of these words, each with its weight, in texts and in names of files.

    A query of one column skips most of the chunks that are not among the best. One that joins several queries skips
    none, and takes six times as long in a million chunks.
    """
    from lancedb import query as lance

    weights = {**words, **{NAMED + word: weight * NAMES_WEIGHT for word, weight in words.items()}}
    times = {word: max(1, round(weight / LEAST_WEIGHT)) for word, weight in weights.items()}
    repeated = [word for word, number in times.items() for _ in range(min(number, MOST_TIMES))]
    match: Any = lance.MatchQuery  # mypy does not know the defaults of these dataclasses
    return match(" ".join(repeated) or NO_WORD, "words", boost=LEAST_WEIGHT)


def searched_words(index: Index, query: str) -> dict[str, float]:
    """The words for which full text searches in place of a query, with their weights."""
    manifest = index.manifest
    asked = Languages.of(manifest).searched(query)
    spoken = [code for code, share in manifest.languages.items() if share >= SPOKEN][:MOST_SPOKEN]
    found = query_words(asked, spoken)
    language = main_language(manifest.languages)
    for compound in compounds(index, asked, language):
        for word in query_words(compound, [language]):
            found.setdefault(word, COMPOUND_WEIGHT)
    return found


def compounds(index: Index, query: str, language: str) -> list[str]:
    """Compounds of the corpus that contain words of a query, in the languages that join words."""
    if language not in JOINING or (vocabulary := index.vocabulary) is None:
        return []
    ignored = ignored_words(language)
    asked = [word for word in dict.fromkeys(_WORD.findall(query.lower())) if word not in ignored]
    found = [compound for word in asked[:MOST_JOINED] for compound in vocabulary.compounds_of(word, language)]
    return [compound for compound in dict.fromkeys(found) if compound not in asked]


def exact_hits(
    index: Index, term: ExactTerm, query: str, condition: str | None, columns: Sequence[str] = ()
) -> ExactHits:
    """The chunks that contain a term of a query as a whole."""
    import pyarrow as pa

    wanted = list(dict.fromkeys(["_score", *columns, "text", "place", "path"]))
    if term.is_of_common_words:
        search = index.async_chunks.query()
        found = read_candidates(index, search, wanted[1:], MAX_EXACT, all_of([condition, term.condition]))
        found = found.append_column("_score", pa.array(np.zeros(found.num_rows, np.float32)))
    else:
        found = _with_all_words(index, term, query, wanted, condition)
    texts = found["text"].to_pylist()
    try:  # a forged index can hold any value
        starts = [json.loads(place)["body_start"] for place in found["place"].to_pylist()]
        bodies = [(text[:start], text[start:]) for text, start in zip(texts, starts, strict=True)]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise damaged(index.place, "a chunk's place has an impossible value") from None
    named = np.array([term.is_name_of(path) for path in found["path"].to_pylist()], bool)
    kept = named | np.array([term.count(text) > 0 for text in texts], bool)
    table = found.select(["_rowid", "_score", *columns]).filter(pa.array(kept))
    bodies = [body for body, is_kept in zip(bodies, kept, strict=True) if is_kept]
    return ExactHits(table, exact_evidence(term, bodies, index.manifest.n_chunks, named[kept]))


def _with_all_words(
    index: Index, term: ExactTerm, query: str, wanted: Sequence[str], condition: str | None
) -> "pa.Table":
    """Chunks with all words of a term, the best by the whole query. Some may not contain the term itself.

    A term of several words may be in others than those, which takes a search of all texts. In a large index, that is
    done only for a quoted phrase that none of them contains. Of a single word, the best chunks are enough.
    """
    is_large = index.manifest.n_chunks > MAX_SEARCHED
    most = MAX_READ if is_large and not term.is_one_word else MAX_EXACT
    found = read_candidates(index, _search_for_all_words(index, term, query), wanted, most, condition)
    if found.num_rows < most or term.is_one_word:
        return found
    if is_large and not (term.is_phrase and not any(map(term.count, found["text"].to_pylist()))):
        return found
    both = all_of([condition, term.condition])
    return read_candidates(index, _search_for_all_words(index, term, query), wanted, MAX_EXACT, both)


def _search_for_all_words(index: Index, term: ExactTerm, query: str) -> Any:
    """The search for chunks with all words of a term; their scores are those of the whole query."""
    search = index.async_chunks.query()  # loads LanceDB; while another thread loads it, its modules are incomplete
    from lancedb import query as lance

    match: Any = lance.MatchQuery
    words = [word for word in term.text.split() if not ExactTerm(word).is_of_common_words]
    needed = [[*searched_words(index, word)] for word in words]
    if not term.is_phrase:
        needed = [[*forms, *(NAMED + form for form in forms)] for forms in needed]
    every = [(lance.Occur.MUST, match(" ".join(forms), "words", boost=0.0)) for forms in needed if forms]
    others = any_of(searched_words(index, query))
    return search.nearest_to_text(lance.BooleanQuery([*every, (lance.Occur.SHOULD, others)]))


def _with_exact(found: "pa.Table", phrases: Sequence[ExactHits], exact: Sequence[ExactHits], limit: int) -> "pa.Table":
    """The `limit` chunks with the highest sums of BM25 and evidence, best first.

    `exact` are the hits of all terms. If there are `phrases`, only their hits are returned.
    """
    import pyarrow as pa

    tables = [one.table.select(found.column_names) for one in phrases or exact]
    every = pa.concat_tables(tables if phrases else [found, *tables])
    rows, first, members = np.unique(every["_rowid"].to_numpy(), return_index=True, return_inverse=True)
    scores = np.zeros(len(rows))
    np.maximum.at(scores, members, every["_score"].to_numpy())
    for one in exact:
        own, is_kept = one.table["_rowid"].to_numpy(), np.isin(one.table["_rowid"].to_numpy(), rows)
        scores[np.searchsorted(rows, own[is_kept])] += one.added[is_kept]
    best = np.lexsort((rows, -scores))[:limit]
    kept = every.take(pa.array(first[best]))
    at = kept.column_names.index("_score")
    return kept.set_column(at, "_score", pa.array(scores[best]))
