"""Open the file of a hit: in the user's editor at the line of the hit, or with the program of the system for the type.

No command is run by a shell. The path is always absolute, so that it cannot be read as an option.
"""

import os
import shlex
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path, PurePath
from urllib.parse import quote

from cdesearch.cli.hits.last_hits import HitPlace
from cdesearch.cli.hits.unpacking import unpacked_copy
from cdesearch.errors import InputError
from cdesearch.store.place import absolute
from cdesearch.store.trust import real

VIEWER_SECONDS = 3.0  # in which a viewer that cannot open a file ends
# Files of these types are opened with the program of the system, because an editor does not show their text.
VIEWED = {
    "docx", "epub", "htm", "html", "odp", "ods", "odt", "parquet", "pdf", "pptx", "rtf", "xhtml", "xlsx"
}  # fmt: skip
PACKED = {"bz2", "gz", "xz", "zst"}  # a copy of the contents is opened
ANCHORED = {"htm", "html", "xhtml"}  # opened at the section of the hit
# The forms in which editors accept a line. An editor that is in none of these sets opens the file at its start.
_PLUS = {
    "emacs", "emacsclient", "gedit", "gnome-text-editor", "gvim", "jed", "joe", "kak", "mg", "micro", "mvim", "nano",
    "ne", "nvim", "pico", "vi", "view", "vim"
}  # fmt: skip # +LINE FILE
_COLON = {"helix", "hx", "subl", "sublime_text", "zed", "zeditor"}  # FILE:LINE
_GOTO = {"code", "code-insiders", "codium", "cursor", "positron", "vscodium", "windsurf"}  # --goto FILE:LINE
_LINE = {
    "clion", "goland", "idea", "kate", "kwrite", "mate", "phpstorm", "pycharm", "rubymine", "webstorm"
}  # fmt: skip # --line LINE FILE
# Windows runs a file of these types instead of showing it. A desktop may run a .desktop file.
_RUN = {
    "app", "appref-ms", "bat", "cmd", "com", "command", "cpl", "desktop", "exe", "hta", "jar", "js", "jse", "lnk",
    "msc", "msi", "pif", "ps1", "reg", "scr", "sh", "url", "vb", "vbe", "vbs", "ws", "wsf", "wsh"
}  # fmt: skip


def open_place(place: HitPlace) -> None:
    """Open the file of a hit, and wait for an editor to end.

    The editor is $VISUAL or $EDITOR. Of a compressed file, a copy of its contents is opened. Raises InputError if the
    file no longer exists, is outside of the indexed folder, or cannot be opened.
    """
    file = _checked(place)
    if _suffix(file) in PACKED:
        file = unpacked_copy(file)
    editor = None if _suffix(file) in VIEWED else _editor()
    if editor is not None:
        _edit(editor_command(editor, file, place.line))
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
    """Return the command that opens `file` in an editor, at `line` if the editor is known."""
    name = PurePath(editor[0]).name.lower().removesuffix(".exe").removesuffix(".cmd")
    if line:
        if name in _PLUS:
            return [*editor, f"+{line}", str(file)]
        if name in _GOTO:
            return [*editor, "--goto", f"{file}:{line}"]
        if name in _LINE:
            return [*editor, "--line", str(line), str(file)]
        if name in _COLON:
            return [*editor, f"{file}:{line}"]
        if name == "notepad++":
            return [*editor, f"-n{line}", str(file)]
    return [*editor, str(file)]


def _editor() -> list[str] | None:
    """Return the words of $VISUAL or else $EDITOR; None if both are empty. Raises InputError."""
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
        raise InputError(f"{file} no longer exists.", "Run `cdesearch index` and search again.")
    if not real(file).is_relative_to(real(root)):
        raise InputError(f"{file} is outside of the indexed folder {root}.", "Open it yourself if you trust it.")
    return file


def _suffix(file: Path) -> str:
    return file.suffix.removeprefix(".").lower()


def _edit(command: list[str]) -> None:
    try:
        subprocess.run(command, check=False)
    except OSError as error:
        raise _not_started(command, error) from None


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
