"""The command `ask`: answer a question with citations, by quotations or by a language model."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cdesearch.cli.named_index import IndexOption, UpdateOption
from cdesearch.cli.query import folder_below, note_outer_index, note_stage
from cdesearch.errors import IndexNotFoundError, LanguageModelError
from cdesearch.fresh import Check
from cdesearch.search.options import FLAGS
from cdesearch.slim_imports import shorten_cold_start
from cdesearch.terminal import counted, print_json, printable

if TYPE_CHECKING:
    from cdesearch.answer.answer import Answer
    from cdesearch.answer.endpoint import Endpoint
    from cdesearch.search.passages import Passage
    from cdesearch.store.index import Index
    from cdesearch.store.place import Place

NO_ANSWER = 1  # the exit code if nothing answers the question


def ask(
    question: Annotated[list[str], typer.Argument(help="The question.")],
    k: Annotated[int, typer.Option("-k", min=1, help="Maximum number of hits from which passages are made.")] = 20,
    tokens: Annotated[int, typer.Option(min=50, help="Maximum number of tokens of all passages together.")] = 1500,
    index: IndexOption = None,
    update: UpdateOption = True,
    path: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Use only files that match this glob, as in `query`.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help=FLAGS["--all"].help)] = False,
    yes: Annotated[bool, typer.Option("--yes", help=FLAGS["--yes"].help)] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    llm: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="CDESEARCH_LLM_URL",
            show_envvar=False,
            help="Let a language model write the answer. URL is the address of an OpenAI-compatible server, such as"
            " http://127.0.0.1:11434/v1. Default: $CDESEARCH_LLM_URL. The key, if any, is read from"
            " $CDESEARCH_LLM_KEY.",
        ),
    ] = None,
    llm_model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            envvar="CDESEARCH_LLM_MODEL",
            show_envvar=False,
            help="Name of the model on this server. Default: $CDESEARCH_LLM_MODEL.",
        ),
    ] = None,
) -> None:
    """Answer a question with citations."""
    from cdesearch.answer.endpoint import chosen_endpoint
    from cdesearch.search.request import SearchRequest

    started = time.perf_counter()
    text = " ".join(question)
    endpoint = chosen_endpoint(llm, llm_model)
    opened = _opened(index, yes=yes)
    here: tuple[str, ...] = ()
    if index is None:
        note_outer_index(opened)
        below = None if every or path else folder_below(opened, SearchRequest(text))
        here = () if below is None else (str(below),)
    check = Check()
    if update:
        check.begin(opened)
    shorten_cold_start()
    from cdesearch.cli.answers import AnswerPrinter, answer_as_json, found_answer
    from cdesearch.search.searcher import Searcher

    searcher = Searcher(opened)
    if update:
        searcher.warm()  # while the files are checked
        if line := check.end(searcher):
            typer.echo(printable(line), err=True)
    asked = SearchRequest(text, k, path=tuple(path or here), is_typed=True)
    passages, answer = found_answer(searcher, asked, tokens, is_written=endpoint is not None)
    if not searcher.index.manifest.is_complete:
        note_stage(searcher.index.manifest.stage)
    printer = None if as_json else AnswerPrinter(searcher.index.root)
    failure: LanguageModelError | None = None
    if answer is None and endpoint is not None:
        answer, failure = _written(text, passages, endpoint, printer.write if printer else None)
    elif answer is not None and printer:
        printer.quote(answer)
    assert answer is not None  # without an endpoint, it is quoted
    if printer:
        printer.end(answer, has_failed=failure is not None)
    else:
        print_json(answer_as_json(text, answer, failure, time.perf_counter() - started))
    if failure:
        raise failure
    if not answer.is_answered:
        if here:
            typer.echo(printable(f"Only {here[0]} was searched: --all asks the whole index."), err=True)
        raise typer.Exit(NO_ANSWER)


def _opened(index: "Place | None", *, yes: bool) -> "Index":
    """The index that is named, or the nearest one upward. Without one, that of the working directory is made."""
    from cdesearch.store.index import Index
    from cdesearch.store.used import used_places

    try:
        return Index.open(index)
    except IndexNotFoundError as missing:
        if index is not None or (used_places() and not yes):
            raise
        from cdesearch.cli.first_index import build_first_index

        build_first_index(missing, yes=yes, is_whole=True)
        return Index.open()


def _written(
    question: str, passages: "Sequence[Passage]", endpoint: "Endpoint", write: Callable[[str], None] | None
) -> "tuple[Answer, LanguageModelError | None]":
    """The answer of a language model, whose pieces `write` prints, and the error if it failed before the end."""
    from cdesearch.answer.answer import WrittenAnswer

    if not endpoint.is_local:
        sent = f"The question and {counted(len(passages), 'passage')} of your documents are sent to {endpoint.server}"
        typer.echo(sent + ("." if endpoint.is_https else ", without encryption."), err=True)
    written = WrittenAnswer(question, passages, endpoint)
    try:
        for piece in written:
            if write:
                write(piece)
    except LanguageModelError as error:
        return written.answer, error
    return written.answer, None
