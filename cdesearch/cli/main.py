"""The command line: the commands of this package, and those that other packages register."""

import os
import sys
from inspect import Parameter
from typing import Annotated, Any, Literal

import typer

from cdesearch import __version__
from cdesearch.cli.agents.command import install_agent
from cdesearch.cli.ask import ask
from cdesearch.cli.command_names import (
    ABOUT,
    COMPLETING,
    command_names,
    meant_command,
    registered_commands,
    with_command,
)
from cdesearch.cli.configured import with_configuration
from cdesearch.cli.evaluate import evaluate
from cdesearch.cli.indexes import indexes
from cdesearch.cli.models import models
from cdesearch.cli.named_index import FolderArgument, IndexOption, check_one_index, named_index
from cdesearch.cli.pager import NoPagerOption, paged
from cdesearch.cli.query import note_outer_index
from cdesearch.cli.query_options import QueryOptions
from cdesearch.cli.trust import trust
from cdesearch.cli.usage import UsageError, check_not_empty, parse_probability, usage_error
from cdesearch.errors import IndexNotFoundError, InputError
from cdesearch.models.endpoint_model import parse_model
from cdesearch.search.file_filter import OTHER_NAMES, TYPES
from cdesearch.search.options import OPTIONS, Option, with_options
from cdesearch.slim_imports import shorten_cold_start
from cdesearch.store.place import parse_place
from cdesearch.terminal import print_json, printable

EXIT_CODES = (
    "Exit codes: 0 success, 1 no hits, 2 invalid input or an unusable index, 3 files skipped under --strict,"
    " 70 a defect of cdesearch, 130 stopped by Ctrl-C, 141 the output pipe is closed, 143 stopped by SIGTERM."
)
WORDS = (
    'What to search for: words, "quoted phrases", -word and -"a phrase" (in no hit), path:GLOB and type:NAME (also with'
    " a hyphen before them), all in one argument. Without words, a query lists the files that pass its filters."
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
    """Search your own files by meaning and by words. `cdesearch "words"` is short for `cdesearch query`."""
    if version:
        typer.echo(__version__)
        raise typer.Exit


def query(
    called: typer.Context, words: Annotated[list[str] | None, typer.Argument(help=WORDS)] = None, **given: Any
) -> None:
    """Search the index."""
    from cdesearch.cli.query import run_query

    # The object is the command whose name resembles the first word, or None.
    code = run_query(QueryOptions.of(" ".join(words or ()), given), called.obj)
    if code:
        raise typer.Exit(code)


def _parameter(option: Option) -> Parameter:
    types = {"number": int, "share": float, "text": str, "choice": Literal[option.choices], "flag": bool}
    parsers = {"share": parse_probability, "place": parse_place, "model": parse_model}
    kind: Any = types.get(option.kind, Any)
    default = False if option.kind == "flag" and len(option.names) == 1 else option.default
    described = typer.Option(
        option.flags,
        help=f"{option.help} {option.more}".rstrip(),
        min=option.least,
        max=option.most,
        metavar=option.metavar,
        parser=parsers.get(option.kind),
        show_default=option.default is not None and option.kind != "share",
        autocompletion=_complete_type if option.field == "type" else None,
    )
    kind = list[kind] | None if option.is_repeated else kind | None if default is None and kind is not Any else kind
    return Parameter(option.field, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, described])


def _complete_type(incomplete: str) -> list[str]:
    return [name for name in (*TYPES, *OTHER_NAMES) if name.startswith(incomplete)]


app.command("query")(with_options(query, map(_parameter, OPTIONS)))


@app.command()
def status(
    folder: FolderArgument = None,
    index: IndexOption = None,
    files: Annotated[bool, typer.Option("--files", help="List every file that was found, with its outcome.")] = False,
    skipped: Annotated[
        bool, typer.Option("--skipped", help="List only the files that could not be read, or only in part.")
    ] = False,
    fields: Annotated[
        bool, typer.Option("--fields", help="List the fields for --filter, with examples of their values.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    no_pager: NoPagerOption = False,
) -> None:
    """Show what is indexed and what has changed. The output also names the model and the context."""
    from cdesearch.store.index import Index, read_newest
    from cdesearch.store.layout import still_answering

    opened = Index.open(named_index(folder, index))
    if folder is None and index is None:
        note_outer_index(opened)
    shorten_cold_start()
    from cdesearch.cli.status import read_status, show_fields, show_files, show_status

    if fields:
        read_newest(opened, lambda newest: show_fields(newest, as_json=as_json))
        return
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
        typer.echo(printable(still_answering(source, sources, opened.place)), err=True)


app.command("models")(models)
app.command("ask")(ask)
app.command("eval")(evaluate)
app.command("trust")(trust)
app.command("indexes")(indexes)
app.command("install-agent")(install_agent)


@app.command("open")
def open_hit(number: Annotated[int, typer.Argument(metavar="N", min=1, help="The number of the hit.")] = 1) -> None:
    """Open a hit of the last query in your editor.

    The last query is the one whose hits a terminal has shown last. The editor is $VISUAL or $EDITOR. PDF, HTML and
    office files are opened with the program of the system.
    """
    from cdesearch.cli.hits.opening import open_place, remembered

    open_place(remembered(number))


@app.command()
def completion(
    shell: Annotated[Literal["bash", "zsh", "fish", "powershell"], typer.Argument(help="The shell.")],
) -> None:
    """Print a script for the completion of commands.

    bash and zsh: add the line `eval "$(cdesearch completion bash)"` (or zsh) to ~/.bashrc or ~/.zshrc.
    fish: run `cdesearch completion fish > ~/.config/fish/completions/cdesearch.fish`.
    """
    import typer.completion

    functions: Any = typer.completion  # its type information leaves these functions out
    script = functions.get_completion_script(prog_name="cdesearch", complete_var=COMPLETING, shell=shell)
    sys.stdout.write(f"{script}\n")


def run() -> int | None:
    """Run the command that the arguments of the process name, and return its exit code. Raises CdesearchError."""
    if COMPLETING in os.environ:
        import typer.completion

        functions: Any = typer.completion  # its type information leaves this function out
        functions.completion_init()
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
