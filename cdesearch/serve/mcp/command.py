"""The command `mcp`: an MCP server on stdin and stdout."""

import os
import signal
import threading
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from cdesearch.cli.exits import INTERRUPTED
from cdesearch.cli.named_index import IndexesArgument, UpdateOption, named_index
from cdesearch.errors import BusyError, CdesearchError, IndexNotFoundError
from cdesearch.serve.settings import ServeSettings
from cdesearch.slim_imports import shorten_cold_start
from cdesearch.store.finding import find_index
from cdesearch.store.place import BucketAddress, Place
from cdesearch.store.used import default_places, used_places

if TYPE_CHECKING:
    from cdesearch.serve.indexes import ServedIndexes

BUILD_SECONDS = 10.0  # for which a call waits for the first index; clients give up after a minute or less


def mcp(indexes: IndexesArgument = None, update: UpdateOption = True) -> None:
    """Answer agents over MCP on stdin and stdout. The client of the agent starts this server."""
    shorten_cold_start()
    import anyio

    from cdesearch.serve.indexes import ServedIndexes

    def named() -> list[Place | None]:
        return [named_index(folder, None) for folder in indexes or ()] or default_places()

    first = _FirstBuild()

    def made() -> list[Place | None]:
        if update and not indexes:
            first.wait()
        return named()

    try:
        served = ServedIndexes.open(named(), warm=False, takes_changes=update)
    except IndexNotFoundError:
        if not all(isinstance(folder, BucketAddress) or folder.exists() for folder in indexes or ()):
            raise
        # The first call makes the index of a small folder. Otherwise it tells the agent which command makes one.
        served = ServedIndexes([], made, takes_changes=update)
    with served as opened:
        # A thread blocks while it reads a line of stdin, and cannot be stopped in any other way.
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
        try:
            anyio.run(_serve, opened)
        except* BrokenPipeError:  # the client has ended without closing stdin first
            pass


class _FirstBuild:
    """The build of the index of the working directory, which goes on while no call waits for it."""

    def __init__(self) -> None:
        self._built: Future[None] | None = None

    def wait(self) -> None:
        """Wait a short time for the index. Raises CdesearchError if it cannot be searched then."""
        if self._built is None or self._built.done():
            self._built = Future()
            threading.Thread(target=self._build, args=(self._built,), name="cdesearch-build", daemon=True).start()
        try:
            self._built.result(BUILD_SECONDS)
        except TimeoutError:
            raise BusyError("The folder is being indexed.", "Call again in a few seconds.") from None

    @staticmethod
    def _build(built: "Future[None]") -> None:
        try:
            _build_first()
        except CdesearchError as error:
            built.set_exception(error)
        else:
            built.set_result(None)


def _build_first() -> None:
    """Make the index of the working directory if a query would. Raises CdesearchError if it must not, or fails."""
    if used_places():
        return
    try:
        find_index(Path.cwd())
    except IndexNotFoundError as missing:
        from cdesearch.cli.first_index import build_first_index

        try:
            build_first_index(missing, yes=False)
        except SystemExit:  # stderr has the reason
            raise missing from None
        except IndexNotFoundError as error:
            if error is not missing:
                raise
            remedy = "Name the folder of an index after `cdesearch mcp` in the configuration of the agent."
            raise IndexNotFoundError(missing.cause, remedy) from None


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
