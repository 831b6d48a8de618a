"""Report in one line that torch, or what it needs here, is not installed. Programs check this before they import it."""

import sys
from importlib.util import find_spec

from cdesearch.errors import InputError
from trainer.reporting import NEEDED


def absent_library() -> str | None:
    """The first of the libraries that all training needs which is not installed; None if there is none."""
    return next((name for name in NEEDED if find_spec(name) is None), None)


def check_torch() -> None:
    """Raise InputError if torch, numpy, tokenizers or safetensors is not installed."""
    absent = absent_library()
    if absent == "torch":
        raise InputError("torch is not installed, and this command needs it.", "Run `pip install 'cdesearch[train]'`.")
    if absent is not None:
        raise InputError(
            f"{absent} is not installed, and this command needs it.", f"Run `pip install {' '.join(NEEDED)}`."
        )


def exit_without_torch(usage: str | None) -> None:
    """End the process unless `check_torch` passes: with one line and exit code 2, or with `usage` if --help is given.

    The options themselves cannot be listed, because the program that defines them imports these libraries.
    """
    try:
        check_torch()
    except InputError as error:
        if not {"-h", "--help"} & set(sys.argv[1:]):
            print(f"error: {error}", file=sys.stderr)
            sys.exit(error.exit_code)
        print(f"{usage}\n{error}")
        sys.exit()
