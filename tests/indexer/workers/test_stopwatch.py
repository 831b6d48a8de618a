import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from indexer.workers.process import MOST_STEP, Stopwatch

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports the state of a process")


@contextmanager
def python(program):
    with subprocess.Popen([sys.executable, "-c", f"print(flush=True)\n{program}"], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield process.pid
        process.kill()


def measured(process, seconds):
    stopwatch, end = Stopwatch(process), time.monotonic() + seconds
    while time.monotonic() < end:
        stopwatch.seconds()
        time.sleep(0.02)
    return stopwatch.seconds()


def test_a_process_that_waits_spends_the_time_on_the_clock():
    with python("import time; time.sleep(60)") as process:
        assert measured(process, 0.5) == pytest.approx(0.5, abs=0.2)


@only_linux
def test_a_process_that_computes_spends_at_most_its_processor_time():
    with python("while True: pass") as process:
        assert 0 < measured(process, 0.5) < 0.6


def test_time_in_which_this_process_was_suspended_does_not_count():
    with python("import time; time.sleep(60)") as process:
        stopwatch = Stopwatch(process)
        stopwatch.seconds()
        time.sleep(MOST_STEP + 0.4)
        assert stopwatch.seconds() <= MOST_STEP
