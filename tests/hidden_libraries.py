"""Run Python in a process in which some libraries cannot be found, as if they were not installed."""

import os
import subprocess
import sys

# The finders hide the absent libraries: `import` fails and `find_spec` returns None, as on a machine without them.
HIDE = """
import sys
from importlib.metadata import MetadataPathFinder
absent, finders = set(sys.argv.pop(1).split()), list(sys.meta_path)

class Bare(MetadataPathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            return None
        return next(filter(None, (finder.find_spec(name, path, target) for finder in finders)), None)

sys.meta_path[:] = [Bare]
"""
RUN_MODULE = "import runpy\nrunpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)\n"


def run_module_without(absent, module, *arguments, cwd):
    """`python -m module arguments` without the libraries `absent`, which are names separated by blanks."""
    return run_code_without(absent, RUN_MODULE, module, *arguments, cwd=cwd)


def run_code_without(absent, code, *arguments, cwd):
    """`python -c code arguments` without the libraries `absent`."""
    command = [sys.executable, "-P", "-c", HIDE + code, absent, *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=120)
