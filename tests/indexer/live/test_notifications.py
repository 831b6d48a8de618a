"""What users are told if the system cannot report all changes, in processes that really meet these limits."""

import os
import shutil
import subprocess
import sys

import pytest

from indexer.live.watched import NO_INSTANCES, NO_WATCHES

N_FOLDERS = 30
LIMITED = ["unshare", "--user", "--map-root-user"]
# Root may read everything, unless it gives up its capabilities.
WEAKER = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.name == "posix" and os.geteuid() == 0 else []
WATCH = """
import sys
from pathlib import Path
from threading import Event
from indexer.live import watched as module
module.CHECK_SECONDS, module.SILENT_SECONDS = 0.1, 0.3
docs = Path(sys.argv[1])
watched = module.Watched([docs])
print(watched.problem)
(docs / "29" / "new.md").write_text("the moon")
print(watched.wait(Event()) and watched.wait(Event()))
print(watched.problem)
"""


NEW_LIMIT = [*LIMITED, "sh", "-c", "echo 9 > /proc/sys/user/max_inotify_watches"]
needs_namespace = pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("unshare") or subprocess.run(NEW_LIMIT, check=False).returncode != 0,
    reason="the system allows no user namespace",
)


@pytest.fixture
def folders(tmp_path):
    for number in range(N_FOLDERS):
        (tmp_path / "docs" / str(number)).mkdir(parents=True)
    return tmp_path / "docs"


def watching(docs, *, limit=None, value=0, prefix=()):
    """The lines of a process that watches `docs`, with a limit of its own."""
    command = [*prefix, sys.executable, "-c", WATCH, str(docs)]
    if limit is not None:
        command = [*LIMITED, "sh", "-c", f'echo {value} > /proc/sys/user/{limit}; exec "$@"', "sh", *command]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return run.stdout.splitlines()


@pytest.mark.slow
@needs_namespace
@pytest.mark.parametrize(
    ("limit", "value", "line"),
    [("max_inotify_watches", N_FOLDERS - 10, NO_WATCHES), ("max_inotify_instances", 0, NO_INSTANCES)],
)
def test_too_low_a_limit_of_the_system_is_named_and_changes_are_found_periodically(folders, limit, value, line):
    assert watching(folders, limit=limit, value=value) == [line, "True", line]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
@pytest.mark.skipif(WEAKER != [] and shutil.which("setpriv") is None, reason="setpriv is not installed")
def test_a_folder_that_cannot_be_read_makes_all_others_be_checked_periodically(folders):
    """The library stops at such a folder, so that others are not watched."""
    (folders / "7").chmod(0)
    try:
        first, reported, last = watching(folders, prefix=WEAKER)
    finally:
        (folders / "7").chmod(0o700)
    assert first == last and "a folder cannot be read" in first and reported == "True"
