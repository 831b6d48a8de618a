"""The number of processors that searches use."""

import os
import subprocess
import sys

import pytest

import cdesearch
from cdesearch.process_limits import available_processors


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system does not bind processes to processors")
def test_only_processors_that_the_process_may_use_count():
    allowed = os.sched_getaffinity(0)
    assert available_processors() == len(allowed)
    program = (
        "import os\nos.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "from cdesearch.process_limits import available_processors\nprint(available_processors())"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "1\n"


@pytest.mark.parametrize("given", [None, pytest.param("3", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_lancedb_compares_vectors_on_all_processors_unless_the_user_decides_otherwise(given, tmp_path):
    (tmp_path / "a.md").write_text("# Cats\n\nA cat purrs.\n")
    cdesearch.build(tmp_path)
    program = (
        "import os, sys, cdesearch\n"
        "with cdesearch.open(sys.argv[1]) as index: index.search('cat')\nprint(os.environ['LANCE_CPU_THREADS'])"
    )
    environment = {name: value for name, value in os.environ.items() if name != "LANCE_CPU_THREADS"}
    if given is not None:
        environment["LANCE_CPU_THREADS"] = given
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"{given or available_processors()}\n"
