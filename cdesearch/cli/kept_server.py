"""Keep a server in the background after a query, so that the next queries find the model loaded.

Only a user who wants it has one: by --serve, by a configuration file, or by the answer to a question that is asked
once. The server listens on no port, so that no other user of the computer can ask it.
"""

import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from cdesearch.child_process import python_module, same_modules, start_detached
from cdesearch.cli.query_options import QueryOptions
from cdesearch.errors import StorageError
from cdesearch.service import running_server
from cdesearch.store.folder import replace_file
from cdesearch.store.place import Place
from cdesearch.store.server_address import is_starting, log_of, make_runtime_folder
from cdesearch.store.trust import trust_file

IDLE = "15m"  # the server ends after this time without a request
ANSWER = "serve-after-queries"  # the file in the configuration folder with the answer of the user, yes or no
YES = "yes"
QUESTION = (
    "Keep the model loaded until 15 minutes after the last query, so that answers come several times as fast?"
    " (`serve = false` below [query] in a configuration file ends this.)"
)


def keep_server(options: QueryOptions, places: Sequence[Place]) -> None:
    """Start a server of these indexes in the background if the user wants one and none is running or starting."""
    if sys.platform == "win32" or options.model is not None or not all(map(find_spec, ("fastapi", "uvicorn"))):
        return
    if options.serve is False or not all(isinstance(place, Path) for place in places):
        return
    if any(is_starting(place) or running_server(place) for place in places):
        return
    with suppress(StorageError, OSError):  # the query has been answered
        if options.serve or _is_wanted(options):
            make_runtime_folder()
            watch = [] if options.update else ["--no-watch"]
            arguments = ["--socket-only", f"--idle-exit={IDLE}", *watch, "--", *map(str, places)]
            start_detached(python_module("cdesearch", "serve", *arguments), log_of(places[0]), same_modules())


def _is_wanted(options: QueryOptions) -> bool:
    """What the user has answered; the question is asked if it was not yet, and people see the hits. Raises OSError."""
    file = trust_file().with_name(ANSWER)
    if file.is_file():
        return file.read_text(encoding="ascii", errors="replace").strip() == YES
    if not (options.is_for_people and sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(file, "no\n")  # so that the question is not asked again if it is left by Ctrl-C
    from cdesearch.cli.usage import agrees  # imports typer

    is_wanted = agrees(QUESTION, err=True)
    if is_wanted:
        replace_file(file, f"{YES}\n")
    return is_wanted
