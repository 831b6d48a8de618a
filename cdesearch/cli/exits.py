"""How commands end: each error has an exit code, and prints at most one line on stderr."""

import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from cdesearch.errors import CdesearchError, extra_remedy
from cdesearch.store.filesystem import refusal, refusal_of
from cdesearch.terminal import printable

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)  # the disk is full or read-only
OF_THE_SYSTEM = (errno.EIO, errno.ESTALE, errno.EMFILE, errno.ENFILE, errno.ENOMEM)  # reading or writing, of any file
SHOWN = 80  # characters of a path that is too long
DONE, NO_HITS, BAD_INPUT, DEFECT, INTERRUPTED, CLOSED_PIPE, TERMINATED = 0, 1, 2, 70, 130, 141, 143
OWN_PACKAGES = ("cdesearch", "indexer", "trainer")  # a module of these that is missing is a defect
OF_SCALE = ("boto3", "botocore", "obstore", "ray")  # libraries of the extra `scale`
TRACEBACK = "CDESEARCH_TRACEBACK"  # the environment variable that shows the traceback of a defect

_received: list[int] = []  # the numbers of the signals that have interrupted the command


def raise_on_signal(number: int) -> Any:
    """Let the signal SIGINT or SIGTERM raise KeyboardInterrupt, and record it for `report`. Return the handler before.

    The exception alone would not be enough. It does not tell which signal has arrived, and a compiled module that is
    interrupted during its import raises an ImportError instead.
    """
    return signal.signal(number, _interrupt)


def _interrupt(number: int, _frame: object) -> None:
    _received.append(number)
    raise KeyboardInterrupt


@contextmanager
def exit_when_stopped(remedy: str) -> Iterator[None]:
    """If Ctrl-C or SIGTERM stops the block, print "Stopped." with the remedy, and exit with code 130 or 143."""
    with interrupted_by_sigterm():
        try:
            yield
        except KeyboardInterrupt:
            with suppress(OSError):
                print(f"Stopped. {remedy}", file=sys.stderr, flush=True)  # noqa: T201 (a message for the user)
            raise SystemExit(_signal_code() or INTERRUPTED) from None


@contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """Let SIGTERM raise KeyboardInterrupt within the block. This has no effect outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = raise_on_signal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def run_and_exit(command: Callable[[], Any]) -> NoReturn:
    """Run `command`, which returns an exit code or None, and end the process.

    The exit code is that of the command, or 2 for invalid input, an unusable index, or a disk that cannot be written;
    70 for a defect of this program; 130 for Ctrl-C; 141, as in other programs, if the reader of a pipe has closed it
    before the command was done; and 143 for SIGTERM in a command that handles it.
    """
    try:
        code = command() or DONE
        if code == INTERRUPTED:  # typer returns it for every KeyboardInterrupt
            code = _signal_code() or INTERRUPTED
        sys.stdout.flush()
    except BaseException as error:  # a panic of a Rust library is not an Exception
        code = report(error)
    _close_output()
    if code in (INTERRUPTED, TERMINATED):
        # Threads of LanceDB or ONNX Runtime may still be running, and could crash the process during a normal exit.
        os._exit(code)
    sys.exit(code)


def report(error: BaseException) -> int:
    """Print at most one line on stderr about an error that a command has raised, and return the exit code."""
    if isinstance(error, SystemExit):
        # Typer and rich exit with code 1 if the pipe is closed.
        return CLOSED_PIPE if isinstance(error.__context__, BrokenPipeError) else int(error.code or DONE)
    code = _signal_code()
    if code is not None:
        return code
    if any(isinstance(one, KeyboardInterrupt) for one in _chain(error)):
        return INTERRUPTED
    if isinstance(error, CdesearchError):
        return print_error(str(error), error.exit_code)
    if isinstance(error, BrokenPipeError):
        return CLOSED_PIPE
    return _report_defect(error)


def _signal_code() -> int | None:
    """Forget the recorded signals; returns the exit code for the first, or None if there is none."""
    if not _received:
        return None
    code = code_of(_received[0])
    _received.clear()
    return code


def code_of(number: int) -> int:
    """The exit code of a command that the signal SIGINT or SIGTERM has stopped."""
    return TERMINATED if number == signal.SIGTERM else INTERRUPTED


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error, then the error that caused it, and so on."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _report_defect(error: BaseException) -> int:
    if isinstance(error, FileNotFoundError) and not _has_working_directory():
        return print_error("The working directory no longer exists. Change to another folder.", BAD_INPUT)
    if os.environ.get(TRACEBACK):
        raise error
    library = str(error.name).partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if library and library not in OWN_PACKAGES:
        again = extra_remedy("scale") if library in OF_SCALE else "Install cdesearch with pip again."
        return print_error(f"The library {library} is not installed, or incomplete. {again}", BAD_INPUT)
    if isinstance(error, OSError) and error.errno in UNWRITABLE:
        what = error.filename or "The output"
        return print_error(f"{what} cannot be written ({error.strerror}).", BAD_INPUT)
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        what = str(error.filename or "of a file")
        shown = what if len(what) <= SHOWN else f"{what[:SHOWN]}..."
        return print_error(f"The path {shown} is too long. Check the spelling.", BAD_INPUT)
    number = refusal_of(error)
    if number in OF_THE_SYSTEM:
        reason, remedy = refusal(number)
        what = getattr(error, "filename", None) or "A file"
        return print_error(f"{what} cannot be read or written ({reason}). {remedy}", BAD_INPUT)
    reason = str(error).partition("\n")[0][:200]
    return print_error(
        f"This is a defect of cdesearch: {type(error).__name__}: {reason}. Please report it with the traceback that"
        f" {TRACEBACK}=1 shows.",
        DEFECT,
    )


def _has_working_directory() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 (Path.cwd would do the same)
    except FileNotFoundError:
        return False
    return True


def print_error(message: str, code: int) -> int:
    """Print an error message in one line on stderr, if stderr can be written, and return `code`."""
    with suppress(OSError):
        print(f"error: {printable(' '.join(message.split()))}", file=sys.stderr, flush=True)  # noqa: T201 (errors are printed here)
    return code


def _close_output() -> None:
    """Discard buffered output that cannot be written, so that the interpreter prints no error about it at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
