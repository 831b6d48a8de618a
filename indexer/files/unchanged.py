"""The outcomes of the last walk, for folders in which nothing has changed since: they are not walked again."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from cdesearch.store.file_account import FileRecord
from indexer.files.byproducts import MARKERS
from indexer.files.ignore_chain import KINDS
from indexer.files.outcome import portable

_DECISIVE = frozenset({*KINDS, *MARKERS, ".git", "exclude"})  # `exclude` is in the folder `.git/info`


def decides_about_others(name: str) -> bool:
    """Whether a file of this name decides about other files, in folders below its own as well."""
    return name in _DECISIVE


class Unchanged:
    """The records of the last walk, and the paths that have changed since. Both are relative to the root."""

    def __init__(self, records: Sequence[FileRecord], changed: Iterable[str]) -> None:
        """`records` must be in the order of their paths."""
        self._records = records
        self._paths = [record.path for record in records]
        self._changed = sorted(changed)

    @classmethod
    def since(cls, before: Mapping[str, FileRecord], changed: Iterable[Path], root: Path) -> "Unchanged | None":
        """Return the records of `before` with the files and folders that have `changed`; None if all must be walked.

        That is so after the change of a file that decides about others, such as an ignore file. It is also so if a
        path is shown with escapes, because the walk orders such paths by what they stand for.
        """
        paths = [portable(path, root) for path in changed]
        if any(decides_about_others(PurePosixPath(path).name) for path in paths):
            return None
        records = sorted(before.values(), key=lambda record: record.path)
        if any("\\" in path for path in [*paths, *before]):
            return None
        return cls(records, paths)

    def below(self, folder: str) -> Sequence[FileRecord]:
        """The records of everything in `folder`, whose path ends with "/"; none if it must be walked.

        It must be if something in it has changed, or the folder itself, or one above it, which may have been moved; or
        if the last walk did not enter it.
        """
        parts = folder.rstrip("/").split("/")
        above = {"/".join(parts[:number]) for number in range(1, len(parts) + 1)}
        at = bisect_left(self._changed, folder)
        has_change = at < len(self._changed) and self._changed[at].startswith(folder)
        if has_change or not above.isdisjoint(self._changed):
            return ()
        start = bisect_left(self._paths, folder)
        end = bisect_left(self._paths, folder.removesuffix("/") + "0")  # the character after "/"
        was_left_out = start < end and self._paths[start] == folder
        return () if was_left_out else self._records[start:end]
