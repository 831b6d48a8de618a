"""Open the LanceDB tables of a generation, which are on a disk or in a bucket."""

import os
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdesearch.errors import IndexDamagedError
from cdesearch.processors import available_processors
from cdesearch.store.bucket_address import BucketAddress
from cdesearch.store.damage import Checks
from cdesearch.store.folder import GENERATIONS, index_of, reading, rebuild_remedy
from cdesearch.store.lance_manifest import MAX_FIELDS_UNFINISHED, NAMES, TABLES, check_tables


def connect(generation: Path, names: Collection[str] = NAMES) -> Any:
    """The LanceDB database of a generation, finished or not, to open the tables `names`, such as "chunks.lance".

    Raises IndexStateError if one of these tables would make Lance read outside the generation.
    """
    check_tables(generation, names, MAX_FIELDS_UNFINISHED)
    return _lancedb().connect(generation / TABLES)


def run_async(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The result of a call to LanceDB's asynchronous API, which is faster than its synchronous one."""
    try:
        loop = _lancedb().background_loop.LOOP
    except BaseException:  # without `close`, Python warns about a coroutine that was never awaited
        coroutine.close()
        raise
    return loop.run(coroutine)


@dataclass(frozen=True, slots=True)
class OpenTables:
    """Opens the tables of one finished generation."""

    generation: Path  # in a bucket: the folder with its small files
    checks: Checks
    address: BucketAddress | None  # None: the tables are on a disk

    def table(self, name: str, schema: Any) -> Any:
        """The LanceDB table `name`, such as "chunks"; raises IndexDamagedError and BucketError."""

        def opened() -> Any:
            if self.address is None:
                return connect(self.generation).open_table(name)
            return _lancedb().connect(self._place, storage_options=self._options).open_table(name)

        table = self._opened(opened, name)
        self._opened(lambda: _check_columns(table.schema, schema), name)
        return table

    def async_table(self, name: str, schema: Any) -> Any:
        """The LanceDB AsyncTable `name`, for queries through `run_async`; raises IndexDamagedError and BucketError."""
        return self._opened(lambda: run_async(self._open_async(name, schema)), name)

    async def _open_async(self, name: str, schema: Any) -> Any:
        database = await _lancedb().connect_async(self._place, storage_options=self._options)
        table = await database.open_table(name)
        _check_columns(await table.schema(), schema)
        return table

    @property
    def _place(self) -> str | Path:
        if self.address is None:
            return self.generation / TABLES
        return f"{self.address}/{GENERATIONS}/{self.generation.name}/{TABLES}"

    @property
    def _options(self) -> dict[str, str] | None:
        """The options with which LanceDB connects to a bucket."""
        if self.address is None:
            return None
        from cdesearch.store.bucket.connection import lance_options

        return lance_options(self.address)

    def _opened(self, open_table: Callable[[], Any], name: str) -> Any:
        self.checks.require_tables()
        try:
            if self.address is not None:
                return _opened_again(open_table)
            with reading(self.generation / TABLES / f"{name}.lance"):
                return open_table()
        except (ValueError, RuntimeError, OSError) as error:
            if self.address is not None:
                raise self.checks.table_error(f"Table {name}", error) from None
            folder = index_of(self.generation / name)
            raise IndexDamagedError(
                f"Table {name} of {folder} cannot be opened ({error}).", rebuild_remedy(folder)
            ) from None


def _opened_again(open_table: Callable[[], Any]) -> Any:
    """What `open_table` returns for a table in a bucket, to which the connection may have ended the first time."""
    from cdesearch.store.bucket.objects import repeated_if_cut

    return repeated_if_cut(open_table)


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
