"""How this program starts itself again as another process.

A working directory may contain files that somebody else wrote, such as a cloned repository with a `typer.py`. A process
that is started here imports no modules from its working directory.
"""

import os
import sys

NO_CONFIG = "CDESEARCH_NO_CONFIG"  # the environment variable without which commands read configuration files


def python_module(name: str, *arguments: str) -> list[str]:
    """The command that runs a module with this Python; -P leaves the working directory out of the module path."""
    return [sys.executable, "-P", "-m", name, *arguments]


def same_modules() -> dict[str, str]:
    """The environment of this process, with its module path; an empty entry would be the working directory.

    Commands in it read no configuration, because the command that starts them has done so.
    """
    return os.environ | {"PYTHONPATH": os.pathsep.join(folder for folder in sys.path if folder), NO_CONFIG: "1"}
