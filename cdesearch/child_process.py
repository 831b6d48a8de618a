"""How this program starts itself again as another process.

A working directory may contain files that somebody else wrote, such as a cloned repository with a `typer.py`. A process
that is started here imports no modules from its working directory.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Thread

NO_CONFIG = "CDESEARCH_NO_CONFIG"  # the environment variable without which commands read configuration files
DETACHED = 0  # lets a process on Windows outlive its terminal
if sys.platform == "win32":
    DETACHED = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP


def python_module(name: str, *arguments: str) -> list[str]:
    """The command that runs a module with this Python; -P leaves the working directory out of the module path."""
    return [sys.executable, "-P", "-m", name, *arguments]


def same_modules() -> dict[str, str]:
    """The environment of this process, with its module path; an empty entry would be the working directory.

    Commands in it read no configuration, because the command that starts them has done so.
    """
    return os.environ | {"PYTHONPATH": os.pathsep.join(folder for folder in sys.path if folder), NO_CONFIG: "1"}


def start_detached(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    """Start a process that outlives this one and its terminal, with its output in the private file `log`."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC
    with os.fdopen(os.open(log, flags, 0o600), "ab") as stream:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            env=environment,
            start_new_session=True,
            creationflags=DETACHED,
        )
    Thread(target=process.wait, daemon=True).start()  # as long as this process lives, the other leaves nothing behind
    return process
