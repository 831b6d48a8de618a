"""The folder of an index: how it is recognised, and how its small files are read and written.

An index folder may come from an archive or a cloned repository, and then its content cannot be trusted. So nothing is
read, written or removed through a symbolic link, and nothing is written into a folder without the marker of an index.
"""

import os
import re
import shlex
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cdesearch.errors import (
    CdesearchError,
    IndexDamagedError,
    IndexMismatchError,
    IndexNotFoundError,
    IndexStateError,
    IndexUnreadableError,
    IndexUntrustedError,
    InputError,
)
from cdesearch.store.bucket_address import address_of_copies, shown_place
from cdesearch.store.filesystem import open_like, put_in_place, refusal, refusal_of

FOLDER = ".cdesearch"
CURRENT = "CURRENT"  # the file that names the live generation
GENERATIONS = "generations"
CHECKSUMS = "checksums.json"  # of a generation; written last
PLAN = "plan.json"  # of a build; it is removed after the checksums have been written
MARKER = "INDEX"  # written first; a folder without it is never written to
FORMAT = 6
MARK = f"cdesearch index\nformat {FORMAT}\n"
KNOWN_FILES = (  # every file that cdesearch writes beside the generations
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

_MARK = re.compile(r"cdesearch index\nformat (\d{1,9})\n")
_NAME = re.compile(r"[0-9a-f]{12}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def rebuild_command(folder: Path, **changed: str | None) -> str:
    """The command that rebuilds the index in `folder` with its own settings, except for those that are `changed`.

    `model="default"` stands for `--model default`, and `plain=None` for `--plain`. The command reads the settings of
    the index. If these are lost, see `lost_settings_remedy`.
    """
    options = ((f"--{name.replace('_', '-')}", value) for name, value in changed.items())
    named = "".join(f" {option}" if value is None else f" {option} {shlex.quote(value)}" for option, value in options)
    return f"`cdesearch index --rebuild{named} --index {shlex.quote(shown_place(folder))}`"


def rebuild_remedy(folder: Path) -> str:
    """The remedy for a damaged index in `folder`, whose settings can be read."""
    return f"Run {rebuild_command(folder)}."


def lost_settings_remedy(folder: Path) -> str:
    """The remedy for an index in `folder` whose settings cannot be read."""
    command = f"`cdesearch index --rebuild PATH --index {shlex.quote(str(folder))}`"
    return f"Run {command}, with PATH the folder that is indexed, and with --model if it had another than the default."


def repair_remedy(folder: Path) -> str:
    """The remedy for an index in `folder` that has lost its live generation: an earlier one may be whole."""
    if not finished_generations(folder):
        return lost_settings_remedy(folder)
    return f"Run `{_repair_command(folder)}`."


def _repair_command(folder: Path) -> str:
    return f"cdesearch doctor --repair --index {shlex.quote(str(folder))}"


def index_of(file: Path) -> Path:
    """The index folder that contains `file`, which is beside the generations or in one of them."""
    for generation in file.parents:
        if is_generation_name(generation.name) and generation.parent.name == GENERATIONS:
            return generation.parent.parent
    return file.parent


def unreadable(file: Path, error: BaseException) -> IndexStateError:
    """The error for a file of an index that cannot be read; what the system refuses now is not reported as damage."""
    number = refusal_of(error)
    if number is None:
        reason = getattr(error, "strerror", None) or error
        return IndexDamagedError(f"{file} cannot be read ({reason}).", lost_settings_remedy(index_of(file)))
    reason, remedy = refusal(number)
    return IndexUnreadableError(f"{file} cannot be read ({reason}).", remedy)


@contextmanager
def reading(file: Path) -> Iterator[None]:
    """Replace an error of the block by an IndexUnreadableError if the system refuses to read `file` now.

    Everything of an index is read in such a block, also by libraries, whose errors are otherwise taken for damage.
    """
    try:
        yield
    except CdesearchError:
        raise
    except BaseException as error:  # a panic of a Rust library is not an Exception
        if refusal_of(error) is None:
            raise
        raise unreadable(file, error) from error


def check_enterable(folder: Path) -> None:
    """Raise IndexUnreadableError if `folder` cannot be entered or reached, for example for lack of a permission."""
    with suppress(OSError), reading(absolute(folder)):  # an OSError: it does not exist, or is not a folder
        (folder / MARKER).lstat()  # works without the permission to list the folder


def absolute(path: Path) -> Path:
    """The absolute path without "..". Links are not followed."""
    return Path(os.path.abspath(path))  # noqa: PTH100 (Path.resolve would follow links)


def shown_path(path: Path) -> str:
    """The path as valid Unicode: bytes that are not UTF-8 become escapes such as `\\xff`."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def shown_source(path: Path) -> str:
    """A source or root as the user names it: the address of files in a bucket, or what `shown_path` returns."""
    return str(address_of_copies(path) or shown_path(path))


def finished_generations(folder: Path) -> list[Path]:
    """The folders of the generations that a build has completed; raises IndexUnreadableError."""
    with reading(folder / GENERATIONS):
        return [one for one in generations_in(folder) if (one / CHECKSUMS).exists() and not (one / PLAN).exists()]


def begun_generations(folder: Path) -> list[Path]:
    """The folders of the generations that a build has begun and not completed; raises IndexUnreadableError."""
    with reading(folder / GENERATIONS):
        return [one for one in generations_in(folder) if (one / PLAN).exists()]


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
            f"{folder / CURRENT}, which names the live generation, is missing.",
            repair_remedy(folder),
        )


def check_path(folder: Path) -> None:
    """Raise InputError if LanceDB cannot open tables in `folder`: a path must be UTF-8 without control characters."""
    name = str(folder)
    if _CONTROL.search(name) or not _is_utf8(name):
        raise InputError(
            f"No index can be stored in {ascii(name)[1:-1]}: the path has a control character or is not UTF-8.",
            "Name another folder with --index DIR.",
        )


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _build_remedy(folder: Path) -> str:
    named = "" if folder.name == FOLDER else f" --index {shlex.quote(str(folder))}"
    return f"Run `cdesearch index FOLDER{named}`."


def check_marker(folder: Path) -> None:
    """Raise IndexStateError unless `folder` is an index of this format; reads only its marker."""
    check_enterable(folder)
    check_not_linked(folder)
    version = mark_of(folder)
    if version == FORMAT:
        return
    if version is not None:
        raise IndexMismatchError(
            f"{folder} has index format {version}; this cdesearch reads {FORMAT}.", removal_remedy(folder)
        )
    if not os.path.lexists(folder):
        where = folder.parent if folder.name == FOLDER else folder
        raise IndexNotFoundError(f"There is no index in {where}.", _build_remedy(folder))
    is_marked, has_generations = os.path.lexists(folder / MARKER), bool(finished_generations(folder))
    if not has_generations and not os.path.lexists(folder / CURRENT):
        raise IndexNotFoundError(f"{folder} holds no index.", _build_remedy(folder))
    if has_generations or is_marked:
        what = "is not the marker of an index" if is_marked else "is missing"
        remedy = repair_remedy(folder) if has_generations else removal_remedy(folder)
        raise IndexDamagedError(f"{folder / MARKER} {what}.", remedy)
    raise IndexMismatchError(
        f"{folder} has index format 4 or an older one; this cdesearch reads {FORMAT}.", removal_remedy(folder)
    )


def removal_remedy(folder: Path) -> str:
    """The remedy for a folder that this version cannot recognise as an index."""
    again = f"`cdesearch index PATH --index {shlex.quote(str(folder))}`"
    return f"Remove the folder {folder} if it is your own index, and run {again}."


def mark_of(folder: Path) -> int | None:
    """The format in the marker of an index; None if `folder` has no such marker. Raises IndexUnreadableError."""
    try:
        found = _MARK.fullmatch(read_small(folder / MARKER).decode("utf-8", "replace"))
    except (OSError, IndexDamagedError, IndexUntrustedError):
        return None
    return int(found[1]) if found else None


def check_not_linked(path: Path) -> None:
    """Raise IndexUntrustedError if `path`, an index folder or a part of one, is a symbolic link or a junction."""
    if path.is_symlink() or _is_junction(path):
        remedy = "Name the real folder with --index DIR, or remove the link."
        index = path.parent if (path.parent / MARKER).is_file() else index_of(path / MARKER)
        if index != path:
            remedy = f"Remove the link, then run `{_repair_command(index)}`."
        raise IndexUntrustedError(f"{path} is a symbolic link, which an index may not contain.", remedy)


def _is_junction(path: Path) -> bool:
    """Whether `path` is a junction, a second kind of link on Windows. `Path.is_junction` needs Python 3.12."""
    if os.name != "nt":
        return False
    try:
        tag = getattr(path.lstat(), "st_reparse_tag", 0)
    except OSError:
        return False
    return bool(tag == getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", None))


def check_tree(folder: Path) -> None:
    """Raise IndexUntrustedError if `folder`, or anything below it, is neither a plain file nor a folder."""
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
    return IndexUntrustedError(f"{path} is not a plain file. An index consists of plain files only.", "Remove it.")


def read_small(file: Path, limit: int = MAX_SMALL_FILE) -> bytes:
    """The content of a plain file of at most `limit` bytes; links are not followed.

    Raises OSError if there is none, IndexUnreadableError if the system cannot read it now, IndexUntrustedError for a
    link, and IndexDamagedError if it is larger.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with reading(file):
        check_not_linked(file)
        descriptor = os.open(file, flags)
        with os.fdopen(descriptor, "rb") as stream:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise _not_plain(file)
            if found.st_size > limit:
                raise IndexDamagedError(
                    f"{file} is larger than {limit:,} bytes, the limit for such a file of an index.",
                    lost_settings_remedy(index_of(file)),
                )
            return stream.read()


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


def is_generation_name(name: object) -> bool:
    """Whether this is a name of the form that generations have."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


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


def known_entries(folder: Path) -> Iterator[Path]:
    """The paths of KNOWN_FILES that exist in an index folder, links included."""
    yield from (folder / name for name in KNOWN_FILES if os.path.lexists(folder / name))
