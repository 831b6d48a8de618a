"""Where an index is, in a folder on a disk or in a bucket, and how its tables are opened."""

import os
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from cdesearch.errors import IndexDamagedError, IndexNotFoundError
from cdesearch.process_limits import available_processors
from cdesearch.store.damage import Checks
from cdesearch.store.folder import (
    check_marker,
    check_nothing_lost,
    check_path,
    current_name,
    generations_in,
    repair_remedy,
)
from cdesearch.store.guard import TABLES, check_not_linked, check_tables, check_tree, unreadable
from cdesearch.store.layout import CURRENT, GENERATIONS, PLAN


@dataclass(frozen=True, slots=True)
class Live:
    """The live generation of an index, whose files hold no link and name no data elsewhere."""

    files: Path  # the folder with its files, of those in a bucket the small ones
    checks: Checks
    tables: Path | str  # what LanceDB connects to
    options: dict[str, str] | None = None  # with which it connects

    def table(self, name: str, schema: Any) -> Any:
        """The LanceDB table `name`, such as "chunks"; raises IndexDamagedError and BucketError."""

        def opened() -> Any:
            table = _lancedb().connect(self.tables, storage_options=self.options).open_table(name)
            _check_columns(table.schema, schema)
            return table

        return self._opened(opened, name)

    def async_table(self, name: str, schema: Any) -> Any:
        """The LanceDB AsyncTable `name`, for queries through `run_async`; raises IndexDamagedError and BucketError."""

        async def opened() -> Any:
            database = await _lancedb().connect_async(self.tables, storage_options=self.options)
            table = await database.open_table(name)
            _check_columns(await table.schema(), schema)
            return table

        return self._opened(lambda: run_async(opened()), name)

    def _opened(self, open_table: Callable[[], Any], name: str) -> Any:
        self.checks.require_tables()
        try:
            return self.checks.opened(open_table)
        except (ValueError, RuntimeError, OSError) as error:
            raise self.checks.table_error(f"Table {name}", error) from None


class Storage(Protocol):
    """Gives readers the live generation of one index."""

    def open(self) -> Live:
        """The live generation now; raises IndexStateError, and for a bucket also BucketError."""

    def newest_name(self) -> str | None:
        """The name of the live generation, in a bucket as it was a few seconds ago; None if there is none."""


class LocalStorage(Storage):
    """An index in a folder on a disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self) -> Live:
        check_path(self._folder)
        generation = current_generation(self._folder)
        return Live(generation, Checks(self._folder, generation), generation / TABLES)

    def newest_name(self) -> str | None:
        return current_name(self._folder)


def current_generation(folder: Path) -> Path:
    """The folder of the live generation, after a check that it contains no links; raises IndexStateError."""
    check_marker(folder)
    name = current_name(folder)
    if name is None:
        check_nothing_lost(folder)
        if any((one / PLAN).exists() for one in generations_in(folder)):
            raise IndexNotFoundError(
                f"{folder} holds an index whose first build has not ended.",
                "Repeat the `cdesearch index` command that began it, which continues it.",
            )
        raise IndexNotFoundError(f"{folder} holds no finished index.", "Run `cdesearch index FOLDER`.")
    check_not_linked(folder / GENERATIONS)
    generation = folder / GENERATIONS / name
    try:
        if not generation.is_dir():
            raise IndexDamagedError(
                f"{folder / CURRENT} names a generation that does not exist.", repair_remedy(folder)
            )
        check_tree(generation)
        check_tables(generation)
    except OSError as error:
        raise unreadable(generation, error) from None
    return generation


def connect(generation: Path) -> Any:
    """The LanceDB database of a generation, finished or not.

    Raises IndexStateError if one of its tables would make Lance read outside the generation.
    """
    check_tables(generation)
    return _lancedb().connect(generation / TABLES)


def run_async(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The result of a call to LanceDB's asynchronous API, which is faster than its synchronous one."""
    try:
        loop = _lancedb().background_loop.LOOP
    except BaseException:  # without `close`, Python warns about a coroutine that was never awaited
        coroutine.close()
        raise
    return loop.run(coroutine)


def _check_columns(found: Any, expected: Any) -> None:
    """Raise ValueError unless a table has the expected columns, with vectors of the expected dimension."""
    if not found.equals(expected):
        raise ValueError("its columns are not those of this index")


def _lancedb() -> Any:
    """Import LanceDB with its settings, which the user may set otherwise."""
    os.environ.setdefault("LANCEDB_LOG", "error")  # its warnings address LanceDB's developers
    # It would keep two processors free to read files, so that on two of them, one alone compares vectors.
    os.environ.setdefault("LANCE_CPU_THREADS", str(available_processors()))
    import lancedb

    return lancedb
