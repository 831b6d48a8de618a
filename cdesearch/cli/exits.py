"""How commands end: each error has an exit code, and prints at most one line on stderr."""

import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from cdesearch.errors import CdesearchError
from cdesearch.terminal import printable

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG)  # the disk is full, read-only or broken
DONE, NO_HITS, BAD_INPUT, DEFECT, INTERRUPTED, TERMINATED = 0, 1, 2, 70, 130, 143
TRACEBACK = "CDESEARCH_TRACEBACK"  # the environment variable that shows the traceback of a defect

_interrupts: list[int] = []  # the numbers of the signals that `_interrupt` has received


def raise_on_ctrl_c() -> None:
    """Let Ctrl-C raise KeyboardInterrupt, as Python does by default, and record it for `report`.

    A compiled module that is interrupted during its import raises an ImportError instead, which does not reveal that
    Ctrl-C was the cause.
    """
    signal.signal(signal.SIGINT, _interrupt)


def _interrupt(number: int, _frame: object) -> None:
    _interrupts.append(number)
    raise KeyboardInterrupt


class Terminated(KeyboardInterrupt):
    """SIGTERM has arrived. As a KeyboardInterrupt, it ends a command in the same way as Ctrl-C."""


@contextmanager
def exit_when_stopped(remedy: str) -> Iterator[None]:
    """If Ctrl-C or SIGTERM stops the block, print "Stopped." with the remedy, and exit with code 130 or 143.

    Only the main thread can receive signals, so this has no effect in other threads.
    """

    def stop(*_: object) -> None:
        raise Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except KeyboardInterrupt as error:
        with suppress(OSError):
            print(f"Stopped. {remedy}", file=sys.stderr, flush=True)  # noqa: T201 (a message for the user)
        raise SystemExit(TERMINATED if isinstance(error, Terminated) else INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def run_and_exit(command: Callable[[], Any]) -> NoReturn:
    """Run `command`, which returns an exit code or None, and end the process.

    The exit code is that of the command, or 2 for invalid input, an unusable index, or a disk that cannot be written;
    70 for a defect of this program; 130 for Ctrl-C; and 143 for SIGTERM in a command that handles it. It is not an
    error if the reader of a pipe closes the pipe early.
    """
    try:
        code = command() or DONE
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
        return DONE if isinstance(error.__context__, BrokenPipeError) else int(error.code or DONE)
    if _interrupts or any(isinstance(one, KeyboardInterrupt) for one in _chain(error)):
        return INTERRUPTED
    if isinstance(error, CdesearchError):
        return print_error(str(error), error.exit_code)
    if isinstance(error, BrokenPipeError):
        return DONE
    return _report_defect(error)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error, then the error that caused it, and so on."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _report_defect(error: BaseException) -> int:
    if isinstance(error, FileNotFoundError) and not _has_working_directory():
        return print_error("The working directory no longer exists. Change to another folder.", BAD_INPUT)
    if os.environ.get(TRACEBACK):
        raise error
    if isinstance(error, OSError) and error.errno in UNWRITABLE:
        what = error.filename or "The output"
        return print_error(f"{what} cannot be written ({error.strerror}).", BAD_INPUT)
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


def _is_writable(stream: Any) -> bool:
    try:
        stream.flush()
    except (OSError, ValueError):
        return False
    return True


def _close_output() -> None:
    """Discard buffered output that cannot be written, so that the interpreter prints no error about it at exit."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not _is_writable(stream):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
