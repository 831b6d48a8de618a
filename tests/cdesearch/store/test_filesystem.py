"""What differs between operating systems. The paths of both are tested on either."""

import ntpath
import os
import posixpath
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import Timeout

from cdesearch.store import filesystem
from cdesearch.store.filesystem import folder_prefix, lock_of, put_in_place, relative_posix


@pytest.mark.parametrize(
    ("file", "root", "paths", "relative"),
    [
        (r"C:\docs\a\b.md", r"C:\docs", ntpath, "a/b.md"),
        (r"C:\docs\a\b.md", "C:/docs/", ntpath, "a/b.md"),
        (r"c:\Docs\b.md", r"C:\docs", ntpath, "b.md"),
        (r"C:\other\b.md", r"C:\docs\deep", ntpath, "../../other/b.md"),
        (r"\\host\share\docs\b.md", r"\\host\share\docs", ntpath, "b.md"),
        ("/docs/a/b.md", "/docs", posixpath, "a/b.md"),
        ("/docs/a\\b.md", "/docs", posixpath, "a\\b.md"),
        ("/other/b.md", "/docs/deep", posixpath, "../../other/b.md"),
    ],
)
def test_the_parts_of_a_path_are_separated_by_slashes(file, root, paths, relative):
    assert relative_posix(file, root, paths) == relative


@pytest.mark.parametrize(
    ("folder", "paths", "prefix"),
    [
        ("/docs", posixpath, "/docs/"),
        ("/", posixpath, "/"),
        ("/docs\\", posixpath, "/docs\\/"),
        (r"C:\docs", ntpath, "C:\\docs\\"),
        ("C:\\", ntpath, "C:\\"),
        (r"\\host\share", ntpath, "\\\\host\\share\\"),
    ],
)
def test_the_paths_of_all_files_in_a_folder_begin_with_its_prefix(folder, paths, prefix):
    assert folder_prefix(folder, paths) == prefix
    assert paths.join(folder, "a.md") == prefix + "a.md"


def test_on_windows_a_file_is_replaced_as_soon_as_its_reader_closes_it(tmp_path, monkeypatch):
    """`Path.replace` fails as it does on Windows while the target is open."""
    replace, left = Path.replace, [3]

    def refuse(path, target):
        if left[0]:
            left[0] -= 1
            raise PermissionError(13, "Access is denied")
        return replace(path, target)

    (tmp_path / "new").write_text("new")
    monkeypatch.setattr(Path, "replace", refuse)
    monkeypatch.setattr(filesystem.os, "name", "nt")
    put_in_place(tmp_path / "new", tmp_path / "old")
    monkeypatch.undo()
    assert (tmp_path / "old").read_text() == "new"


def test_a_lock_that_another_process_holds_is_refused_and_is_free_after_the_process_was_killed(tmp_path):
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from cdesearch.store.filesystem import lock_of\n"
        "with lock_of(Path(sys.argv[1]), wait=True):\n"
        "    print('locked', flush=True)\n"
        "    time.sleep(600)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "lock")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "locked\n"
        with pytest.raises(Timeout), lock_of(tmp_path / "lock", wait=False):
            pass
        process.kill()
    with lock_of(tmp_path / "lock", wait=True):
        assert os.path.lexists(tmp_path / "lock")
