"""How the programs of this package end: one line on stderr for every error, and the exit codes of `cdesearch`."""

import argparse
import sys
from collections.abc import Callable
from typing import NoReturn

from cdesearch.cli.exits import BAD_INPUT, print_error, report
from cdesearch.errors import InputError

NEEDED = ("torch", "numpy", "tokenizers", "safetensors")
# The names with which pip installs modules of other names.
PACKAGES = {"faiss": "faiss-cpu", "flash_attn": "flash-attn", "sklearn": "scikit-learn"}


def reported(program: Callable[[], int]) -> int:
    """Run a program; returns its exit code. Every error is one line on stderr."""
    try:
        return program()
    except ModuleNotFoundError as error:
        module = str(error.name).partition(".")[0]
        package = PACKAGES.get(module, module)
        packages = " ".join(NEEDED) if package in NEEDED else package
        return print_error(f"{package} is not installed. Run `pip install {packages}`.", BAD_INPUT)
    except BaseException as error:
        return report(error)


def not_a_program(module: str, remedy: str) -> NoReturn:
    """End `python -m module` of a module without a program: with one line and exit code 2, instead of silently."""
    sys.exit(print_error(f"{module} is not a program. {remedy}", BAD_INPUT))


class Parser(argparse.ArgumentParser):
    """Reports wrong options in one line, without the usage that argparse prints before it."""

    def error(self, message: str) -> None:  # type: ignore[override] # raises, as the original exits
        raise InputError(f"{message[:1].upper()}{message[1:]}.", f"See `{self.prog} --help`.")
