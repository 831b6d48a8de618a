"""Every way in which a command can end, with its exit code and at most one line on stderr."""

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from cdesearch.errors import CdesearchError
from cdesearch.terminal import printable

DONE, NO_HITS, BAD_INPUT, DEFECT, INTERRUPTED = 0, 1, 2, 70, 130
TRACEBACK = "CDESEARCH_TRACEBACK"  # the environment variable that shows the traceback of a defect


def run_and_exit(command: Callable[[], Any]) -> NoReturn:
    """Run `command`, which returns an exit code or None, and end the process.

    Exit codes: the command's own; 2 for invalid input or state; 70 for a defect of this program or an output that
    cannot be written; 130 for Ctrl-C. It is not an error when the reader of a pipe closes it early.
    """
    try:
        code = command() or DONE
        sys.stdout.flush()
    except CdesearchError as error:
        code = _report(str(error), error.exit_code)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = DONE
    except SystemExit as error:
        # Typer and rich turn a closed pipe into exit code 1.
        code = DONE if isinstance(error.__context__, BrokenPipeError) else error.code
    except BaseException as error:  # a panic of a Rust library is not an Exception
        code = _report_defect(error)
    _close_output()
    sys.exit(code)


def _report_defect(error: BaseException) -> int:
    if isinstance(error, FileNotFoundError) and not _has_working_directory():
        return _report("The working directory no longer exists. Change to another folder.", BAD_INPUT)
    if os.environ.get(TRACEBACK):
        raise error
    if isinstance(error, OSError) and error.filename is None and error.errno in (errno.ENOSPC, errno.EIO):
        return _report(f"The output cannot be written ({error.strerror}).", DEFECT)
    reason = str(error).partition("\n")[0][:200]
    return _report(
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


def _report(message: str, code: int) -> int:
    """Print one line on stderr if it can be written, and return `code`."""
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
    """Discard the rest of an output that cannot be written, so that the interpreter does not complain at exit."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not _is_writable(stream):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
