"""The command `query`: find the hits, with a running server if there is one, and print them."""

import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from cdesearch.cli.exits import DONE, NO_HITS
from cdesearch.cli.hits.grouping import UNLIKELY, HitGroup, group_hits, search_for_groups, without_unlikely
from cdesearch.cli.hits.render import Shown, as_percentage, nothing_found, result_as_json, show_grep_lines, show_plain
from cdesearch.cli.kept_server import keep_server
from cdesearch.cli.query_options import QueryOptions
from cdesearch.errors import IndexNotFoundError
from cdesearch.search.field_filter import conditions_of
from cdesearch.search.request import SearchRequest
from cdesearch.search.result import SearchResult, no_text_contains, shown_instead
from cdesearch.service import SearchService, open_service, root_of
from cdesearch.store.copies import shown_source
from cdesearch.store.index import Index, open_each, outer_index
from cdesearch.store.used import open_used, used_places
from cdesearch.terminal import is_styled, note, print_json, printable


def run_query(options: QueryOptions, meant: str | None = None) -> int:
    """Search the index, print the hits, and return the exit code. Raises CdesearchError.

    `meant` is the command that the user may have intended instead of a query.
    """
    indexes, is_nearest = _opened(options, may_build=meant is None)
    here: Path | None = None
    if is_nearest:
        (nearest,) = indexes.values()
        note_outer_index(nearest)
        here = None if options.all else folder_below(nearest, options.request)
    if meant:
        note(f"The arguments are searched as words. If you meant the command, run `cdesearch {meant}`.")
    result, service = _answer(options, indexes, here)
    request = options.request
    matches_no_file = request.has_filter and not result.hits and not service.has_file(request)
    if result.truncated_to is not None:
        note(f"The query is longer than {result.truncated_to} tokens, so the model reads only its start.")
    if result.stage != "complete" and request.mode != "text":
        note_stage(result.stage)
    if matches_no_file:
        roots = ", ".join(shown_source(index.root) for index in service.indexes.values())
        where = f" Patterns are relative to {roots}, or to the working directory." if request.path else ""
        note(printable(f"No indexed file matches {options.filters}.{where}"))
    if result.searched and options.format != "json":
        note(printable(shown_instead(result.searched)))
    if (exclusion := request.query.exclusion) and options.format != "json":
        note(printable(exclusion))
    kept = result.confident(request.min_confidence)
    if here is not None and not kept.seems_answered:
        _note_elsewhere(here, options, result, service)
    if options.format != "json" and result.hits:  # its field `answered` says the same
        _note_confidence(options, result, kept)
    is_explained = matches_no_file or (bool(result.hits) and not kept.hits)
    has_hits = _show(options, kept, service, is_explained=is_explained)
    keep_server(options, [index.place for index in indexes.values()])
    return DONE if has_hits else NO_HITS


def _opened(options: QueryOptions, *, may_build: bool) -> tuple[dict[str, Index], bool]:
    """The indexes of a query, and whether it is the nearest one upward.

    If none is named and none is nearer, those of the user's list are opened, or that of the working directory is made.
    """
    if options.index:
        return open_each(options.index), False
    try:
        return open_each((None,)), True
    except IndexNotFoundError as missing:
        if not options.yes and used_places():
            opened = open_used()
            names = printable(", ".join(opened))
            note(f"This folder has no index (`cdesearch index .` makes one). Those of your list are searched: {names}.")
            return opened, False
        if not may_build:
            raise
        from cdesearch.cli.first_index import build_first_index

        build_first_index(missing, yes=options.yes)
        return open_each((None,)), True


def folder_below(nearest: Index, request: SearchRequest) -> Path | None:
    """The working directory, if it is below the folder of the nearest index, and the request names no other path."""
    here = Path.cwd()
    is_named = request.path or request.query.path
    is_below = here not in (nearest.folder.parent, nearest.root) and here.is_relative_to(nearest.root)
    return here if is_below and not is_named else None


def _answer(
    options: QueryOptions, indexes: Mapping[str, Index], here: Path | None
) -> tuple[SearchResult, SearchService]:
    """The result of a query, with `here` that of the files in this folder alone, and what has answered it.

    Passages for a language model need the tokenizer, which a server does not hand out.
    """
    say = (lambda line: note(printable(line))) if options.update else None
    service = open_service(indexes, options.model, asks_server=options.format != "llm", say=say)
    request = options.request
    asked = request if here is None else replace(request, path=(str(here),))
    found = search_for_groups(service.search, asked) if options.is_grouped else service.search(asked.for_hits(asked.k))
    return found, service


