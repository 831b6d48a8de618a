"""Run commands as processes of their own, like a user."""

import os
import subprocess
import sys


def clean_environment(home, **more):
    """The environment of a new user: an empty HOME, and no variables that silence a dependency."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH") if name in os.environ}
    folders = {"HOME": home, "TMPDIR": home.parent / "tmp"}
    folders["TMPDIR"].mkdir(exist_ok=True)
    return kept | {name: str(folder) for name, folder in folders.items()} | more


def run_cdesearch(*arguments, code=0, prefix=(), **options):
    """Run one command; it must end with `code`, without a traceback and, if it fails, with one line on stderr."""
    command = [*prefix, sys.executable, "-m", "cdesearch", *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, **options)
    assert run.returncode == code, (run.returncode, run.stderr)
    assert "Traceback" not in run.stderr
    if code not in (0, 1, 3):
        assert len(run.stderr.splitlines()) == 1, run.stderr
    return run
