"""The command `query`: find the hits, with a running server if there is one, and print them."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cdesearch.builders import builder
from cdesearch.cli.exits import DONE, NO_HITS
from cdesearch.cli.hits.grouping import group_hits, group_of
from cdesearch.cli.hits.printing import show_grep_lines, show_hits
from cdesearch.cli.hits.render import Shown, as_percentage, hit_as_json, result_as_json
from cdesearch.cli.nearest_index import note_outer_index
from cdesearch.cli.query_answer import Answer, answer_of
from cdesearch.cli.query_options import QueryOptions
from cdesearch.errors import InputError, QueryError
from cdesearch.search.path_filter import has_open_bracket
from cdesearch.search.result import SearchResult
from cdesearch.store.copies import shown_source
from cdesearch.store.index import Index
from cdesearch.store.named_indexes import open_each
from cdesearch.terminal import print_json, printable

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LLM_TOKENS = 4_000  # the maximum number of tokens of all passages that are printed for a language model


def run_query(options: QueryOptions, meant: str | None = None) -> int:
    """Search the index, print the hits, and return the exit code. Raises CdesearchError.

    `meant` is the command that the user may have intended instead of a query.
    """
    _check(options)
    indexes = open_each(options.indexes or (None,))
    if not options.indexes:
        note_outer_index(next(iter(indexes.values())))
    if meant:
        _note(f"The arguments are searched as words. If you meant the command, run `cdesearch {meant}`.")
    if options.update:
        indexes = {name: _updated(index, name if len(indexes) > 1 else "") for name, index in indexes.items()}
    answer = answer_of(indexes, options)
    result = answer.result
    if result.truncated_to is not None:
        _note(f"The query is longer than {result.truncated_to} tokens, so the model reads only its start.")
    if result.stage != "complete" and options.mode != "text":
        _note(f"{result.stage} (`cdesearch index` adds the others, if it is not doing so now)")
    _note_filters(options, indexes, matches_no_file=answer.matches_no_file)
    kept = result.confident(options.min_confidence)
    if options.format != "json" and result.hits:  # its field `answered` says the same
        _note_confidence(options, result, kept)
    is_explained = answer.matches_no_file or (bool(result.hits) and not kept.hits)
    _show(options, replace(answer, result=kept, is_explained=is_explained))
    return DONE if kept.hits else NO_HITS


def _note_filters(options: QueryOptions, indexes: Mapping[str, Index], *, matches_no_file: bool) -> None:
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
        roots = ", ".join(shown_source(index.root) for index in indexes.values())
        line += f" Patterns are relative to {roots}, or to the working directory."
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


def _show(options: QueryOptions, answer: Answer) -> None:
    result = answer.result
    shown = Shown(options.text, answer.root, options.full, options.context, answer.around)
    if options.format == "json":
        print_json(result_as_json(options.text, options.mode, result, shown.root_of) | _roots_as_json(answer))
    elif options.format == "jsonl":
        for hit in result.hits:
            print_json(hit_as_json(hit, options.text, shown.root_of))
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
    groups = group_hits(result.hits, k) if options.is_grouped else [group_of(hit) for hit in result.hits]
    if groups and (options.opens or options.is_for_people):
        from cdesearch.cli.hits.last_hits import remember

        places = [shown.place(group.best) for group in groups]
        remember(places)
        if options.opens:
            from cdesearch.cli.hits.opening import open_place

            open_place(places[0])
            return
    show_hits(shown, groups, has_pager=options.has_pager and options.is_for_people)


def _roots_as_json(answer: Answer) -> dict[str, Any]:
    """Return the indexed folders of several indexes by name."""
    root = answer.root
    return {"indexes": {name: shown_source(one) for name, one in root.items()}} if isinstance(root, Mapping) else {}


def _updated(index: Index, name: str) -> Index:
    """Update the index if that is quick, and return it. Otherwise print on stderr how many changes are pending.

    `name` precedes the line if it is not empty.
    """
    line = builder("quick")(index)
    if line:
        _note(printable(f"{name}: {line}" if name else line))
    return Index(index.place)


def _show_passages(query: str, result: SearchResult, tokenizer: "Tokenizer") -> None:
    from cdesearch.cli.hits.passage_lines import best_row, query_words
    from cdesearch.cli.passage_text import located, passages_as_text
    from cdesearch.search.fence import Fence
    from cdesearch.search.passages import fit_passages

    words = query_words(query)
    passages = fit_passages(result.hits, LLM_TOKENS, tokenizer, lambda hit: best_row(hit, words))
    sys.stdout.write(passages_as_text(located(passages, result.hits), Fence()) + "\n")


def _note(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
