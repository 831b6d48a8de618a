"""The arguments and options of one query on the command line, as typer or the quick parser has read them."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cdesearch.errors import InputError
from cdesearch.models.endpoint_model import Model
from cdesearch.search.options import FILTERS, OPTIONS, PARAMETERS, Format
from cdesearch.search.request import K, SearchRequest
from cdesearch.store.place import Place

K_TERMINAL = 5  # so that the best hit stays visible


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """What to search for, and how the hits are printed."""

    request: SearchRequest
    index: tuple[Place, ...] = ()  # none: the nearest index upward; several are searched as one
    all: bool = False  # whether all of an index above the working directory is searched
    model: Model | None = None
    full: bool = False
    context: int = 0  # lines around each passage
    format: Format = "text"
    group: bool | None = None  # None: only on a terminal
    no_pager: bool = False
    open: bool = False  # whether the best hit is opened instead of printing the hits
    yes: bool = False  # whether a folder without an index is indexed without a question
    update: bool = True  # whether changes of files are taken into the indexes
    serve: bool | None = None  # whether a server answers the next queries; None: as the user has answered

    @classmethod
    def of(cls, text: str, given: Mapping[str, Any]) -> "QueryOptions":
        """The options of a query from the values of `OPTIONS` by field; raises InputError and QueryError."""
        values = {field: value for field, value in given.items() if value is not None}
        for option in OPTIONS:
            if option.stands_for is not None and values.pop(option.field, False):
                field, value = option.stands_for
                other = next(one for one in OPTIONS if one.field == field)
                if values.get(field, other.default) not in (other.default, value):
                    raise InputError(
                        f"Both {option.flags} and {other.flags} {values[field]} are given.", "Use only one of them."
                    )
                values[field] = value
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
        search = {one.field: values.pop(one.field) for one in PARAMETERS if one.field in values}
        is_for_people = values.get("format", "text") == "text" and sys.stdout.isatty()
        search.setdefault("k", K_TERMINAL if is_for_people else K)
        found = cls(SearchRequest(text, is_typed=True, **search), **values)
        without_effect = "--group" if found.group and found.format != "text" else ""
        if without_effect or (found.context and found.format not in ("text", "grep")):
            raise InputError(f"{without_effect or '-C'} has no effect on --format {found.format}.", "Omit one of them.")
        if found.open and found.format != "text":
            raise InputError(f"Both --open and --format {found.format} are given.", "Use only one of them.")
        return found

    @property
    def is_for_people(self) -> bool:
        """Whether the hits are printed as text on a terminal."""
        return self.format == "text" and sys.stdout.isatty()

    @property
    def is_grouped(self) -> bool:
        return self.format == "text" and (self.is_for_people if self.group is None else self.group)

    @property
    def filters(self) -> str:
        """The options that restrict the files, as the user may have typed them."""
        request = self.request
        given = ((one, text) for one in FILTERS for text in one.texts_of(getattr(request, one.field)))
        return ", ".join([*request.query.filters, *(f"{one.flags} {text}" for one, text in given)])
