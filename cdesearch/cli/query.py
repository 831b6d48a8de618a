"""The command `query`: find the hits, with a running server if there is one, and print them."""

import sys
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cdesearch.cli.exits import DONE, NO_HITS
from cdesearch.cli.render import result_as_json, show_hits
from cdesearch.cli.server_client import ask_server
from cdesearch.cli.typed_path import globs_of
from cdesearch.errors import CdesearchError
from cdesearch.search.result import SearchResult
from cdesearch.store.index import Index
from cdesearch.store.trust import TrustRequest, unconfirmed
from cdesearch.terminal import print_json, printable

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from cdesearch.search.reader import Mode

Format = Literal["text", "json", "llm"]
LLM_TOKENS = 4_000  # the maximum number of tokens of all passages that are printed for a language model


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """The arguments and options of one query."""

    text: str
    k: int = 10
    mode: "Mode" = "hybrid"
    path: str | None = None  # the pattern as the user typed it
    index: Path | None = None
    model: Path | None = None
    full: bool = False
    format: "Format" = "text"
    update: bool = False  # whether the index is brought up to date first, if that is quick


@dataclass(frozen=True, slots=True)
class _Answer:
    result: SearchResult
    root: Path  # the folder to which the paths of the hits are relative
    matches_no_file: bool  # whether no indexed file matches the pattern for paths
    tokenizer: "Tokenizer | None" = None  # set if passages are printed instead of hits


def run_query(options: QueryOptions, meant: str | None = None) -> int:
    """Search the index, print the hits, and return the exit code. Raises CdesearchError.

    `meant` is the command that the user may have intended instead of a query.
    """
    index = Index.open(options.index)
    if meant:
        _note(f"The arguments are searched as words. If you meant the command, run `cdesearch {meant}`.")
    if options.update:
        index = _updated(index)
    globs = None if options.path is None else globs_of(options.path, index)
    answer = _from_server(index, options, globs) or _direct(index, options, globs)
    result = answer.result
    if result.truncated_to is not None:
        _note(f"The query is longer than {result.truncated_to} tokens, so the model reads only its start.")
    if result.stage != "complete" and options.mode != "text":
        _note(f"{result.stage} (`cdesearch index` adds the others, if it is not doing so now)")
    if answer.matches_no_file:
        line = f"No indexed file matches --path {options.path}. Patterns are relative to {index.root}"
        _note(printable(f"{line}, or to the working directory."))
    if options.format == "json":
        print_json(result_as_json(options.text, options.mode, result))
    elif answer.tokenizer is not None:
        _show_passages(result, answer.tokenizer)
    elif not answer.matches_no_file:
        show_hits(options.text, result.hits, answer.root, full=options.full)
    return DONE if result.hits else NO_HITS


def _updated(index: Index) -> Index:
    """The index after an update if that is quick; otherwise a line on stderr says how far behind it is."""
    (entry,) = entry_points(group="cdesearch.builders", name="quick")
    line = entry.load()(index)
    if line:
        _note(printable(line))
    return Index(index.folder)


def _from_server(index: Index, options: QueryOptions, globs: tuple[str, ...] | None) -> _Answer | None:
    """Return the answer of a running server; None if there is no server, or if its answer is not sufficient.

    The server has already loaded the model, so this process checks whether the user has confirmed it. If a pattern for
    paths has no hits, the server does not tell whether any file matches it. Passages for a language model need the
    tokenizer of the model.
    """
    if options.model is not None or options.format == "llm" or options.update or not _is_model_confirmed(index):
        return None
    result = ask_server(index, options.text, options.k, options.mode, globs)
    if result is None or (globs is not None and not result.hits):
        return None
    return _Answer(result, index.root, matches_no_file=False)


def _is_model_confirmed(index: Index) -> bool:
    try:
        return unconfirmed(index.folder, TrustRequest(index.manifest.model)).is_empty
    except CdesearchError:
        return False


def _direct(index: Index, options: QueryOptions, globs: tuple[str, ...] | None) -> _Answer:
    from cdesearch.slim_imports import shorten_cold_start

    shorten_cold_start(index.manifest.model)
    from cdesearch.search.searcher import Searcher

    searcher = Searcher(index, model=options.model)
    result = searcher.search(options.text, options.k, options.mode, globs)
    matches_no_file = globs is not None and not result.hits and not searcher.has_file(*globs)
    has_passages = options.format == "llm" and result.hits
    return _Answer(result, searcher.index.root, matches_no_file, searcher.encoder.tokenizer if has_passages else None)


def _show_passages(result: SearchResult, tokenizer: "Tokenizer") -> None:
    from cdesearch.cli.passage_text import located, passages_as_text
    from cdesearch.search.passages import fit_passages

    passages = fit_passages(result.hits, LLM_TOKENS, tokenizer)
    sys.stdout.write(passages_as_text(located(passages, result.hits)) + "\n")


def _note(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
