"""What a filter of files means in one generation of an index: a condition in SQL on the column `path`."""

from functools import cached_property

from cdesearch.search.documents import quoted, read_table
from cdesearch.search.file_filter import WITHOUT_SUFFIX, FileFilter
from cdesearch.store.index import Index


class FileConditions:
    """The conditions for filters in one generation. The times of its files are read once."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def of(self, files: FileFilter) -> str | None:
        """Return the condition for a filter; None if it allows every file. Raises QueryError and IndexStateError."""
        conditions = [*files.conditions(self._scripts(files))]
        if files.since is not None:
            conditions.append(self._modified_since(files.since))
        return " AND ".join(f"({condition})" for condition in conditions) or None

    def has_file(self, files: FileFilter) -> bool:
        """Return whether the filter allows any indexed file; raises QueryError and IndexStateError."""
        query = self._index.async_chunks.query().where(self.of(files) or "true").select(["path"]).limit(1)
        return bool(read_table(self._index, query).num_rows)

    def _scripts(self, files: FileFilter) -> list[str]:
        """Return the paths of the scripts that a filter of types allows because of their first lines."""
        if files.script is None:
            return []
        chunks = self._index.async_chunks
        found = read_table(self._index, chunks.query().where(WITHOUT_SUFFIX).select(["path"]).with_row_id())
        if not found.num_rows:
            return []
        # A condition on the text would read the texts of all chunks.
        texts = read_table(self._index, chunks.take_row_ids(found["_rowid"].to_pylist()).select(["path", "text"]))
        return sorted({row["path"] for row in texts.to_pylist() if files.script.match(row["text"])})

    def _modified_since(self, seconds: int) -> str:
        """Return the condition for the files that were modified then or later.

        The shorter list of paths is used: that of these files, or that of all others.
        """
        times = self._modified
        newer = [path for path, mtime_ns in times if mtime_ns >= seconds * 10**9]
        if len(newer) <= len(times) // 2:
            return f"path IN ({', '.join(map(quoted, newer))})" if newer else "false"
        older = [path for path, mtime_ns in times if mtime_ns < seconds * 10**9]
        return f"path NOT IN ({', '.join(map(quoted, older))})" if older else "true"

    @cached_property
    def _modified(self) -> list[tuple[str, int]]:
        """The path of every indexed file, with the time of its modification in nanoseconds."""
        files = self._index.file_records()
        return [(file.path, file.mtime_ns or 0) for file in files if file.outcome == "indexed"]
