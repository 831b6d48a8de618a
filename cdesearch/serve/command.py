"""The command `serve`."""

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cdesearch.cli.named_index import named_index
from cdesearch.errors import InputError
from cdesearch.serve.settings import DEFAULT_PORT, ServeSettings
from cdesearch.slim_imports import leave_out_rest_client
from cdesearch.store.server_address import make_runtime_folder, socket_of
from cdesearch.terminal import printable

if TYPE_CHECKING:
    from cdesearch.serve.indexes import ServedIndexes

LIBRARIES = ("fastapi", "uvicorn", "prometheus_client", "mcp")


def serve(
    indexes: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[INDEX]...", help="Folders of indexes; default: the nearest index upward."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 takes a free one.")] = DEFAULT_PORT,
    token: Annotated[
        str | None,
        typer.Option(envvar="CDESEARCH_TOKEN", help="Secret that requests must show. Other computers need one."),
    ] = None,
    socket: Annotated[Path | None, typer.Option(help="Unix socket to listen on; default: where commands look.")] = None,
    model: Annotated[
        Path | None, typer.Option(help="The model that built the indexes, if it is not the one that ships.")
    ] = None,
) -> None:
    """Answer searches over HTTP until Ctrl-C, with a web page. Models stay loaded, and updates are picked up."""
    require_libraries()
    settings = ServeSettings(host=host, port=port, token=token or None)
    _check(settings)
    leave_out_rest_client()
    from cdesearch.serve.app import create_app
    from cdesearch.serve.indexes import ServedIndexes
    from cdesearch.serve.listening import Listeners, run

    folders = [named_index(folder, None) for folder in indexes] if indexes else [None]
    with (
        ServedIndexes.open(folders, model=model) as opened,
        Listeners(host, port, _socket_paths(socket, opened)) as listeners,
    ):
        names = printable(", ".join(opened.names))
        typer.echo(f"Serving {names} at {_address(host, listeners.port)}. Ctrl-C stops the server.", err=True)
        run(create_app(opened, settings), settings, listeners)


def require_libraries() -> None:
    """Raise InputError if the extra `serve` is not installed."""
    missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"{missing[0]} is not installed.", "Run `pip install 'cdesearch[serve]'`.")


def _check(settings: ServeSettings) -> None:
    if not settings.is_loopback and settings.token is None:
        raise InputError(
            f"Other computers can connect to {settings.host}, and no token protects the index.",
            "Choose a secret with --token, or leave out --host.",
        )


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _socket_paths(named: Path | None, indexes: "ServedIndexes") -> list[Path]:
    """The Unix sockets to listen on: the one that is named, or the one at which commands look for each index."""
    if named is not None:
        return [named]
    if sys.platform == "win32":
        return []
    make_runtime_folder()
    return [socket_of(served.index.folder) for served in indexes]
