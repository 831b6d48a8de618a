"""Run commands as processes of their own, like a user."""

import os
import shutil
import subprocess
import sys

import pytest

needs_strace = pytest.mark.skipif(
    shutil.which("strace") is None, reason="strace is not installed: no kill in a system call"
)


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


def kill_in(call, number, *arguments):
    """Kill a command at the system call of this number in one of its threads.

    Without `--seccomp-bpf`, with which some versions of strace deliver no signal.
    """
    inject = ["-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}"]
    run = subprocess.run(
        ["strace", "-f", "-o", os.devnull, *inject, *arguments],
        capture_output=True,
        check=False,
        timeout=300,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},  # bytecode files are renamed as well
    )
    assert run.returncode in (-9, 137), "the command ended before"
