"""Find and read the configuration files: that of the project, and that of the user.

A project's file may come with a folder that somebody else made, so it is read like a part of an index: it must be a
plain, small file of this user. Every command reads these files, so no large library is imported here.
"""

import os
import stat
import sys
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cdesearch.child_process import NO_CONFIG
from cdesearch.errors import InputError
from cdesearch.store.filesystem import is_own
from cdesearch.store.trust import trust_file
from cdesearch.terminal import printable

PROJECT_FILE = ".cdesearch.toml"
USER_FILE = "config.toml"
NEVER_OF_PROJECTS = frozenset({"yes", "open", "serve"})  # flags that replace a question, or start a program
MAX_BYTES = 64_000
REMEDY = "Correct or remove this file. `cdesearch config` checks all of it."


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A configuration file with its options, by the names of the command and of the option."""

    path: Path
    is_project: bool  # whether somebody else may have written it
    sections: Mapping[str, Mapping[str, object]]


def config_files() -> list[ConfigFile]:
    """The files that exist: the project's, and then that of the user, whose options have a lower priority.

    Raises InputError for a file that cannot be read. There are none if the environment variable CDESEARCH_NO_CONFIG is
    set, as it is in processes that other commands start.
    """
    if os.environ.get(NO_CONFIG):
        return []
    user, project = user_file(), project_file()
    files = [] if project is None else [ConfigFile(project, True, _sections(project, is_project=True))]
    if user is not None and user.exists():
        files.append(ConfigFile(user, False, _sections(user, is_project=False)))
    return files


def check_sections(files: Collection[ConfigFile], commands: Collection[str]) -> None:
    """Raise InputError for a section that is not named like a command."""
    for file in files:
        for name in file.sections:
            if name not in commands:
                raise InputError(
                    f"{printable(str(file.path))} has a section [{printable(name)[:80]}], and there is no such command"
                    f"{did_you_mean(name, commands)}.",
                    REMEDY,
                )


def did_you_mean(name: str, known: Collection[str]) -> str:
    """The part of a sentence that names the most similar of the known names, if one is similar."""
    from difflib import get_close_matches

    near = get_close_matches(name.replace("_", "-"), known, n=1, cutoff=0.6)
    return f" (did you mean {near[0]}?)" if near else ""


def user_file() -> Path | None:
    """The path of the user's file, which may not exist; None if this user has no home folder."""
    try:
        return trust_file().with_name(USER_FILE)
    except OSError:
        return None


def project_file() -> Path | None:
    """The nearest project's file upward from the working directory, or None.

    The search ends at the home folder, and before the first folder that belongs to another user. A file of another
    user is not used, and a message is printed on stderr.
    """
    with suppress(OSError):
        start = Path.cwd()
        home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111 (Path.home fails without a home folder)
        for folder in (start, *start.parents):
            file = folder / PROJECT_FILE
            found = file.lstat() if os.path.lexists(file) else None
            if not is_own(folder.stat()) or (found is not None and not is_own(found)):
                if found is not None:
                    _tell_of_foreign(file)
                return None
            if found is not None:
                return file
            if str(folder) == home:
                return None
    return None


@cache  # the files are looked for more than once
def _tell_of_foreign(file: Path) -> None:
    sys.stderr.write(f"{printable(str(file))} or its folder belongs to another user, so it is not used.\n")


def _sections(file: Path, *, is_project: bool) -> dict[str, dict[str, object]]:
    """The sections of a file; raises InputError for one that cannot be read, and for a key outside them."""
    from tomllib import loads  # only if there is a file: the import takes some milliseconds

    shown = printable(str(file))
    try:
        sections = loads(_content(file, is_project=is_project).decode())
    except OSError as error:
        raise InputError(f"The configuration {shown} cannot be read ({error.strerror or error}).", REMEDY) from None
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else printable(str(error))[:200]
        raise InputError(f"The configuration {shown} is not valid TOML ({reason}).", REMEDY) from None
    for name, section in sections.items():
        if not isinstance(section, dict):
            raise InputError(
                f"{shown} sets {printable(name)[:80]} outside a section.",
                "Put it below the name of a command, as [query].",
            )
    return sections


def _content(file: Path, *, is_project: bool) -> bytes:
    """The bytes of a plain file. A link of a project is not followed: it could lead to any file."""
    if is_project and file.is_symlink():
        raise OSError("it is a symbolic link")
    links = getattr(os, "O_NOFOLLOW", 0) if is_project else 0
    descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | links)
    with os.fdopen(descriptor, "rb") as stream:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError("it is not a plain file")
        if is_project and not is_own(found):
            raise OSError("it belongs to another user")
        content = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise OSError(f"it has more than {MAX_BYTES:,} bytes")
    return content
