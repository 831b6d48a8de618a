"""Builds on clusters of two simulated machines, some of whose processes are killed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import psutil
import pytest
from built import WORDS, assert_same, contents, make_index, stored_tokens

from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from cdesearch.store.vocabulary import VOCABULARY

pytestmark = pytest.mark.slow
pytest.importorskip("ray")

ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": "0123456789abcdef" * 4,
}
N_CHUNKS = 6_000
TWO_MACHINES = """
import sys
from ray.cluster_utils import Cluster

cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100_000_000})
cluster.add_node(num_cpus=1, object_store_memory=100_000_000)
print(cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
"""


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """JSONL files of records, some of which have the same text."""
    folder = tmp_path_factory.mktemp("records")
    generator = np.random.default_rng(0)
    for number in range(4):
        lines = [
            json.dumps({"id": f"{number}-{row}", "text": " ".join(generator.choice(WORDS, 12)) + f" {row % 1_000}"})
            for row in range(N_CHUNKS // 4)
        ]
        (folder / f"{number}.jsonl").write_text("\n".join(lines))
    return folder


@pytest.fixture(scope="module")
def expected(records, tiny_checkpoint):
    make_index([records], model=tiny_checkpoint)
    found = contents(records), hits(records), stored_tokens(records)
    shutil.rmtree(records / ".cdesearch")
    return found


def hits(docs):
    searcher = Searcher(Index.open(docs))
    words = ["the cat and the moon", "bread 17", "river stone light"]
    found = [searcher.search(word, 10, mode) for word in words for mode in ("hybrid", "dense", "text")]
    return [(hit.chunk.id, hit.score) for of_one in found for hit in of_one]


@pytest.fixture(scope="module")
def cluster():
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    command = [sys.executable, "-c", TWO_MACHINES]
    process = subprocess.Popen(command, **streams, text=True, env={**os.environ, **ENVIRONMENT})
    try:
        yield process.stdout.readline().strip(), psutil.Process(process.pid)
    finally:
        process.communicate("")


@pytest.fixture
def docs(records):
    yield records
    shutil.rmtree(records / ".cdesearch", ignore_errors=True)


@contextmanager
def indexing(docs, model, *options):
    command = [sys.executable, "-m", "cdesearch", "index", docs, "--model", model, "--engine", "ray", "--json"]
    environment = {**os.environ, **ENVIRONMENT}
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for(condition, process, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None and time.monotonic() < end, "the build has ended before"
        time.sleep(0.01)


def vector_files(docs):
    return list(docs.glob(".cdesearch/generations/*/tables/first_stage.lance/data/*"))


def finished(process):
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors.decode()
    return json.loads(output)


def test_a_cluster_on_this_machine_builds_the_same_index_and_leaves_nothing(docs, expected, tiny_checkpoint, tmp_path):
    with indexing(docs, tiny_checkpoint, "--workers", "2") as process:
        report = finished(process)
    assert report["embedded"] == len(set(expected[0][0]["content_hash"].to_pylist()))
    assert_same(expected[0], contents(docs))
    assert hits(docs) == expected[1] and stored_tokens(docs) == expected[2]
    names = {path.name for path in Index.open(docs).generation.iterdir()}
    assert names - {VOCABULARY} == {"checksums.json", "context.safetensors", "files.jsonl", "manifest.json", "tables"}


def test_a_killed_worker_is_replaced(docs, expected, cluster, tiny_checkpoint):
    address, machines = cluster
    with indexing(docs, tiny_checkpoint, "--address", address) as process:
        wait_for(lambda: vector_files(docs), process)
        workers = [one for one in machines.children(recursive=True) if one.name().startswith("ray::Embedder")]
        workers[0].kill()
        report = finished(process)
    assert_same(expected[0], contents(docs))
    assert report["chunks"] == N_CHUNKS


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for another process")
def test_ctrl_c_ends_the_build_and_its_cluster(docs, tiny_checkpoint):
    with indexing(docs, tiny_checkpoint, "--workers", "1") as process:
        wait_for(lambda: vector_files(docs), process)
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 130 and b"Stopped. The same command continues" in errors
        assert b"Traceback" not in errors
        _, alive = psutil.wait_procs(children, timeout=20)
        assert not alive


def test_a_cluster_of_one_run_listens_at_127_0_0_1_only(docs, tiny_checkpoint):
    with indexing(docs, tiny_checkpoint, "--workers", "1") as process:
        wait_for(lambda: vector_files(docs), process)
        started = [process, *psutil.Process(process.pid).children(recursive=True)]
        listening = {
            connection.laddr.ip
            for one in started
            for connection in psutil.Process(one.pid).net_connections("inet")
            if connection.status == psutil.CONN_LISTEN
        }
        finished(process)
    assert listening <= {"127.0.0.1", "::ffff:127.0.0.1", "::1"} and listening


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
    assert "does not answer any more" in run.stderr, run.stderr[-2000:]
    assert time.monotonic() - started < 50
