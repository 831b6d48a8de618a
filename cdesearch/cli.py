"""The command line: `query`, `status`, `models`, and the commands that other packages bring."""

import os
import shlex
import sys
import time
from difflib import get_close_matches
from importlib.metadata import entry_points
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cdesearch import __version__
from cdesearch.cold_start import shorten_cold_start
from cdesearch.errors import InputError
from cdesearch.exits import NO_HITS, run_and_exit
from cdesearch.terminal import print_json, print_rows, print_text, printable
from cdesearch.trust_command import trust

MEANT = {"help": "--help", "search": "query"}  # what other programs call these
IndexOption = Annotated[Path | None, typer.Option("--index", help="Index folder; default: the nearest one upward.")]

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def _about(version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False) -> None:
    """Search whose embeddings know the corpus they live in. `cdesearch "words"` is short for `cdesearch query`."""
    if version:
        typer.echo(__version__)
        raise typer.Exit


@app.command()
def query(
    words: Annotated[list[str], typer.Argument(help="What you are looking for.")],
    k: Annotated[int, typer.Option("-k", min=1, help="How many hits.")] = 10,
    mode: Annotated[Literal["hybrid", "dense", "text"], typer.Option(help="What ranks.")] = "hybrid",
    path: Annotated[str | None, typer.Option(help="Only files that this glob matches.")] = None,
    index: IndexOption = None,
    model: Annotated[
        Path | None, typer.Option(help="The model that built the index, where an index from elsewhere names another.")
    ] = None,
    context_off: Annotated[
        bool, typer.Option("--context-off", help="Encode the query without context, to compare.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Show whole chunks.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Answer a question from the index."""
    from cdesearch.index import Index

    text = " ".join(words)
    opened = Index.open(index)
    shorten_cold_start(opened.manifest.model)
    from cdesearch.search import Searcher

    searcher = Searcher(opened, model=model)
    started = time.perf_counter()
    hits = searcher.search(text, k, mode, path, not context_off)
    seconds = time.perf_counter() - started
    if mode != "text" and searcher.is_cut(text):
        typer.echo(
            f"The query is longer than {searcher.encoder.max_tokens} tokens: the model reads its start.", err=True
        )
    if as_json:
        from cdesearch.render import hits_as_json

        print_json(hits_as_json(text, mode, seconds, hits))
    else:
        from cdesearch.render import show_hits

        show_hits(text, hits, searcher.index.root, full=full)
    if not hits:
        raise typer.Exit(NO_HITS)


@app.command()
def status(
    index: IndexOption = None,
    files: Annotated[
        bool, typer.Option("--files", help="List every file that was seen, and what became of it.")
    ] = False,
    skipped: Annotated[bool, typer.Option("--skipped", help="Only those that should have been read.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Say what is indexed and what has changed. Also: with which model and context."""
    from cdesearch.index import Index

    opened = Index.open(index)
    shorten_cold_start(opened.manifest.model)
    from cdesearch.status import read_status, show_files

    if files or skipped:
        show_files(opened, only_skipped=skipped, as_json=as_json)
        return
    report = read_status(opened)
    if as_json:
        print_json(report)
        return
    missing = report.pop("missing_sources")
    print_rows([(name.replace("_", " "), printable(str(value))) for name, value in report.items()])
    for source in missing:
        typer.echo(
            printable(
                f"{source} was indexed and is no longer there. Put it back, or name what to index in its place:"
                f" `cdesearch index --rebuild PATH --index {shlex.quote(str(opened.folder))}`."
            ),
            err=True,
        )


@app.command()
def models() -> None:
    """List models that are here or can be had."""
    from cdesearch.shelf import read_shelf

    print_rows([(row.where, row.name, row.what, f"{row.size:>7}") for row in read_shelf()])
    print_text(
        "\n`cdesearch index DOCS --model NAME` uses one, and fetches it where it is not here. NAME may be a checkpoint"
        " folder, or any sentence-transformers model on BERT, NomicBERT or ModernBERT. Licences: huggingface.co/NAME."
    )


app.command("trust")(trust)


def main() -> None:
    """Run the command line and end the process."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the caller: the next file to be opened would take its place
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 (open to the end)
    # A name or a text that stdout's encoding lacks is shown as an escape instead of ending the process.
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    run_and_exit(_run)


def _run() -> int | None:
    arguments = _with_query(sys.argv[1:], _add_commands())
    if arguments[:1] == ["index"] and "" in arguments:  # as a path it would mean the working directory
        raise InputError("An argument is empty.", "Name a folder or file; the working directory is `.`.")
    code: int | None = app(arguments or ["--help"], prog_name="cdesearch", standalone_mode=False)
    return code


def _add_commands() -> set[str]:
    """Register the commands of the entry-point group; a command's module is imported only when it may be needed."""
    names = {"query", "status", "models", "trust"}
    typed = next((word for word in sys.argv[1:] if not word.startswith("-")), None)
    for entry in entry_points(group="cdesearch.commands"):
        names.add(entry.name)
        if typed is None or typed == entry.name:
            function: Any = entry.load()
            app.command(entry.name)(function)
    return names


def _with_query(arguments: list[str], commands: set[str]) -> list[str]:
    """`cdesearch words ...` means `cdesearch query words ...`, also where its options come first."""
    if not arguments or arguments[0] in {"--help", "--version"} or arguments[0] in commands:
        return arguments
    if arguments[0].startswith("-"):
        return arguments if commands.intersection(arguments) else ["query", *arguments]
    meant = MEANT.get(arguments[0]) or next(iter(get_close_matches(arguments[0], commands, n=1, cutoff=0.7)), None)
    if meant:
        typer.echo(f"Searching for these words. If you meant the command, run `cdesearch {meant}`.", err=True)
    return ["query", *arguments]
