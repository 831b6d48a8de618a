"""The folder of an index: which one is meant, whether it is ours, and how its small files are read and written.

Whoever can put an index folder on this disk (an archive, a cloned repository) chooses all that is in it. So nothing is
read, written or removed through a symbolic link, and nothing is written where our marker is missing.
"""

import os
import re
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path

from cdesearch.errors import (
    IndexDamagedError,
    IndexMismatchError,
    IndexNotFoundError,
    IndexUntrustedError,
    InputError,
)

FOLDER = ".cdesearch"
CURRENT = "CURRENT"  # the file that names the live generation
GENERATIONS = "generations"
CHECKSUMS = "checksums.json"  # of a generation; written last
PLAN = "plan.json"  # of a build; it is removed after the checksums have been written
MARKER = "INDEX"  # written first; a folder without it is never written to
FORMAT = 5
MARK = f"cdesearch index\nformat {FORMAT}\n"
KNOWN_FILES = (  # all that is written beside the generations
    MARKER,
    ".gitignore",
    "lock",
    "lock.holder",
    "generations.json",
    "generations.json.new",
    CURRENT,
    f"{CURRENT}.new",
)
MAX_SMALL_FILE = 64_000  # bytes; CURRENT and the marker have a few

REBUILD = "Run `cdesearch index --rebuild PATH`, with PATH the folder that is indexed."

