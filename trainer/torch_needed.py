"""Report in one line that torch is not installed. The programs of this package check this before they import torch."""

import sys
from importlib.util import find_spec

from cdesearch.errors import InputError


def check_torch() -> None:
    """Raise InputError if torch is not installed."""
    if find_spec("torch") is None:
        raise InputError("torch is not installed, and training needs it.", "Run `pip install 'cdesearch[train]'`.")


def exit_without_torch() -> None:
    """End the process with one line and exit code 2 if torch is not installed."""
    try:
        check_torch()
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