def _note_elsewhere(here: Path, options: QueryOptions, result: SearchResult, service: SearchService) -> None:
    """Print on stderr if the whole index has hits, or better ones, than the folder that was searched."""
    whole = service.search(options.request.for_hits(1))
    if whole.seems_answered or (whole.hits and not result.hits):
        (index,) = service.indexes.values()
        folder, root = here.relative_to(index.root), shown_source(index.root)
        found = "has better hits" if result.hits else "has hits"
        note(printable(f"Only {folder}/ was searched. The rest of {root} {found}: add --all."))


def _note_confidence(options: QueryOptions, result: SearchResult, kept: SearchResult) -> None:
    """Print on stderr whether the hits seem to answer the query, and whether any hit is confident enough."""
    if result.unknown_name and options.format != "grep":
        note(no_text_contains(result.unknown_name))
    if not kept.hits:
        best = as_percentage(max(hit.confidence or 0.0 for hit in result.hits))
        note(f"No hit has a confidence of at least {options.request.min_confidence:.0%}. The highest is {best}.")
    elif not result.seems_answered and options.format != "grep":  # which prints lines with words of the query alone
        note("Nothing here seems to answer that; the nearest passages are:")


def _show(options: QueryOptions, result: SearchResult, service: SearchService, *, is_explained: bool) -> bool:
    """Print the hits, and return whether there are any. `is_explained`: a line on stderr has told why there are none.

    In the form of grep, a hit without a line that matches is none.
    """
    text = result.searched or options.request.text
    if options.request.lists == "document" and options.request.filter:  # the fields are what is asked for
        text = " ".join(condition.name for condition in conditions_of(options.request.filter))
    around = partial(service.around, count=options.context)
    shown = Shown(text, partial(root_of, service), options.full, options.context, around)
    if options.format == "json":
        roots = {name: shown_source(index.root) for name, index in service.indexes.items()}
        several = {"indexes": roots} if len(roots) > 1 else {}
        print_json(result_as_json(options.request.text, options.request.mode, result, shown.root_of) | several)
    elif options.format == "jsonl":
        for hit in result_as_json(options.request.text, options.request.mode, result, shown.root_of)["hits"]:
            print_json(hit)
    elif options.format == "llm" and result.hits:
        _show_passages(text, result, service)
    elif options.format == "grep":
        has_lines = show_grep_lines(shown, result.hits)
        if not has_lines and not is_explained:
            note(nothing_found(shown.query))
        return has_lines
    elif not is_explained:
        _show_groups(options, shown, result)
    return bool(result.hits)


def _show_groups(options: QueryOptions, shown: Shown, result: SearchResult) -> None:
    """Print the hits or open the best one, and remember their places if people see them."""
    groups = group_hits(result.hits, options.request.k) if options.is_grouped else [*map(HitGroup, result.hits)]
    every = len(groups)
    if options.is_for_people:
        groups = without_unlikely(groups)
    if groups and (options.open or options.is_for_people):
        from cdesearch.cli.hits.opening import open_place, remember

        places = [shown.place(group.best) for group in groups]
        remember(places)
        if options.open:
            open_place(places[0])
            return
    if not groups:
        note(nothing_found(shown.query))
    elif is_styled(sys.stdout):
        from cdesearch.cli.hits.terminal import show_styled  # imports rich, which takes longer than a search

        show_styled(shown, groups, has_pager=options.is_for_people and not options.no_pager)
    else:
        show_plain(shown, groups)
    if len(groups) < every:
        note(f"{every - len(groups)} more below {UNLIKELY:.0%} confidence.")
    if (result.total or 0) > every:
        note(f"{every} of {result.total} are listed: add -k {result.total} to list all.")


def _show_passages(query: str, result: SearchResult, service: SearchService) -> None:
    from cdesearch.cli.passage_text import ages_of, located, passages_as_text
    from cdesearch.cli.token_budget import DEFAULT_TOKENS, Answer, Budget
    from cdesearch.search.passages import Fence

    hits, fence, ages = result.hits, Fence(), ages_of(result.hits, service.indexes)
    answer = Budget(DEFAULT_TOKENS, service.tokenizer).of_hits(
        hits, query, lambda passages: Answer(passages_as_text(located(passages, hits, ages), fence) + "\n", {})
    )
    sys.stdout.write(answer.text)


def note_stage(stage: str) -> None:
    """Say on stderr how much of an index that is being built can be searched."""
    note(f"{stage} (`cdesearch index` adds the others, if it is not doing so now)")


def note_outer_index(nearest: Index) -> None:
    """Say on stderr if an index above the `nearest` one covers the working directory as well, and how to choose it."""
    outer = outer_index(Path.cwd(), nearest.folder)
    if outer is not None:
        chosen = f"--index {shlex.quote(str(outer.place))} chooses it."
        note(printable(f"{nearest.place} answers here. {outer.place} covers this folder as well: {chosen}"))