_MARK = re.compile(r"cdesearch index\nformat (\d{1,9})\n")
_NAME = re.compile(r"[0-9a-f]{12}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def absolute(path: Path) -> Path:
    """From the root of the file system, without ".." in it; links stay as they were named."""
    return Path(os.path.abspath(path))  # noqa: PTH100 (Path.resolve would follow links)


def chosen_folder(path: Path) -> Path:
    """The index folder that `--index PATH` means, for every command alike.

    PATH may be an index, the folder that holds `.cdesearch`, or where a new index is to be made: a path that is not
    there yet, or an empty folder. Any other folder means `.cdesearch` in it.
    """
    path = absolute(path)
    if path.name == FOLDER or _is_index(path):
        return path
    return path / FOLDER if path.is_dir() and not _is_empty(path) else path


def _is_empty(folder: Path) -> bool:
    try:
        return next(folder.iterdir(), None) is None
    except OSError:  # not readable: whoever opens the folder says so
        return True


def _is_index(path: Path) -> bool:
    is_old = (path / CURRENT).is_file() and (path / GENERATIONS).is_dir()
    return _mark_of(path) is not None or is_old


def find_index(start: Path) -> Path:
    """The index folder in `start` or the nearest folder above it; raises IndexNotFoundError.

    One whose CURRENT is lost is an index too: whoever opens it says what is wrong.
    """
    start = start.resolve()
    for folder in [start, *start.parents]:
        if os.path.lexists(folder / FOLDER / CURRENT) or finished_generations(folder / FOLDER):
            return folder / FOLDER
    raise IndexNotFoundError(f"There is no index in {start} or above it.", "Make one with `cdesearch index FOLDER`.")


def finished_generations(folder: Path) -> list[Path]:
    """Those that a build has completed; none where they cannot be listed."""
    try:
        return sorted(
            generation
            for generation in (folder / GENERATIONS).iterdir()
            if is_generation_name(generation.name)
            and not generation.is_symlink()
            and (generation / CHECKSUMS).exists()
            and not (generation / PLAN).exists()
        )
    except OSError:
        return []


def check_nothing_lost(folder: Path) -> None:
    """Raise IndexDamagedError where CURRENT is gone from an index that had been built: a new build would replace it."""
    if finished_generations(folder):
        raise IndexDamagedError(
            f"{folder / CURRENT}, which names the live generation, is missing.",
            f"Run `cdesearch doctor --repair --index {shlex.quote(str(folder))}`.",
        )


def check_path(folder: Path) -> None:
    """Raise InputError where LanceDB could not open tables in `folder`: its paths are UTF-8 without control characters.

    A path with such a character is shown with escapes.
    """
    name = str(folder)
    if _CONTROL.search(name) or not _is_utf8(name):
        raise InputError(
            f"No index can be kept in {ascii(name)[1:-1]}: the path holds a control character or is not UTF-8.",
            "Name another place with --index DIR.",
        )


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_marker(folder: Path) -> None:
    """Raise IndexStateError unless `folder` is an index of this format; looks at nothing but its marker."""
    check_not_linked(folder)
    version = _mark_of(folder)
    if version == FORMAT:
        return
    if version is not None:
        raise IndexMismatchError(f"{folder} has index format {version}; this cdesearch reads {FORMAT}.", _again(folder))
    if not os.path.lexists(folder / CURRENT):
        raise IndexNotFoundError(f"{folder} holds no index.", "Run `cdesearch index FOLDER`.")
    if os.path.lexists(folder / MARKER):
        raise IndexDamagedError(f"{folder / MARKER} is not the marker of an index.", _again(folder))
    raise IndexMismatchError(
        f"{folder} has index format 4 or an older one; this cdesearch reads {FORMAT}.", _again(folder)
    )


def _again(folder: Path) -> str:
    return f"Remove the folder {folder} if it is an index of yours, and run `cdesearch index PATH` again."


def _mark_of(folder: Path) -> int | None:
    """The format that the marker names; None where there is no marker of ours."""
    try:
        found = _MARK.fullmatch(read_small(folder / MARKER).decode("utf-8", "replace"))
    except (OSError, IndexDamagedError, IndexUntrustedError):
        return None
    return int(found[1]) if found else None


def check_not_linked(path: Path) -> None:
    """Raise IndexUntrustedError where `path` itself is a symbolic link or a junction."""
    if path.is_symlink() or _is_junction(path):
        raise IndexUntrustedError(
            f"{path} is a symbolic link, and nothing in an index may be one.",
            "Name the real folder with --index DIR, or remove the link.",
        )


def _is_junction(path: Path) -> bool:
    """Windows' other kind of link; `Path.is_junction` came with Python 3.12."""
    if os.name != "nt":
        return False
    try:
        tag = getattr(path.lstat(), "st_reparse_tag", 0)
    except OSError:
        return False
    return bool(tag == getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", None))


def check_tree(folder: Path) -> None:
    """Raise IndexUntrustedError for anything below `folder`, itself included, that is neither plain file nor folder."""
    check_not_linked(folder)
    waiting = [str(folder)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if os.name == "nt":
                        check_not_linked(Path(entry.path))
                    waiting.append(entry.path)
                elif not entry.is_file(follow_symlinks=False):
                    check_not_linked(Path(entry.path))
                    raise _not_plain(Path(entry.path))


def _not_plain(path: Path) -> IndexUntrustedError:
    return IndexUntrustedError(f"{path} is not a plain file, as all of an index must be.", "Remove it.")


def read_small(file: Path, limit: int = MAX_SMALL_FILE) -> bytes:
    """A plain file of at most `limit` bytes, through no link.

    Raises OSError where it cannot be read, IndexUntrustedError for a link, IndexDamagedError beyond the limit.
    """
    check_not_linked(file)
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(file, flags)
    with os.fdopen(descriptor, "rb") as stream:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise _not_plain(file)
        if found.st_size > limit:
            raise IndexDamagedError(
                f"{file} is larger than {limit:,} bytes, which no such file of an index is.",
                REBUILD,
            )
        return stream.read()


def write_new(file: Path, text: str) -> None:
    """Put a new file in the place of `file`, flushed to the disk.

    An older one is unlinked first, never opened: what a link, symbolic or hard, leads to stays as it is.
    """
    file.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(file, flags, 0o666), "wb") as stream:
        stream.write(text.encode())
        stream.flush()
        os.fsync(stream.fileno())


def replace_file(file: Path, text: str) -> None:
    """Replace a small file at once: whoever reads it sees the old text or the new one."""
    fresh = file.with_name(f"{file.name}.new")
    write_new(fresh, text)
    fresh.replace(file)


def is_generation_name(name: object) -> bool:
    """Whether this is a name that we give to generations."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def current_name(folder: Path) -> str | None:
    """The name that CURRENT holds; None where there is no such file. Raises IndexStateError for anything else."""
    try:
        text = read_small(folder / CURRENT).decode("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise IndexDamagedError(f"{folder / CURRENT} cannot be read ({error.strerror}).", REBUILD) from None
    name = text.removesuffix("\n")
    if not is_generation_name(name):
        raise IndexDamagedError(f"{folder / CURRENT} does not hold the name of a generation.", REBUILD)
    return name


def known_entries(folder: Path) -> Iterator[Path]:
    """Those of the files that a run writes beside the generations which are there, links included."""
    yield from (folder / name for name in KNOWN_FILES if os.path.lexists(folder / name))
