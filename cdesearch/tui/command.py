"""The command `tui`: search while you type, with a preview of the hits."""

import importlib.util
import sys

import typer

from cdesearch.cli.named_index import FolderArgument, IndexOption, ModelOption, named_index
from cdesearch.errors import InputError, extra_remedy
from cdesearch.slim_imports import shorten_cold_start


def tui(folder: FolderArgument = None, index: IndexOption = None, model: ModelOption = None) -> None:
    """Search on the whole terminal while you type."""
    if importlib.util.find_spec("textual") is None:
        raise InputError("textual is not installed.", extra_remedy("tui"))
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InputError("`cdesearch tui` needs a terminal.", "Use `cdesearch query WORDS` in a pipe.")
    from cdesearch.store.index import Index

    opened = Index.open(named_index(folder, index))
    shorten_cold_start()
    from cdesearch.search.searcher import Searcher
    from cdesearch.tui.app import SearchApp

    with Searcher(opened, model=model) as searcher:
        app = SearchApp(searcher)
        app.run()
    raise typer.Exit(app.return_code or 0)
