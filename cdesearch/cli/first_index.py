"""Make the index of the working directory when a query finds none: after a question, or without one if it is small."""

import math
import os
import shlex
import sys
import time
from pathlib import Path
from typing import TextIO

from cdesearch.builders import BUILDER, Survey
from cdesearch.child_process import NO_CONFIG, python_module, same_modules, start_detached
from cdesearch.cli.exits import interrupted_by_sigterm
from cdesearch.errors import IndexNotFoundError
from cdesearch.store.filesystem import is_mount, is_own
from cdesearch.store.finding import indexes_below
from cdesearch.store.index import Index
from cdesearch.store.layout import CURRENT, FOLDER
from cdesearch.store.server_address import make_runtime_folder, update_log_of
from cdesearch.store.trust import real
from cdesearch.terminal import counted, note, printable

# So much is indexed without a question where nobody can be asked.
MOST_FILES = 1_000
MOST_MB = 5
POLL_SECONDS = 0.05
HINT = "Next: "  # the start of the line in which `index` advises a query


def build_first_index(missing: IndexNotFoundError, *, yes: bool, is_whole: bool = False) -> None:
    """Index the working directory, and return as soon as its words can be searched; the rest goes on by itself.

    With `is_whole`, return when the index is complete.
    The build is shown on stderr, and ends with this process if Ctrl-C or SIGTERM stops it. Raises `missing` if the
    folder is not one to be indexed by itself, or the user declines; SystemExit with the exit code of a build that has
    failed.
    """
    folder = Path.cwd()
    if reason := _unsuitable(folder):
        raise IndexNotFoundError(
            f"There is no index here, and a search never indexes {reason}.",
            "Go into a folder of your files, or name an index.",
        )
    if indexes_below(folder) and not yes:
        raise missing
    found = BUILDER.survey(folder)
    if not found.n_files or not (yes or _agrees(missing, folder, found)):
        raise missing
    current = folder / FOLDER / CURRENT
    make_runtime_folder()
    log = update_log_of(current.parent)
    environment = same_modules()
    if NO_CONFIG not in os.environ:  # a first build has the settings that the user has for builds
        del environment[NO_CONFIG]
    with interrupted_by_sigterm():
        process = start_detached(python_module("cdesearch", "index", "."), log, environment)
        with log.open(encoding="utf-8", errors="replace") as output:
            try:
                while process.poll() is None and (is_whole or not current.exists()):
                    _relay(output)
                    time.sleep(POLL_SECONDS)
            except KeyboardInterrupt:
                process.terminate()
                process.wait()
                raise
            finally:
                _relay(output)
    if process.returncode:
        raise SystemExit(process.returncode)
    if current.exists() and Index(current.parent).manifest.is_complete:
        process.wait()  # it is about to end
    elif process.returncode is None:
        note(f"The index is completed in the background (process {process.pid}). This answer is by words.")


def _unsuitable(folder: Path) -> str | None:
    """Which kind of folder this is that no query indexes by itself; None for other folders of the user."""
    home = real(Path(os.path.expanduser("~")))  # noqa: PTH111 (Path.home fails without a home folder)
    if home.is_relative_to(real(folder)):
        return "a home folder or a folder above it"
    if is_mount(folder):
        return "the root of a disk"
    return None if is_own(folder.stat()) and os.access(folder, os.W_OK) else "a folder that is not yours to write into"


def _agrees(missing: IndexNotFoundError, folder: Path, found: Survey) -> bool:
    """Whether the user agrees, or the folder is small and nobody can be asked; raises IndexNotFoundError."""
    size = f"{found.n_bytes / 1e6:,.1f} MB" if found.n_bytes >= 1e6 else f"{math.ceil(found.n_bytes / 1e3)} kB"
    amount = f"{counted(found.n_files, 'file')} ({size})"
    work = f"{amount} in {printable(str(folder))}"
    if sys.stdin.isatty() and sys.stderr.isatty():
        from cdesearch.cli.usage import agrees  # imports typer

        question = f"This folder has no index yet, and one takes {_about(found.seconds)}. Index {work}?"
        return agrees(question, default=True, err=True)
    if found.n_files > MOST_FILES or found.n_bytes > 1e6 * MOST_MB:
        limit = f"A query indexes at most {MOST_FILES:,} files and {MOST_MB} MB without a question; there are {amount}."
        remedy = f"Run `cdesearch index {printable(shlex.quote(str(folder)))}` first. {limit}"
        raise IndexNotFoundError(missing.cause, remedy)
    note(f"This folder has no index yet. Indexing {work} takes {_about(found.seconds)}.")
    return True


def _about(seconds: float) -> str:
    """A time in words, rounded up."""
    if seconds < 100:
        return f"about {5 * (int(seconds) // 5 + 1)} seconds"
    if seconds < 6000:
        return f"about {int(seconds) // 60 + 1} minutes"
    return f"about {int(seconds) // 3600 + 1} hours"


def _relay(output: TextIO) -> None:
    """Print the lines that the build has written since the last call."""
    for line in output:
        if not line.startswith(HINT):
            sys.stderr.write(line)
    sys.stderr.flush()
