"""How the programs of this package report errors: one line on stderr, and an exit code.

Exit codes: 2 for bad input, 70 for a defect, 130 for Ctrl-C.
"""

import argparse
import os
import sys
from collections.abc import Callable

from cdesearch.errors import CdesearchError, InputError
from cdesearch.terminal import printable

DONE, BAD_INPUT, DEFECT, INTERRUPTED = 0, 2, 70, 130
NEEDED = ("torch", "numpy", "tokenizers", "safetensors")
TRACEBACK = "CDESEARCH_TRACEBACK"  # the environment variable that shows the traceback of a defect


def reported(program: Callable[[], int]) -> int:
    """Run a program; returns its exit code. Every error is one line on stderr."""
    try:
        return program()
    except CdesearchError as error:
        return _report(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _report("Stopped.", INTERRUPTED)
    except ModuleNotFoundError as error:
        return _report(f"{error.name} is not installed. Run `pip install {' '.join(NEEDED)}`.", BAD_INPUT)
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        reason = str(error).partition("\n")[0][:200]
        return _report(
            f"This is a defect of cdesearch: {type(error).__name__}: {reason}. Please report it with the traceback that"
            f" {TRACEBACK}=1 shows.",
            DEFECT,
        )


class Parser(argparse.ArgumentParser):
    """Reports wrong options in one line, without the usage that argparse prints before it."""

    def error(self, message: str) -> None:  # type: ignore[override] # raises, as the original exits
        raise InputError(f"{message[:1].upper()}{message[1:]}.", f"See `{self.prog} --help`.")


def _report(message: str, code: int) -> int:
    print(f"error: {printable(' '.join(message.split()))}", file=sys.stderr)
    return code
