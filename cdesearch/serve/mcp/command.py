"""The command `mcp`: an MCP server on stdin and stdout."""

import os
import signal
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from cdesearch.cli.exits import INTERRUPTED
from cdesearch.cli.named_index import IndexesArgument, UpdateOption, named_index
from cdesearch.errors import CdesearchError, IndexNotFoundError
from cdesearch.serve.settings import ServeSettings, require_libraries
from cdesearch.slim_imports import shorten_cold_start
from cdesearch.store.place import BucketAddress, Place
from cdesearch.store.used import default_places

if TYPE_CHECKING:
    from cdesearch.serve.indexes import ServedIndexes


def mcp(indexes: IndexesArgument = None, update: UpdateOption = True) -> None:
    """Answer agents over MCP on stdin and stdout. The client of the agent starts this server."""
    require_libraries()
    shorten_cold_start()
    import anyio

    from cdesearch.serve.indexes import ServedIndexes

    def named() -> list[Place | None]:
        return [named_index(folder, None) for folder in indexes or ()] or default_places()

    try:
        served = ServedIndexes.open(named(), warm=False, takes_changes=update)
    except IndexNotFoundError:
        if not all(isinstance(folder, BucketAddress) or folder.exists() for folder in indexes or ()):
            raise
        # Every tool tells the agent which command makes the index.
        served = ServedIndexes([], named, takes_changes=update)
    with served as opened:
        # A thread blocks while it reads a line of stdin, and cannot be stopped in any other way.
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
        try:
            anyio.run(_serve, opened)
        except* BrokenPipeError:  # the client has ended without closing stdin first
            pass


async def _serve(opened: "ServedIndexes") -> None:
    """Answer requests until the client closes stdin. Only the protocol uses stdout; all other output goes to stderr."""
    from cdesearch.serve.admission import Admission
    from cdesearch.serve.mcp.server import create_server

    settings = ServeSettings()
    admission = Admission(settings.running, settings.waiting, settings.search_seconds)
    warming = threading.Thread(target=_warm, args=(opened,), name="cdesearch-warm")
    warming.start()
    try:
        await create_server(opened, admission).run_stdio_async()
    finally:
        admission.close()
        warming.join()  # a thread that loads a model while the interpreter ends would abort the process


def _warm(opened: "ServedIndexes") -> None:
    """Load the models while the client asks for the capabilities of the server."""
    for served in opened:
        with suppress(CdesearchError):  # the first search reports the error
            served.searcher.warm()
