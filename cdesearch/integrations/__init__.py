"""How do other libraries use cdesearch? Each module needs the library that it is named after."""

from collections.abc import Iterator
from contextlib import contextmanager

from cdesearch.errors import extra_remedy


@contextmanager
def extra(name: str) -> Iterator[None]:
    """If an import within the block fails, raise a ModuleNotFoundError that names the command to install the extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{error.name} is not installed. {extra_remedy(name)}", name=error.name) from None
