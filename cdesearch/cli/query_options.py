"""The arguments and options of one query."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from cdesearch.models.endpoint_model import Model
from cdesearch.store.place import Place

if TYPE_CHECKING:
    from cdesearch.search.reader import Mode

Format = Literal["text", "json", "jsonl", "grep", "llm"]
K = 10
K_TERMINAL = 5  # so that the best hit stays visible
MAX_CONTEXT = 50  # lines; a server returns at most so many chunks on each side


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """The arguments and options of one query."""

    text: str
    k: int | None = None  # None: K_TERMINAL for people on a terminal, otherwise K
    mode: "Mode" = "hybrid"
    paths: tuple[str, ...] = ()  # the patterns as the user typed them; one must match
    types: tuple[str, ...] = ()  # names of types of files
    since: str | None = None  # an age or a date as the user typed it
    indexes: tuple[Place, ...] = ()  # none: the nearest index upward; several are searched as one
    model: Model | None = None
    full: bool = False
    context: int = 0  # lines around each passage
    format: "Format" = "text"
    group: bool | None = None  # None: only on a terminal
    has_pager: bool = True
    opens: bool = False  # whether the best hit is opened instead of printing the hits
    update: bool = False  # whether the index is brought up to date first, if that is quick
    min_confidence: float = 0.0  # hits with a lower confidence are left out

    @property
    def is_for_people(self) -> bool:
        """Whether the hits are printed as text on a terminal."""
        return self.format == "text" and sys.stdout.isatty()

    @property
    def is_grouped(self) -> bool:
        """Whether the hits of one file are grouped."""
        return self.format == "text" and (self.is_for_people if self.group is None else self.group)

    @property
    def n_shown(self) -> int:
        """How many hits or groups are shown."""
        return self.k if self.k is not None else K_TERMINAL if self.is_for_people else K

    @property
    def filters(self) -> str:
        """The options that restrict the files, as the user may have typed them."""
        since = [] if self.since is None else [f"--since {self.since}"]
        return ", ".join(
            [*(f"--path {path}" for path in self.paths), *(f"--type {name}" for name in self.types), *since]
        )
