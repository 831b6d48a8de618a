"""Open the LanceDB tables of a generation."""

import os
from collections.abc import Callable, Collection, Coroutine
from pathlib import Path
from typing import Any

from cdesearch.processors import available_processors
from cdesearch.store.guard import NAMES, TABLES, check_tables
from cdesearch.store.storage import Live


def connect(generation: Path, names: Collection[str] = NAMES) -> Any:
    """The LanceDB database of a generation, finished or not, to open the tables `names`, such as "chunks.lance".

    Raises IndexStateError if one of these tables would make Lance read outside the generation.
    """
    check_tables(generation, names)
    return _lancedb().connect(generation / TABLES)


def run_async(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The result of a call to LanceDB's asynchronous API, which is faster than its synchronous one."""
    try:
        loop = _lancedb().background_loop.LOOP
    except BaseException:  # without `close`, Python warns about a coroutine that was never awaited
        coroutine.close()
        raise
    return loop.run(coroutine)


class OpenTables:
    """Opens the tables of one finished generation."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def table(self, name: str, schema: Any) -> Any:
        """The LanceDB table `name`, such as "chunks"; raises IndexDamagedError and BucketError."""

        def opened() -> Any:
            table = _lancedb().connect(self._live.tables, storage_options=self._live.options).open_table(name)
            _check_columns(table.schema, schema)
            return table

        return self._opened(opened, name)

    def async_table(self, name: str, schema: Any) -> Any:
        """The LanceDB AsyncTable `name`, for queries through `run_async`; raises IndexDamagedError and BucketError."""
        return self._opened(lambda: run_async(self._open_async(name, schema)), name)

    async def _open_async(self, name: str, schema: Any) -> Any:
        database = await _lancedb().connect_async(self._live.tables, storage_options=self._live.options)
        table = await database.open_table(name)
        _check_columns(await table.schema(), schema)
        return table

    def _opened(self, open_table: Callable[[], Any], name: str) -> Any:
        self._live.checks.require_tables()
        try:
            return self._live.checks.opened(open_table)
        except (ValueError, RuntimeError, OSError) as error:
            raise self._live.checks.table_error(f"Table {name}", error) from None


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
