"""The command `watch`."""

import signal
import time
from threading import Event
from typing import Annotated, Any

import typer

from cdesearch.cli.exits import raise_on_signal
from cdesearch.store.place import on_disk, parse_place


def watch(
    paths: Annotated[
        list[Any] | None,
        typer.Argument(
            metavar="paths",
            parser=parse_place,
            help="Folders and files, also in a bucket. Without any, the nearest index upward is watched.",
        ),
    ] = None,
    folder: Annotated[
        Any,
        typer.Option(
            "--index", metavar="<path>", parser=parse_place, help="Index folder; default: .cdesearch in the folder."
        ),
    ] = None,
) -> None:
    """Update an index whenever its files change, until Ctrl-C."""
    from cdesearch.progress import shown_on_stderr
    from cdesearch.slim_imports import prepare_libraries

    if folder is not None:
        on_disk(folder, "watch")
    raise_on_signal(signal.SIGTERM)
    prepare_libraries()
    from indexer.build import build
    from indexer.live.keep_up import keep_up, summary
    from indexer.settings import Options
    from indexer.warm import Warm

    tools = Warm()
    try:
        with shown_on_stderr() as progress:
            report = build(paths or [], Options(index=folder, wait=True), progress, tools)
        _say(summary(report))
        keep_up(report.folder, tools, _say, Event())
    finally:
        tools.close()


def _say(line: str) -> None:
    from cdesearch.terminal import printable

    typer.echo(printable(f"{time.strftime('%H:%M:%S')} {line}"), err=True)
