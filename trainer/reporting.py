"""How the programs of this package end: one line on stderr for every error, and the exit codes of `cdesearch`."""

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from importlib.util import find_spec

from cdesearch.cli.exits import BAD_INPUT, print_error, report
from cdesearch.errors import InputError, extra_with_torch

NEEDED = ("torch", "numpy", "tokenizers", "safetensors", "msgspec")  # by all training
# The names with which pip installs modules of other names.
PACKAGES = {"faiss": "faiss-cpu", "flash_attn": "flash-attn"}


def check_torch() -> None:
    """Raise InputError if a library that all training needs is not installed; called before they are imported."""
    absent = next((name for name in NEEDED if find_spec(name) is None), None)
    if absent is not None:
        raise InputError(f"{absent} is not installed, and this command needs it.", extra_with_torch("train"))


def exit_without_torch() -> None:
    """End the process with one line and exit code 2 unless `check_torch` passes."""
    try:
        check_torch()
    except InputError as error:
        sys.exit(print_error(str(error), error.exit_code))


def reported(program: Callable[[Sequence[str] | None], int]) -> Callable[..., int]:
    """The program, which returns its exit code, with each error as one line on stderr."""

    @wraps(program)
    def run(arguments: Sequence[str] | None = None) -> int:
        try:
            return program(arguments)
        except ModuleNotFoundError as error:
            module = str(error.name).partition(".")[0]
            package = PACKAGES.get(module, module)
            return print_error(f"{package} is not installed. Run `pip install {package}`.", BAD_INPUT)
        except BaseException as error:
            return report(error)

    return run


class Parser(argparse.ArgumentParser):
    """Reports wrong options in one line, without the usage that argparse prints before it."""

    def __init__(self, prog: str, description: str | None) -> None:
        super().__init__(prog, description=description, formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message: str) -> None:  # type: ignore[override] # raises, as the original exits
        raise InputError(f"{message[:1].upper()}{message[1:]}.", f"See `{self.prog} --help`.")
