"""The command `serve`: start, announce and stop a server."""

import re
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cdesearch.cli.exits import raise_on_signal
from cdesearch.cli.named_index import IndexesArgument, ModelOption, named_index
from cdesearch.cli.query import note_outer_index
from cdesearch.errors import InputError
from cdesearch.models.endpoint_model import Model
from cdesearch.serve.lifecycle import announced, start_in_background, stop_kept, stop_server, where
from cdesearch.serve.settings import DEFAULT_PORT, ServeSettings, require_libraries, seconds_of
from cdesearch.slim_imports import prepare_libraries
from cdesearch.store.finding import opened_place
from cdesearch.store.index import Index
from cdesearch.store.place import Place, absolute, on_disk, parse_place
from cdesearch.store.server_address import make_runtime_folder, socket_of
from cdesearch.store.trust import require_own
from cdesearch.store.used import default_places
from cdesearch.terminal import printable

if TYPE_CHECKING:
    from cdesearch.serve.indexes import ServedIndexes

_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{16,}")  # the characters that RFC 6750 allows


def serve(
    context: typer.Context,
    indexes: IndexesArgument = None,
    index: Annotated[
        list[Any] | None,
        typer.Option(metavar="<path>", parser=parse_place, help="The same as INDEX, as in other commands; repeatable."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 selects a free one.")
    ] = DEFAULT_PORT,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="CDESEARCH_TOKEN", help="Secret that requests must contain; required unless --host is local."
        ),
    ] = None,
    socket: Annotated[
        Path | None, typer.Option(help="Unix socket to listen on. Default: the one that other commands look for.")
    ] = None,
    socket_only: Annotated[
        bool, typer.Option("--socket-only", help="Listen on no port, so that only your own commands can connect.")
    ] = False,
    model: ModelOption = None,
    watch: Annotated[
        bool | None,
        typer.Option(
            "--watch/--no-watch",
            help="Update an index whenever its files change. Default: every index that a query would update.",
        ),
    ] = None,
    background: Annotated[bool, typer.Option("--background", help="Run the server in the background.")] = False,
    idle_exit: Annotated[
        str | None, typer.Option(metavar="TIME", help="Stop after this time without a request, such as 30m.")
    ] = None,
    stop: Annotated[bool, typer.Option("--stop", help="Stop the server of the index.")] = False,
) -> None:
    """Answer searches over HTTP and on a web page until Ctrl-C. Models stay loaded, and updates are picked up."""
    require_libraries()
    folders = _named(context, indexes or [], index or [])
    if stop:
        for folder in folders:
            typer.echo(stop_server(absolute(opened_place(folder))))
        return
    limit = None if idle_exit is None else seconds_of(idle_exit)
    chosen = None if socket_only else port
    settings = ServeSettings(host=host, port=chosen, token=token or None, watch=watch, idle_seconds=limit)
    _check(settings)
    for found in [absolute(opened_place(folder)) for folder in folders if watch]:
        require_own(on_disk(found, "serve --watch"))
    if folders == [None]:
        note_outer_index(Index.open())
    if not socket_only:
        stop_kept([Index.open(folder).place for folder in folders])
    if background:
        options = {"--socket": socket, "--model": model, "--idle-exit": idle_exit}
        typer.echo(_start(folders, settings, {name: str(value) for name, value in options.items() if value}))
    else:
        _serve(folders, settings, socket, model)


def _named(context: typer.Context, arguments: list[Place], options: list[Place]) -> Sequence[Place | None]:
    """The indexes that the command line names, or else those of --index in a configuration file, or else the default.

    Raises InputError if the command line names some as arguments and others with --index.
    """
    if not arguments:
        return options or default_places()
    source = context.get_parameter_source("index") if options else None
    if source is not None and source.name == "COMMANDLINE":
        raise InputError("Indexes are named both with and without --index.", "Name all of them in one way.")
    return [named_index(folder, None) for folder in arguments]


def _serve(folders: Sequence[Place | None], settings: ServeSettings, socket: Path | None, model: Model | None) -> None:
    """Serve the indexes of `folders` in this process until a signal or the time limit without requests stops it."""
    prepare_libraries()
    from cdesearch.serve.app import create_app
    from cdesearch.serve.indexes import ServedIndexes
    from cdesearch.serve.server import listening, run

    raise_on_signal(signal.SIGTERM)
    with (
        ServedIndexes.open(folders, model=model) as opened,
        listening(settings.host, settings.port, _socket_paths(socket, opened)) as sockets,
    ):
        names, host = printable(", ".join(opened.names)), settings.host
        address = ""
        if settings.port is not None:
            address = f"http://{f'[{host}]' if ':' in host else host}:{sockets[0].getsockname()[1]}/"
        typer.echo(f"Serving {names} {where(address)}. Ctrl-C stops the server.", err=True)
        with announced(opened, address, socket, settings.token):
            run(create_app(opened, settings), settings, sockets)


def _start(folders: Sequence[Place | None], settings: ServeSettings, options: Mapping[str, str]) -> str:
    """Start this command in the background, and return a line with the address of the server."""
    found = [Index.open(folder).place for folder in folders]
    arguments = [f"{name}={value}" for name, value in {"--host": settings.host, **options}.items()]
    arguments.append("--socket-only" if settings.port is None else f"--port={settings.port}")
    if settings.watch is not None:
        arguments.append("--watch" if settings.watch else "--no-watch")
    return start_in_background(found, [*arguments, "--", *map(str, found)], settings.token)


def _check(settings: ServeSettings) -> None:
    if not settings.is_loopback and settings.token is None:
        raise InputError(
            f"Other computers can connect to {settings.host}, and no token protects the index.",
            "Set a secret with --token, or omit --host.",
        )
    if settings.token is not None and not _TOKEN.fullmatch(settings.token):
        raise InputError(
            "The token is too short, or contains characters that cannot be sent.",
            "Use at least 16 letters and digits, without spaces.",
        )


def _socket_paths(named: Path | None, indexes: "ServedIndexes") -> list[Path]:
    """The Unix sockets to listen on: the named one, or for each index the one that other commands look for."""
    if named is not None:
        return [named]
    if sys.platform == "win32":
        return []
    make_runtime_folder()
    return [socket_of(served.index.place) for served in indexes]
