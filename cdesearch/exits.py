"""How does the process end? Every way out of a command, with its exit code and at most one line on stderr."""

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

import typer

from cdesearch.errors import CdesearchError
from cdesearch.terminal import printable

DONE, NO_HITS, BAD_INPUT, DEFECT, INTERRUPTED = 0, 1, 2, 70, 130
TRACEBACK = "CDESEARCH_TRACEBACK"  # the environment variable that asks for the traceback of a defect

# Typer brings its own copy of click; this is the public way to its error for options that are wrong.
_UsageError: Any = typer.BadParameter.__mro__[1]


def run_and_exit(command: Callable[[], Any]) -> NoReturn:
    """Run `command`, which returns an exit code or None, and end the process.

    Exit codes: that of the command, 2 for bad input or state, 70 for a defect of this program or an output that cannot
    be written, 130 for Ctrl-C. A reader that closes the pipe early is no error.
    """
    try:
        code = command() or DONE
        sys.stdout.flush()
    except CdesearchError as error:
        code = _say(str(error), error.exit_code)
    except _UsageError as error:
        help_command = error.ctx.command_path if error.ctx else "cdesearch"
        message = error.format_message().replace(" Value error, ", " ").removesuffix(".")
        code = _say(f"{message}. See `{help_command} --help`.", BAD_INPUT)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = DONE
    except SystemExit as error:
        # Typer and rich turn a closed pipe into exit code 1.
        code = DONE if isinstance(error.__context__, BrokenPipeError) else error.code
    except BaseException as error:  # a panic of a Rust library is not an Exception
        code = _say_defect(error)
    _close_output()
    sys.exit(code)


def _say_defect(error: BaseException) -> int:
    if isinstance(error, FileNotFoundError) and not _has_working_directory():
        return _say("The working directory no longer exists. Change to another folder.", BAD_INPUT)
    if os.environ.get(TRACEBACK):
        raise error
    if isinstance(error, OSError) and error.filename is None and error.errno in (errno.ENOSPC, errno.EIO):
        return _say(f"The output cannot be written ({error.strerror}).", DEFECT)
    reason = str(error).partition("\n")[0][:200]
    return _say(
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


def _say(message: str, code: int) -> int:
    """Print one line on stderr, if anybody listens there."""
    with suppress(OSError):
        print(f"error: {printable(' '.join(message.split()))}", file=sys.stderr, flush=True)  # noqa: T201
    return code


def _is_writable(stream: Any) -> bool:
    try:
        stream.flush()
    except (OSError, ValueError):
        return False
    return True


def _close_output() -> None:
    """What stdout still holds is lost where it cannot be written: the interpreter must not complain of it at exit."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not _is_writable(stream):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
