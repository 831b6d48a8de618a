import subprocess
import sys
import time

from indexer.workers.process import MOST_STEP, Stopwatch


def test_time_in_which_this_process_was_suspended_does_not_count():
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        stopwatch = Stopwatch(process.pid)
        stopwatch.seconds()
        time.sleep(MOST_STEP + 0.4)
        assert stopwatch.seconds() <= MOST_STEP
        process.kill()
