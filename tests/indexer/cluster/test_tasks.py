import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.slow
pytest.importorskip("ray")

TASK_OF_A_CLUSTER_WHOSE_HEAD_ENDS = """
import os, sys, threading, time
import psutil
from cdesearch.errors import ClusterError
from indexer.cluster.engine import results
from indexer.cluster.session import connected

def end_head():
    [head] = [one for one in psutil.Process().children(recursive=True) if one.name().startswith("gcs_server")]
    head.kill()

with connected(None, 1):
    import ray
    task = ray.remote(lambda seconds: time.sleep(seconds))
    assert list(results(task.remote, [0, 0, 0], 2)) == [(0, None)] * 3
    threading.Timer(1, end_head).start()
    try:
        list(results(task.remote, [300], 1))
    except ClusterError as error:
        print(error.cause, flush=True)
        os._exit(0)  # to disconnect from a cluster without a head takes a minute
"""


def test_a_task_fails_within_seconds_when_the_head_of_its_cluster_ends():
    started = time.monotonic()
    command = [sys.executable, "-c", TASK_OF_A_CLUSTER_WHOSE_HEAD_ENDS]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "does not answer any more" in run.stdout, run.stderr[-2000:]
    assert time.monotonic() - started < 50
