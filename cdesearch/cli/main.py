"""The command line: the commands of this package, and those that other packages register."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cdesearch import __version__
from cdesearch.cli.ask import ask
from cdesearch.cli.command_names import (
    ABOUT,
    COMPLETING,
    command_names,
    meant_command,
    registered_commands,
    with_command,
)
from cdesearch.cli.completion import complete_queries, completion
from cdesearch.cli.configured import with_configuration
from cdesearch.cli.evaluate import evaluate
from cdesearch.cli.hits.open_hit import open_hit
from cdesearch.cli.model_option import ModelOption
from cdesearch.cli.models import models
from cdesearch.cli.named_index import INDEX_HELP, FolderArgument, IndexOption, check_one_index, named_index
from cdesearch.cli.nearest_index import note_outer_index
from cdesearch.cli.pager import NoPagerOption, paged
from cdesearch.cli.probability import parse_probability
from cdesearch.cli.query_options import MAX_CONTEXT, Format, QueryOptions
from cdesearch.cli.trust import trust
from cdesearch.cli.usage import UsageError, check_not_empty, usage_error
from cdesearch.errors import IndexNotFoundError, InputError
from cdesearch.search.file_filter import TYPES
from cdesearch.slim_imports import shorten_cold_start
from cdesearch.store.bucket_address import parse_place
from cdesearch.terminal import print_json, printable

EXIT_CODES = (
    "Exit codes: 0 success, 1 no hits, 2 invalid input or an unusable index, 3 files skipped under --strict,"
    " 70 a defect of cdesearch, 130 stopped by Ctrl-C, 143 stopped by SIGTERM."
)
app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog=EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"]},  # commands inherit them
)


@app.callback(invoke_without_command=True)
def _about(version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False) -> None:
    """Search with embeddings that depend on the whole corpus. `cdesearch "words"` is short for `cdesearch query`."""
    if version:
        typer.echo(__version__)
        raise typer.Exit


@app.command()
def query(
    context: typer.Context,
    words: Annotated[list[str], typer.Argument(help="What to search for.")],
    k: Annotated[
        int | None,
        typer.Option("-k", min=1, help="Number of hits. Default: 5 on a terminal, otherwise 10.", show_default=False),
    ] = None,
    mode: Annotated[Literal["hybrid", "rerank", "dense", "text"], typer.Option(help="Ranking method.")] = "hybrid",
    rerank: Annotated[
        bool,
        typer.Option(
            "--rerank", help="Compare the best hits with the query word by word. Slower. The same as --mode rerank."
        ),
    ] = False,
    path: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB",
            help="Search only files that match this glob, such as 'docs/**/*.{md,rst}'. It may be relative to the"
            " indexed folder (as in --json), relative to the working directory (as in hits), or absolute. Repeat it to"
            " allow several.",
        ),
    ] = None,
    type: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Search only files of this type, such as py, md or pdf. Repeat it to allow several.",
            autocompletion=lambda incomplete: [name for name in TYPES if name.startswith(incomplete)],
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Search only files that were modified since then: 12h, 7d or 2w ago, or a date."
        ),
    ] = None,
    min_confidence: Annotated[
        float,
        typer.Option(
            parser=parse_probability,
            metavar="P",
            help="Leave out hits whose confidence, the probability that they are relevant, is less than P, such as 0.3"
            " or 30%.",
            show_default=False,
        ),
    ] = 0.0,
    index: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="<path>", parser=parse_place, help=f"{INDEX_HELP} Repeat it to search several indexes as one."
        ),
    ] = None,
    model: ModelOption = None,
    full: Annotated[bool, typer.Option("--full", help="Show whole chunks.")] = False,
    lines: Annotated[int, typer.Option("-C", min=0, max=MAX_CONTEXT, help="Lines of context around each passage.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    format: Annotated[
        Format | None,
        typer.Option(
            help="json is the same as --json. jsonl prints one JSON object for each hit. grep prints path:line:text,"
            " with line 1 if the format has no lines. llm prints compact passages for a language model.  [default:"
            " text]",
            show_default=False,
        ),
    ] = None,
    group: Annotated[
        bool | None,
        typer.Option(
            "--group/--no-group", help="Group the hits of one file. Default: only on a terminal.", show_default=False
        ),
    ] = None,
    no_pager: NoPagerOption = False,
    opens: Annotated[
        bool, typer.Option("--open", help="Open the best hit, as `cdesearch open` does, instead of printing hits.")
    ] = False,
    update: Annotated[
        bool, typer.Option("--update", help="Bring the index up to date first if that takes less than a second.")
    ] = False,
) -> None:
    """Search the index."""
    from cdesearch.cli.query import run_query

    if as_json and format not in (None, "json"):
        raise InputError(f"Both --json and --format {format} are given.", "Use only one of them.")
    options = QueryOptions(
        " ".join(words),
        k,
        "rerank" if rerank else mode,
        tuple(path or ()),
        tuple(type or ()),
        since,
        tuple(index or ()),
        model,
        full,
        lines,
        "json" if as_json else format or "text",
        group,
        not no_pager,
        opens,
        update,
        min_confidence,
    )
    code = run_query(options, context.obj)  # the object is the command whose name resembles the first word, or None
    if code:
        raise typer.Exit(code)


@app.command()
def status(
    folder: FolderArgument = None,
    index: IndexOption = None,
    files: Annotated[bool, typer.Option("--files", help="List every file that was found, with its outcome.")] = False,
    skipped: Annotated[
        bool, typer.Option("--skipped", help="List only the files that could not be read, or only in part.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    no_pager: NoPagerOption = False,
) -> None:
    """Show what is indexed and what has changed. The output also names the model and the context."""
    from cdesearch.store.fresh_build import still_answering
    from cdesearch.store.index import Index, read_newest

    opened = Index.open(named_index(folder, index))
    if folder is None and index is None:
        note_outer_index(opened)
    shorten_cold_start()
    from cdesearch.cli.status import read_status, show_files, show_status

    if files or skipped:
        with paged(has_pager=not (no_pager or as_json)):
            read_newest(opened, lambda newest: show_files(newest, only_skipped=skipped, as_json=as_json))
        return
    report = read_newest(opened, read_status)
    if as_json:
        print_json(report)
        return
    missing = report.pop("missing_sources")
    show_status(report)
    sources = opened.sources
    for source in opened.missing_sources if missing else ():
        typer.echo(printable(still_answering(source, sources, opened.folder, opened.manifest)), err=True)


app.command("models")(models)
app.command("ask")(ask)
app.command("eval")(evaluate)
app.command("trust")(trust)
app.command("open")(open_hit)
app.command("completion")(completion)


def run() -> int | None:
    """Run the command that the arguments of the process name, and return its exit code. Raises CdesearchError."""
    if COMPLETING in os.environ:
        import typer.completion

        functions: Any = typer.completion  # its type information leaves this function out
        functions.completion_init()
        complete_queries(command_names())
    commands = _add_commands()
    arguments = with_command(sys.argv[1:], commands)
    if arguments[:1] in (["index"], ["mine"]):
        check_not_empty(arguments)
    check_one_index(app, arguments)
    meant = meant_command(sys.argv[1:], commands)
    arguments, defaults = with_configuration(app, arguments)
    parsed = arguments or ["--help"]
    try:
        code: int | None = app(
            parsed, prog_name="cdesearch", standalone_mode=False, obj=meant, default_map=defaults or None
        )
    except UsageError as error:
        if meant:
            raise _not_a_command(meant) from None
        if all(argument.startswith("-") for argument in sys.argv[1:]):  # there are no words, so it was not a query
            error.ctx = None
        raise usage_error(error, "" if sys.argv[1].startswith("-") else arguments[0]) from None
    except IndexNotFoundError as error:
        if meant:
            raise _not_a_command(meant, f"A query needs an index. {error}") from None
        raise
    return code


def _not_a_command(meant: str, remedy: str = "") -> InputError:
    remedy = remedy or "To search with options, use `cdesearch query WORDS` (see `cdesearch query --help`)."
    return InputError(f"{sys.argv[1]} is not a command. Did you mean `cdesearch {meant}`?", remedy)


def _add_commands() -> set[str]:
    """Register the commands of other packages, and return the names of all commands.

    A package is imported only if its command is named, or if no command is named and the help may list all of them.
    """
    names = command_names()
    typed = next((word for word in sys.argv[1:] if not word.startswith("-") and word != "help"), None)
    if typed not in names and sys.argv[1:2] and sys.argv[1] in ABOUT:
        typed = None
    for entry in registered_commands():
        if typed is None or typed == entry.name:
            function: Any = entry.load()
            app.command(entry.name)(function)
    return names
