"""Run the command line, in this process or as a user would, and take snapshots of folders to compare."""

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import pytest

from cdesearch.cli import main as cli
from cdesearch.cli import start

STAGES = "Questions|Checking files|Looking for files|Reading|Counting words|Embedding|Writing|Indexing words"
STAGE = re.compile(rf"({STAGES}).{{0,50}}")


SEVERAL = """
import json, sys
from command import run_here
for arguments in json.load(sys.stdin):
    run = run_here(arguments, ".")
    print(json.dumps([run.returncode, run.stdout, run.stderr]))
"""

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


def cdesearch(*arguments, cwd, code=0, **environment):
    """Run `cdesearch` within this process, or as a process if environment variables are given, which imports read.

    An error must be one line, and never a traceback.
    """
    if environment:
        return cdesearch_process(*arguments, cwd=cwd, code=code, **environment)
    return _checked(run_here(arguments, cwd), code)


def cdesearch_process(*arguments, cwd, code=0, prefix=(), env=None, **environment):
    """Run `cdesearch` as a process of its own, behind `prefix`; `env` replaces the environment of this process."""
    command = [*prefix, sys.executable, "-m", "cdesearch", *map(str, arguments)]
    environment = (os.environ if env is None else env) | environment
    options = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "errors": "surrogateescape"}
    run = subprocess.run(command, cwd=cwd, env=environment, check=False, timeout=120, **options)
    return _checked(run, code)


def cdesearch_several(*commands, cwd, prefix=(), **environment):
    """Run several commands, (arguments, exit code) each, one after another in one process of their own.

    `prefix` is a command that starts it.
    """
    process = subprocess.run(
        [*prefix, sys.executable, "-c", SEVERAL],
        cwd=cwd,
        input=json.dumps([[*map(str, arguments)] for arguments, _ in commands]),
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | environment,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    lines = [json.loads(line) for line in process.stdout.splitlines()]
    return [
        _checked(subprocess.CompletedProcess(arguments, *line), code)
        for (arguments, code), line in zip(commands, lines, strict=True)
    ]


def run_here(arguments, cwd):
    """Run the whole command line within this process, from its arguments to its exit code."""
    command = ["cdesearch", *map(str, arguments)]
    streams = {
        name: io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors=errors)
        for name, errors in (("stdout", "strict"), ("stderr", "backslashreplace"))
    }
    with pytest.MonkeyPatch.context() as patched, chdir(cwd):
        patched.setattr(sys, "argv", command)
        for name, stream in streams.items():
            patched.setattr(sys, name, stream)
        patched.setattr(cli.app, "registered_commands", [*cli.app.registered_commands])
        for name in ("prepare_libraries", "leave_out_pandas"):  # later tests may need these modules
            patched.setattr(f"cdesearch.slim_imports.{name}", lambda: None)
        with pytest.raises(SystemExit) as ended:
            start.main()
    written = {name: stream.buffer.getvalue().decode("utf-8") for name, stream in streams.items()}
    return subprocess.CompletedProcess(command, ended.value.code or 0, **written)


def _checked(run, code):
    assert code is None or run.returncode == code, (run.returncode, run.stderr)
    assert "Traceback" not in run.stderr
    if code == 2:
        errors = [line for line in run.stderr.splitlines() if not STAGE.fullmatch(line)]
        assert len(errors) == 1 and errors[0].startswith(("error: ", "Usage")), run.stderr
    return run


def kill_in(call, number, *arguments):
    """Kill a command at the system call of this number in one of its threads.

    Without `--seccomp-bpf`, with which some versions of strace deliver no signal.
    """
    inject = ["-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}"]
    run = subprocess.run(
        ["strace", "-f", "-o", os.devnull, *inject, *map(str, arguments)],
        capture_output=True,
        check=False,
        timeout=300,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},  # bytecode files are renamed as well
    )
    assert run.returncode in (-9, 137), "the command ended before"


def clean_environment(home):
    """The environment of a new user: an empty HOME, which is made, and no variables that silence a dependency."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH") if name in os.environ}
    folders = {"HOME": home, "TMPDIR": home.parent / "tmp"}
    for folder in folders.values():
        folder.mkdir(exist_ok=True)
    return kept | {name: str(folder) for name, folder in folders.items()}


def picture(folder: Path) -> dict[str, str]:
    """Every entry below `folder`: the hash of a file, or the target of a link."""
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
