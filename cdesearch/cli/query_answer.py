"""Answer a query, with a running server if there is one."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cdesearch.cli.hits.grouping import Found, search_for_groups
from cdesearch.cli.query_options import MAX_CONTEXT, QueryOptions
from cdesearch.cli.server_client import ask_server, ask_server_of_several, chunks_from_server
from cdesearch.cli.typed_path import globs_of_all
from cdesearch.errors import CdesearchError
from cdesearch.search.file_filter import FileFilter, suffixes_of, time_of
from cdesearch.search.result import SearchResult
from cdesearch.search.surroundings import Surroundings, surroundings_of
from cdesearch.store.index import Index
from cdesearch.store.schema import Hit
from cdesearch.store.trust import TrustRequest, unconfirmed

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a query, with what is needed to show it."""

    result: SearchResult
    root: Path | Mapping[str, Path]  # the folder to which the paths of the hits are relative, or that of each index
    around: Callable[[Hit], Surroundings]  # reads the text around a hit
    matches_no_file: bool = False  # whether the filters allow no indexed file
    tokenizer: "Tokenizer | None" = None  # set if passages are printed instead of hits
    is_explained: bool = False  # whether a line on stderr says why there are no hits


def answer_of(indexes: Mapping[str, Index], options: QueryOptions) -> Answer:
    """Search one index, or several as one; raises CdesearchError."""
    if len(indexes) > 1:
        filters = {name: _filter(options, index) for name, index in indexes.items()}
        return _several_from_server(indexes, options, filters) or _several(indexes, options, filters)
    (index,) = indexes.values()
    files = _filter(options, index)
    return _from_server(index, options, files) or _direct(index, options, files)


def _filter(options: QueryOptions, index: Index) -> FileFilter:
    return FileFilter(
        globs_of_all(options.paths, index) if options.paths else None,
        suffixes_of(options.types) if options.types else None,
        None if options.since is None else time_of(options.since),
    )


def _from_server(index: Index, options: QueryOptions, files: FileFilter) -> Answer | None:
    """Return the answer of a running server; None if there is no server, or if its answer is not sufficient.

    The server has already loaded the model, so this process checks whether the user has confirmed it. If a search with
    a filter has no hits, the answer of the server does not show whether the filter allows any file. Passages for a
    language model need the tokenizer of the model.
    """
    if not _may_ask_server(options, [index]):
        return None
    result = _searched(options, lambda k: ask_server(index, options.text, k, options.mode, files))
    if result is None or (not files.is_empty and not result.hits):
        return None

    return Answer(result, index.root, lambda hit: _around_by_server(index, hit, options))


def _several_from_server(
    indexes: Mapping[str, Index], options: QueryOptions, filters: Mapping[str, FileFilter]
) -> Answer | None:
    """Return the answer of a running server of all indexes; None as `_from_server`."""
    if not _may_ask_server(options, indexes.values()):
        return None
    result = _searched(options, lambda k: ask_server_of_several(indexes, options.text, k, options.mode, filters))
    if result is None or (not result.hits and not all(one.is_empty for one in filters.values())):
        return None
    return Answer(result, _roots(indexes), lambda hit: _around_by_server(indexes[hit.index or ""], hit, options))


def _roots(indexes: Mapping[str, Index]) -> dict[str, Path]:
    return {name: index.root for name, index in indexes.items()}


def _may_ask_server(options: QueryOptions, indexes: Iterable[Index]) -> bool:
    return options.model is None and options.format != "llm" and all(map(_is_model_confirmed, indexes))


def _around_by_server(index: Index, hit: Hit, options: QueryOptions) -> Surroundings:
    chunks = chunks_from_server(index, hit, options.context)
    return _read_around(index, hit, options) if chunks is None else surroundings_of(chunks, hit.chunk.id, MAX_CONTEXT)


def _searched(options: QueryOptions, search: Callable[[int], Found]) -> Found:
    return search_for_groups(search, options.n_shown) if options.is_grouped else search(options.n_shown)


def _read_around(index: Index, hit: Hit, options: QueryOptions) -> Surroundings:
    from cdesearch.search.documents import DocumentReader

    return surroundings_of(DocumentReader(index).document(hit.chunk.document_id), hit.chunk.id, options.context)


def _is_model_confirmed(index: Index) -> bool:
    try:
        return unconfirmed(index.place, TrustRequest(index.manifest.model)).is_empty
    except CdesearchError:
        return False


def _direct(index: Index, options: QueryOptions, files: FileFilter) -> Answer:
    from cdesearch.slim_imports import shorten_cold_start

    shorten_cold_start()
    from cdesearch.search.searcher import Searcher

    searcher = Searcher(index, model=options.model)
    result = _searched(options, lambda k: searcher.search(options.text, k, options.mode, files))
    matches_no_file = not files.is_empty and not result.hits and not searcher.has_file(files)
    has_passages = options.format == "llm" and result.hits
    tokenizer = searcher.tokenizer if has_passages else None
    newest = searcher.index
    return Answer(result, newest.root, lambda hit: _read_around(newest, hit, options), matches_no_file, tokenizer)


def _several(indexes: Mapping[str, Index], options: QueryOptions, filters: Mapping[str, FileFilter]) -> Answer:
    from cdesearch.slim_imports import shorten_cold_start

    shorten_cold_start()
    from cdesearch.search.several import SeveralSearcher

    searcher = SeveralSearcher.open(indexes, model=options.model)
    result = _searched(options, lambda k: searcher.search(options.text, k, options.mode, filters))
    matches_no_file = not result.hits and bool(options.filters) and not searcher.has_file(filters)
    has_passages = options.format == "llm" and result.hits
    tokenizer = next(iter(searcher.searchers.values())).tokenizer if has_passages else None
    newest = searcher.indexes

    def around(hit: Hit) -> Surroundings:
        return _read_around(newest[hit.index or ""], hit, options)

    return Answer(result, _roots(newest), around, matches_no_file, tokenizer)
