import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from indexer.cluster.own_folder import own_folder

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows removes its temporary files itself")

KILLED = """
import os
import signal
from indexer.cluster.own_folder import own_folder

with own_folder():
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_the_folder_is_private_and_removed_at_the_end(temporary):
    with own_folder() as folder:
        assert Path(folder).is_dir()
        assert Path(folder).parent.stat().st_mode & 0o777 == 0o700
    assert not list(temporary.iterdir())


def test_only_the_folders_of_killed_processes_are_removed(temporary):
    others = ["cdesearch-ray-notes", "notes"]
    for name in others:
        (temporary / name / "ray").mkdir(parents=True)
    subprocess.run([sys.executable, "-c", KILLED], env={**os.environ, "TMPDIR": str(temporary)}, check=False)
    assert len(list(temporary.iterdir())) == 3
    with own_folder() as first, own_folder() as second:
        left = {path.name for path in temporary.iterdir()}
    assert left == {*others, Path(first).parent.name, Path(second).parent.name}
