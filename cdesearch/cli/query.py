"""The command `query`: find the hits, with a running server if there is one, and print them."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cdesearch.builders import builder
from cdesearch.cli.exits import DONE, NO_HITS
from cdesearch.cli.hits.grouping import Found, HitGroup, group_hits, search_for_groups
from cdesearch.cli.hits.printing import show_grep_lines, show_hits
from cdesearch.cli.hits.render import Shown, as_percentage, hit_as_json, result_as_json
from cdesearch.cli.nearest_index import note_outer_index
from cdesearch.cli.server_client import ask_server, chunks_from_server
from cdesearch.cli.typed_path import globs_of_all
from cdesearch.errors import CdesearchError, InputError, QueryError
from cdesearch.models.endpoint_model import Model
from cdesearch.search.file_filter import FileFilter, suffixes_of, time_of
from cdesearch.search.path_filter import has_open_bracket
from cdesearch.search.result import SearchResult
from cdesearch.search.surroundings import Surroundings, surroundings_of
from cdesearch.store.index import Index
from cdesearch.store.schema import Hit
from cdesearch.store.trust import TrustRequest, unconfirmed
from cdesearch.terminal import print_json, printable

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from cdesearch.search.reader import Mode

Format = Literal["text", "json", "jsonl", "grep", "llm"]
LLM_TOKENS = 4_000  # the maximum number of tokens of all passages that are printed for a language model
K = 10
K_TERMINAL = 5  # so that the best hit stays visible
MAX_CONTEXT = 50  # lines; a server returns at most so many chunks on each side


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """The arguments and options of one query."""

    text: str
    k: int | None = None  # None: K_TERMINAL for people on a terminal, otherwise K
    mode: "Mode" = "hybrid"
    paths: tuple[str, ...] = ()  # the patterns as the user typed them; one must match
    types: tuple[str, ...] = ()  # names of types of files
    since: str | None = None  # an age or a date as the user typed it
    index: Path | None = None
    model: Model | None = None
    full: bool = False
    context: int = 0  # lines around each passage
    format: "Format" = "text"
    group: bool | None = None  # None: only on a terminal
    has_pager: bool = True
    opens: bool = False  # whether the best hit is opened instead of printing the hits
    update: bool = False  # whether the index is brought up to date first, if that is quick
    min_confidence: float = 0.0  # hits with a lower confidence are left out

    @property
    def is_for_people(self) -> bool:
        """Whether the hits are printed as text on a terminal."""
        return self.format == "text" and sys.stdout.isatty()

    @property
    def is_grouped(self) -> bool:
        """Whether the hits of one file are grouped."""
        return self.format == "text" and (self.is_for_people if self.group is None else self.group)

    @property
    def n_shown(self) -> int:
        """How many hits or groups are shown."""
        return self.k if self.k is not None else K_TERMINAL if self.is_for_people else K

    @property
    def filters(self) -> str:
        """The options that restrict the files, as the user may have typed them."""
        since = [] if self.since is None else [f"--since {self.since}"]
        return ", ".join(
            [*(f"--path {path}" for path in self.paths), *(f"--type {name}" for name in self.types), *since]
        )


@dataclass(frozen=True, slots=True)
class _Answer:
    result: SearchResult
    root: Path  # the folder to which the paths of the hits are relative
    around: Callable[[Hit], Surroundings]  # reads the text around a hit
    matches_no_file: bool = False  # whether the filters allow no indexed file
    tokenizer: "Tokenizer | None" = None  # set if passages are printed instead of hits
    is_explained: bool = False  # whether a line on stderr says why there are no hits


def run_query(options: QueryOptions, meant: str | None = None) -> int:
    """Search the index, print the hits, and return the exit code. Raises CdesearchError.

    `meant` is the command that the user may have intended instead of a query.
    """
    _check(options)
    index = Index.open(options.index)
    if options.index is None:
        note_outer_index(index)
    if meant:
        _note(f"The arguments are searched as words. If you meant the command, run `cdesearch {meant}`.")
    if options.update:
        index = _updated(index)
    files = FileFilter(
        globs_of_all(options.paths, index) if options.paths else None,
        suffixes_of(options.types) if options.types else None,
        None if options.since is None else time_of(options.since),
    )
    answer = _from_server(index, options, files) or _direct(index, options, files)
    result = answer.result
    if result.truncated_to is not None:
        _note(f"The query is longer than {result.truncated_to} tokens, so the model reads only its start.")
    if result.stage != "complete" and options.mode != "text":
        _note(f"{result.stage} (`cdesearch index` adds the others, if it is not doing so now)")
    _note_filters(options, index, matches_no_file=answer.matches_no_file)
    kept = result.confident(options.min_confidence)
    if options.format != "json" and result.hits:  # its field `answered` says the same
        _note_confidence(options, result, kept)
    is_explained = answer.matches_no_file or (bool(result.hits) and not kept.hits)
    _show(options, replace(answer, result=kept, is_explained=is_explained))
    return DONE if kept.hits else NO_HITS


def _note_filters(options: QueryOptions, index: Index, *, matches_no_file: bool) -> None:
    """Print on stderr that no file matches the filters, or that a pattern may not mean what it should.

    Raises QueryError if no file matches, and a pattern has a `[` without end.
    """
    damaged = next(filter(has_open_bracket, options.paths), None)
    if not matches_no_file:
        if damaged and len(options.paths) > 1:  # a single one names a file that exists
            _note(f"The [ in --path {printable(damaged)} has no ], so it stands for itself.")
        return
    if damaged:
        raise QueryError(f"No indexed file matches --path {printable(damaged)}, whose [ has no ].", "Add the ].")
    line = f"No indexed file matches {options.filters}."
    if options.paths:
        line += f" Patterns are relative to {index.root}, or to the working directory."
    _note(printable(line))


def _note_confidence(options: QueryOptions, result: SearchResult, kept: SearchResult) -> None:
    """Print on stderr whether the hits seem to answer the query, and whether any hit is confident enough."""
    if not kept.hits:
        best = as_percentage(max(hit.confidence or 0.0 for hit in result.hits))
        _note(f"No hit has a confidence of at least {options.min_confidence:.0%}. The highest is {best}.")
    elif not result.seems_answered:
        _note("Nothing here seems to answer that; the nearest passages are:")


def _check(options: QueryOptions) -> None:
    """Raise InputError for options that contradict each other."""
    if options.context and options.format not in ("text", "grep"):
        raise InputError(f"-C has no effect on --format {options.format}.", "Use it with text or grep.")
    if options.group and options.format != "text":
        raise InputError(f"--group has no effect on --format {options.format}.", "Omit one of them.")
    if options.opens and options.format != "text":
        raise InputError(f"Both --open and --format {options.format} are given.", "Use only one of them.")


def _show(options: QueryOptions, answer: _Answer) -> None:
    result = answer.result
    shown = Shown(options.text, answer.root, options.full, options.context, answer.around)
    if options.format == "json":
        print_json(result_as_json(options.text, options.mode, result))
    elif options.format == "jsonl":
        for hit in result.hits:
            print_json(hit_as_json(hit, options.text))
    elif answer.tokenizer is not None:
        _show_passages(options.text, result, answer.tokenizer)
    elif answer.is_explained:
        return
    elif options.format == "grep" and result.hits:
        show_grep_lines(shown, result.hits)
    else:
        _show_groups(options, shown, result)


def _show_groups(options: QueryOptions, shown: Shown, result: SearchResult) -> None:
    """Print the hits or open the best one, and remember their places if people see them."""
    k = options.n_shown
    groups = group_hits(result.hits, k) if options.is_grouped else [HitGroup(hit) for hit in result.hits]
    if groups and (options.opens or options.is_for_people):
        from cdesearch.cli.hits.last_hits import remember

        places = [shown.place(group.best) for group in groups]
        remember(places)
        if options.opens:
            from cdesearch.cli.hits.opening import open_place

            open_place(places[0])
            return
    show_hits(shown, groups, has_pager=options.has_pager and options.is_for_people)


def _updated(index: Index) -> Index:
    """Update the index if that is quick, and return it. Otherwise print on stderr how many changes are pending."""
    line = builder("quick")(index)
    if line:
        _note(printable(line))
    return Index(index.folder)


def _from_server(index: Index, options: QueryOptions, files: FileFilter) -> _Answer | None:
    """Return the answer of a running server; None if there is no server, or if its answer is not sufficient.

    The server has already loaded the model, so this process checks whether the user has confirmed it. If a search with
    a filter has no hits, the answer of the server does not show whether the filter allows any file. Passages for a
    language model need the tokenizer of the model.
    """
    if options.model is not None or options.format == "llm" or not _is_model_confirmed(index):
        return None
    result = _searched(options, lambda k: ask_server(index, options.text, k, options.mode, files))
    if result is None or (not files.is_empty and not result.hits):
        return None

    def around(hit: Hit) -> Surroundings:
        chunks = chunks_from_server(index, hit, options.context)
        return (
            _read_around(index, hit, options) if chunks is None else surroundings_of(chunks, hit.chunk.id, MAX_CONTEXT)
        )

    return _Answer(result, index.root, around)


def _searched(options: QueryOptions, search: Callable[[int], Found]) -> Found:
    return search_for_groups(search, options.n_shown) if options.is_grouped else search(options.n_shown)


def _read_around(index: Index, hit: Hit, options: QueryOptions) -> Surroundings:
    from cdesearch.search.documents import DocumentReader

    return surroundings_of(DocumentReader(index).document(hit.chunk.document_id), hit.chunk.id, options.context)


def _is_model_confirmed(index: Index) -> bool:
    try:
        return unconfirmed(index.folder, TrustRequest(index.manifest.model)).is_empty
    except CdesearchError:
        return False


def _direct(index: Index, options: QueryOptions, files: FileFilter) -> _Answer:
    from cdesearch.slim_imports import shorten_cold_start

    shorten_cold_start()
    from cdesearch.search.searcher import Searcher

    searcher = Searcher(index, model=options.model)
    result = _searched(options, lambda k: searcher.search(options.text, k, options.mode, files))
    matches_no_file = not files.is_empty and not result.hits and not searcher.has_file(files)
    has_passages = options.format == "llm" and result.hits
    tokenizer = searcher.tokenizer if has_passages else None
    newest = searcher.index
    return _Answer(result, newest.root, lambda hit: _read_around(newest, hit, options), matches_no_file, tokenizer)


def _show_passages(query: str, result: SearchResult, tokenizer: "Tokenizer") -> None:
    from cdesearch.cli.hits.passage_lines import best_row, query_words
    from cdesearch.cli.passage_text import located, passages_as_text
    from cdesearch.search.passages import fit_passages

    words = query_words(query)
    passages = fit_passages(result.hits, LLM_TOKENS, tokenizer, lambda hit: best_row(hit, words))
    sys.stdout.write(passages_as_text(located(passages, result.hits)) + "\n")


def _note(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
