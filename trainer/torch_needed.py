"""Report in one line that torch is not installed. The programs of this package check this before they import torch."""

import sys
from importlib.util import find_spec

from cdesearch.errors import InputError


def check_torch() -> None:
    """Raise InputError if torch is not installed."""
    if find_spec("torch") is None:
        raise InputError("torch is not installed, and training needs it.", "Run `pip install 'cdesearch[train]'`.")


def exit_without_torch(usage: str | None) -> None:
    """End the process if torch is not installed: with one line and exit code 2, or with `usage` if --help is given.

    The options themselves cannot be listed, because the program that defines them imports torch.
    """
    try:
        check_torch()
    except InputError as error:
        if not {"-h", "--help"} & set(sys.argv[1:]):
            print(f"error: {error}", file=sys.stderr)
            sys.exit(error.exit_code)
        print(f"{usage}\n{error}")
        sys.exit()
