"""Find the functions of the package that builds indexes.

That package imports this one, so its functions are found through the entry-point group `cdesearch.builders`.
"""

from importlib.metadata import entry_points
from typing import Any


def builder(name: str) -> Any:
    """Return the function or class that is registered as `name`."""
    (entry,) = entry_points(group="cdesearch.builders", name=name)
    return entry.load()
