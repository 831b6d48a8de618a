"""Check that the libraries of the extra `serve` are installed."""

import importlib.util

from cdesearch.errors import InputError

LIBRARIES = ("fastapi", "uvicorn", "mcp")


def require_libraries() -> None:
    """Raise InputError if the extra `serve` is not installed."""
    missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"{missing[0]} is not installed.", "Run `pip install 'cdesearch[serve]'`.")
