"""The folder of an index: how it is recognised, and how its small files are read and written."""

import os
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from cdesearch.errors import IndexDamagedError, IndexMismatchError, IndexNotFoundError, IndexUntrustedError, InputError
from cdesearch.store.filesystem import open_like, put_in_place
from cdesearch.store.guard import check_enterable, check_not_linked, read_small, reading, unreadable
from cdesearch.store.layout import (
    CHECKSUMS,
    CURRENT,
    FOLDER,
    FORMAT,
    GENERATIONS,
    KNOWN_FILES,
    MARKER,
    PLAN,
    is_generation_name,
    lost_settings_remedy,
    repair_command,
)

_MARK = re.compile(r"cdesearch index\nformat (\d{1,9})\n")
_UNUSABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")  # control characters, and bytes that are not UTF-8


def finished_generations(folder: Path) -> list[Path]:
    """The folders of the generations that a build has completed; raises IndexUnreadableError."""
    with reading(folder / GENERATIONS):
        return [one for one in generations_in(folder) if (one / CHECKSUMS).exists() and not (one / PLAN).exists()]


def generations_in(folder: Path) -> list[Path]:
    """All real folders that have names of generations, whoever made them; raises IndexUnreadableError."""
    with suppress(OSError), reading(folder / GENERATIONS):
        found = (one for one in (folder / GENERATIONS).iterdir() if is_generation_name(one.name))
        return sorted(one for one in found if one.is_dir() and not one.is_symlink())
    return []


def check_nothing_lost(folder: Path) -> None:
    """Raise IndexDamagedError if a built index has lost its CURRENT: a new build would replace the index."""
    if finished_generations(folder):
        raise IndexDamagedError(
            f"{folder / CURRENT}, which names the live generation, is missing.", repair_remedy(folder)
        )


def repair_remedy(folder: Path) -> str:
    """The remedy for an index in `folder` that has lost its live generation: an earlier one may be whole."""
    if not finished_generations(folder):
        return lost_settings_remedy(folder)
    return f"Run `{repair_command(folder)}`."


def check_path(folder: Path) -> None:
    """Raise InputError if LanceDB cannot open tables in `folder`: a path must be UTF-8 without control characters."""
    name = str(folder)
    if _UNUSABLE.search(name):
        raise InputError(
            f"No index can be stored in {ascii(name)[1:-1]}: the path has a control character or is not UTF-8.",
            "Name another folder with --index DIR.",
        )


def check_marker(folder: Path) -> None:
    """Raise IndexStateError unless `folder` is an index of this format; reads only its marker."""
    check_enterable(folder)
    check_not_linked(folder)
    version = mark_of(folder)
    if version == FORMAT:
        return
    if version is not None:
        beside = shlex.quote(str(folder.parent)) if folder.name == FOLDER else "PATH"
        remedy = f"`cdesearch index {beside} --index {shlex.quote(str(folder))}` builds it again."
        if version > FORMAT:
            remedy = "Use a newer cdesearch, or name another --index DIR."
        raise IndexMismatchError(f"{folder} has index format {version}; this cdesearch reads {FORMAT}.", remedy)
    if not os.path.lexists(folder):
        where = folder.parent if folder.name == FOLDER else folder
        raise IndexNotFoundError(f"There is no index in {where}.", _build_remedy(folder))
    if not finished_generations(folder) and not os.path.lexists(folder / CURRENT):
        raise IndexNotFoundError(f"{folder} holds no index.", _build_remedy(folder))
    what = "is not the marker of an index" if os.path.lexists(folder / MARKER) else "is missing"
    raise IndexDamagedError(
        f"{folder / MARKER} {what}.",
        f"Remove the folder {folder} if it is your own index, and run"
        f" `cdesearch index PATH --index {shlex.quote(str(folder))}`.",
    )


def is_older(folder: Path) -> bool:
    """Whether this is an index of an older format, which can only be built again or removed. Raises IndexStateError."""
    return (mark_of(folder) or FORMAT) < FORMAT


def mark_of(folder: Path) -> int | None:
    """The format in the marker of an index; None if `folder` has no such marker. Raises IndexUnreadableError."""
    try:
        found = _MARK.fullmatch(read_small(folder / MARKER).decode("utf-8", "replace"))
    except (OSError, IndexDamagedError, IndexUntrustedError):
        return None
    return int(found[1]) if found else None


def _build_remedy(folder: Path) -> str:
    quoted = shlex.quote(str(folder.parent if folder.name == FOLDER else folder))
    return f"Run `cdesearch index {'' if folder.name == FOLDER else 'FOLDER --index '}{quoted}`."


def current_name(folder: Path) -> str | None:
    """The name in the file CURRENT; None if there is no such file. Raises IndexStateError for any other content."""
    try:
        text = read_small(folder / CURRENT).decode("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise unreadable(folder / CURRENT, error) from None
    name = text.removesuffix("\n")
    if not is_generation_name(name):
        raise IndexDamagedError(f"{folder / CURRENT} does not hold the name of a generation.", repair_remedy(folder))
    return name


def named_generation(folder: Path) -> Path | None:
    """The generation that CURRENT names, whether or not it exists; None if it is damaged and names none.

    Raises IndexUnreadableError.
    """
    try:
        name = current_name(folder)
    except (IndexDamagedError, IndexUntrustedError):
        return None
    return folder / GENERATIONS / name if name else None


def known_entries(folder: Path) -> Iterator[Path]:
    """The paths of KNOWN_FILES that exist in an index folder, links included."""
    yield from (folder / name for name in KNOWN_FILES if os.path.lexists(folder / name))


def write_new(file: Path, text: str) -> None:
    """Write a new file at the path `file`, flushed to disk, for the users who may enter its folder.

    An existing file is removed first and never opened, so the target of a symbolic or hard link does not change.
    """
    file.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(file, flags, 0o600), "wb") as stream:
        open_like(file, file.parent.stat().st_mode)
        stream.write(text.encode())
        stream.flush()
        os.fsync(stream.fileno())


def replace_file(file: Path, text: str) -> None:
    """Replace a small file atomically: a reader sees either the old text or the new text."""
    fresh = file.with_name(f"{file.name}.new")
    write_new(fresh, text)
    put_in_place(fresh, file)
