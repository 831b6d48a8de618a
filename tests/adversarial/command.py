"""The command line as a process of its own, and pictures of folders to compare."""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

STAGE = re.compile(r"(Looking for files|Reading|Counting words|Embedding|Writing|Indexing words).{0,20}")


def cdesearch(*arguments, cwd, code=0, **environment):
    """Run `cdesearch`; the error is one line, and never a traceback."""
    command = [sys.executable, "-m", "cdesearch", *map(str, arguments)]
    run = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, env=os.environ | environment, timeout=120
    )
    assert run.returncode == code, (run.returncode, run.stderr)
    assert "Traceback" not in run.stderr
    if code == 2:
        errors = [line for line in run.stderr.splitlines() if not STAGE.fullmatch(line)]
        assert len(errors) == 1 and errors[0].startswith(("error: ", "Usage")), run.stderr
    return run


def picture(folder: Path) -> dict[str, str]:
    """Every entry below `folder`, with the hash of a file, the target of a link."""
    seen = {}
    for place, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            entry = Path(place) / name
            if entry.is_symlink():
                seen[str(entry)] = f"link to {entry.readlink()}"
            elif entry.is_dir():
                seen[str(entry)] = "folder"
            else:
                seen[str(entry)] = hashlib.sha256(entry.read_bytes()).hexdigest()
    return seen
