"""Remember where the hits of the last query on a terminal are, and open one of them.

A file is opened in the user's editor at the line of the hit, or with the program of the system for its type. No command
is run by a shell, and a path is always absolute, so that it cannot be read as an option. What is remembered is in a
folder that nobody else can enter: paths and lines, but neither the query nor text of documents.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path, PurePath
from urllib.parse import quote

from cdesearch.cli.hits.render import HitPlace
from cdesearch.errors import CdesearchError, InputError
from cdesearch.store.folder import replace_file
from cdesearch.store.guard import read_small
from cdesearch.store.place import absolute
from cdesearch.store.server_address import is_private
from cdesearch.store.trust import real

FILE = "hits.json"
VIEWER_SECONDS = 3.0  # in which a viewer that cannot open a file ends
# Files of these types are opened with the program of the system, because an editor does not show their text.
VIEWED = {
    "doc", "docx", "epub", "htm", "html", "msg", "odp", "ods", "odt", "parquet", "pdf", "ppt", "pptx", "rtf", "xhtml",
    "xls", "xlsx"
}  # fmt: skip
ANCHORED = {"htm", "html", "xhtml"}  # opened at the section of the hit
# The arguments with which editors open a file at a line. Other editors open it at its start.
EDITORS = {
    ("+{line}", "{file}"): "emacs emacsclient gedit gnome-text-editor gvim jed joe kak mg micro mvim nano ne nvim pico"
    " vi view vim",
    ("--goto", "{file}:{line}"): "code code-insiders codium cursor positron vscodium windsurf",
    ("--line", "{line}", "{file}"): "clion goland idea kate kwrite mate phpstorm pycharm rubymine webstorm",
    ("{file}:{line}",): "helix hx subl sublime_text zed zeditor",
    ("-n{line}", "{file}"): "notepad++",
}
# Windows runs a file of these types instead of showing it. A desktop may run a .desktop file.
_RUN = {
    "app", "appref-ms", "bat", "cmd", "com", "command", "cpl", "desktop", "exe", "hta", "jar", "js", "jse", "lnk",
    "msc", "msi", "pif", "ps1", "reg", "scr", "sh", "url", "vb", "vbe", "vbs", "ws", "wsf", "wsh"
}  # fmt: skip
_NONE = InputError(
    "No hits of an earlier query are known.", "Run `cdesearch query WORDS` on a terminal first, not in a pipe."
)


def state_folder() -> Path:
    """The folder of the user for the state of this program, which may not exist yet."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "cdesearch" / "state"
    configured = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (configured if configured.is_absolute() else Path.home() / ".local" / "state") / "cdesearch"


def remember(places: Sequence[HitPlace]) -> None:
    """Store the places of hits, best first. If the folder cannot be written or is not private, nothing is stored."""
    with suppress(OSError, RuntimeError, UnicodeError):  # a RuntimeError if there is no home folder
        folder = state_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_private(folder):
            return
        replace_file(folder / FILE, json.dumps([asdict(place) for place in places]))


def remembered(number: int) -> HitPlace:
    """The place of a hit of the last query, counted from 1; raises InputError if there is none."""
    try:
        folder = state_folder()
        values = json.loads(read_small(folder / FILE)) if is_private(folder) else None
        places = [HitPlace(**value) for value in values or ()]
    except (OSError, RuntimeError, ValueError, TypeError, RecursionError, CdesearchError):
        raise _NONE from None
    if not places:
        raise _NONE
    if not 1 <= number <= len(places):
        raise InputError(
            f"The last query on a terminal has no hit {number}.", f"Its hits have the numbers 1 to {len(places)}."
        )
    return places[number - 1]


def open_place(place: HitPlace) -> None:
    """Open the file of a hit, and wait for an editor to end.

    The editor is $VISUAL or $EDITOR. Raises InputError if the file no longer exists, is outside of the indexed folder,
    or cannot be opened.
    """
    file = _checked(place)
    editor = None if _suffix(file) in VIEWED else _editor()
    if editor is not None:
        command = editor_command(editor, file, place.line)
        try:
            subprocess.run(command, check=False)
        except OSError as error:
            raise _not_started(command, error) from None
        return
    if _suffix(file) in _RUN or (sys.platform != "win32" and os.access(file, os.X_OK)):
        raise InputError(f"{file} is a program, which is not started.", "Set EDITOR to the name of your editor.")
    if sys.platform == "win32":
        os.startfile(file)
        return
    opener = "open" if sys.platform == "darwin" else "xdg-open"
    if shutil.which(opener) is None:
        raise InputError(f"{opener} is not installed.", f"Set EDITOR to the name of your editor, or open {file}.")
    if place.anchor is not None and _suffix(file) in ANCHORED and opener == "xdg-open":
        with suppress(InputError):  # a program that cannot open an address may open the path
            _view([opener, f"{file.as_uri()}#{quote(place.anchor)}"])
            return
    _view([opener, str(file)])


def editor_command(editor: list[str], file: Path, line: int | None) -> list[str]:
    """The command that opens `file` in an editor, at `line` if the editor is known."""
    name = PurePath(editor[0]).name.lower().removesuffix(".exe").removesuffix(".cmd")
    known = (form for form, names in EDITORS.items() if line and name in names.split())
    return [*editor, *(part.format(file=file, line=line) for part in next(known, ("{file}",)))]


def _editor() -> list[str] | None:
    """The words of $VISUAL or else $EDITOR; None if both are empty. Raises InputError."""
    for name in ("VISUAL", "EDITOR"):
        value = os.environ.get(name, "").strip()
        if value:
            try:
                return shlex.split(value, posix=os.name != "nt")
            except ValueError:
                raise InputError(f"${name} has a quote without an end.", f"Correct {name}.") from None
    return None


def _checked(place: HitPlace) -> Path:
    root = Path(place.root)
    file = absolute(root / place.path)
    if not os.path.isfile(file):  # noqa: PTH113 (Path.is_file fails for a name that is too long)
        archive = next((folder for folder in file.parents if os.path.isfile(folder)), None)  # noqa: PTH113
        if archive is not None and archive.is_relative_to(root):
            raise InputError(f"{file.relative_to(archive)} is in the archive {archive}.", "Unpack it to open the file.")
        raise InputError(f"{file} no longer exists.", "Run `cdesearch index` and search again.")
    if not real(file).is_relative_to(real(root)):
        raise InputError(f"{file} is outside of the indexed folder {root}.", "Open it yourself if you trust it.")
    return file


def _suffix(file: Path) -> str:
    return file.suffix.removeprefix(".").lower()


def _view(command: list[str]) -> None:
    """Start the program of the system for a file, which may stay open; raises InputError if it fails at once."""
    nothing = subprocess.DEVNULL
    try:
        viewer = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True)
    except OSError as error:
        raise _not_started(command, error) from None
    try:
        code = viewer.wait(VIEWER_SECONDS)
    except subprocess.TimeoutExpired:
        return
    if code:
        raise InputError(f"{command[0]} found no program for {command[1]}.", "Install one for files of this type.")


def _not_started(command: list[str], error: OSError) -> InputError:
    return InputError(f"{command[0]} cannot be started ({error.strerror}).", "Set EDITOR to the name of your editor.")
