"""Whether an index may be behind its files, by names, sizes and times alone: a query has no time for more.

The rules by which files are chosen are not applied. Every file and every folder that was left out is in the account of
the index, so a name that is not in it is new.
"""

import os
from pathlib import Path

from cdesearch.errors import CdesearchError
from cdesearch.store.copies import address_of_copies
from cdesearch.store.file_account import FileRecord
from cdesearch.store.filesystem import foreign_owner, relative_posix
from cdesearch.store.index import Index
from cdesearch.store.layout import FOLDER
from cdesearch.store.trust import unconfirmed

RULES = frozenset({".gitignore", ".ignore", ".cdesearchignore"})  # they decide about other files


def is_updatable(index: Index) -> bool:
    """Whether a query may update this index.

    It is this user's own, on a disk that can be written; and an update needs no confirmation, sends no text to a
    server, and downloads nothing from a bucket. All others are searched as they are.
    """
    if not isinstance(index.place, Path) or index.manifest.served is not None:
        return False
    try:
        is_own = foreign_owner(index.place, as_caller=False) is None and os.access(index.place, os.W_OK)
        has_copies = any(address_of_copies(source) is not None for source in index.sources)
        return is_own and unconfirmed(index.place, index.trust_request).is_empty and not has_copies
    except (CdesearchError, OSError):
        return False


def may_be_behind(index: Index) -> bool:
    """Whether an update may find a change; false for an index that is being built, or that cannot be read."""
    try:
        return index.manifest.is_complete and _differs(index)
    except (CdesearchError, OSError):
        return False


def _differs(index: Index) -> bool:
    known = {file.path: file for file in index.file_records()}
    missing, updated = set(index.missing_sources), int(index.manifest.updated * 1e9)
    for source in index.sources:
        path = relative_posix(str(source), str(index.root))
        below = "" if path == "." else f"{path}/"
        if source in missing:  # its documents stay
            known = {name: file for name, file in known.items() if name != path and not name.startswith(below)}
        elif source.is_dir():
            if _folder_differs(source, below, known, updated):
                return True
        elif _file_differs(known.pop(path, None), source.stat()):
            return True
    return any(file.outcome == "indexed" or path.rpartition("/")[2] in RULES for path, file in known.items())


def _folder_differs(top: Path, shown: str, known: dict[str, FileRecord], updated: int) -> bool:
    """Whether anything below a folder differs from the records in `known`, from which all that is found is removed.

    `shown` is how the paths in it begin, and `updated` the time of the last update, in ns.
    """
    stack = [(str(top), shown)]
    while stack:
        folder, shown = stack.pop()
        try:
            entries = os.scandir(folder)
        except OSError:  # the files that it had are left in `known`
            continue
        with entries:
            for entry in entries:
                path = shown + entry.name
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != FOLDER and known.pop(f"{path}/", None) is None:
                        stack.append((entry.path, f"{path}/"))
                    continue
                record = known.pop(path, None)
                if record is not None and record.mtime_ns is None:  # ignored
                    if entry.name in RULES and entry.stat(follow_symlinks=False).st_mtime_ns > updated:
                        return True
                elif _file_differs(record, entry.stat(follow_symlinks=False)):
                    return True
    return False


def _file_differs(record: FileRecord | None, found: os.stat_result) -> bool:
    stamps = found.st_size, found.st_mtime_ns, found.st_ctime_ns
    return record is None or (record.size, record.mtime_ns, record.ctime_ns) != stamps
