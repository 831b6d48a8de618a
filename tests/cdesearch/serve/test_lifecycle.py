"""Servers in the background: started once, found, stopped, and cleaned up after."""

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from background_server import runtime_folder, serve
from command import cdesearch
from running_server import wait_until

from cdesearch.service import running_server
from cdesearch.store.server_address import ServerRecord, log_of, record_of, socket_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the sockets are Unix sockets, and signals are graceful"),
]


@pytest.fixture(scope="module")
def docs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs")
    (folder / "pets.md").write_text("# Cats\n\nA cat purrs at night.\n")
    cdesearch("index", ".", cwd=folder)
    return folder


@pytest.fixture
def runtime(monkeypatch):
    with runtime_folder() as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
        yield folder


@pytest.fixture
def start(docs, runtime):
    """Start a server in the background with these options; returns the line that it prints."""
    return lambda *options: serve("--background", "--port", "0", *options, runtime=runtime, cwd=docs).stdout


def test_a_server_starts_once_and_stops(docs, runtime, start):
    line = start()
    address, pid = re.search(r" at (http://127\.0\.0\.1:\d+/) in the background \(process (\d+)\)\.\n", line).groups()
    index = docs / ".cdesearch"
    assert running_server(index) == ServerRecord(
        int(pid), running_server(index).version, docs.name, address, str(socket_of(index))
    )
    assert start() == f"A server of {index} is already running at {address} (process {pid}).\n"
    for file, mode in ((socket_of(index), 0o600), (log_of(index), 0o600), (socket_of(index).parent, 0o700)):
        assert stat.S_IMODE(file.stat().st_mode) == mode
    stopped = serve("--stop", runtime=runtime, cwd=docs).stdout
    assert stopped == f"Stopped the server of {index} (process {pid}).\n"
    assert [file.suffix for file in socket_of(index).parent.iterdir()] == [".log"]
    assert serve("--stop", str(docs), runtime=runtime, cwd="/").stdout == f"No server is running for {index}.\n"
    assert "There is no index in" in serve("--stop", str(docs / "typo"), runtime=runtime, cwd="/", code=2).stderr
    assert "Serving" in log_of(index).read_text()
    assert start() != line
    serve("--stop", runtime=runtime, cwd=docs)


def test_an_error_during_the_start_is_shown_in_one_line(docs, runtime, tmp_path):
    def error(*options, cwd=docs):
        return serve("--background", *options, runtime=runtime, cwd=cwd, code=2).stderr

    assert "Invalid value for '--port'" in error("--port", "70000")
    assert "There is no index" in error(cwd=tmp_path)
    assert "no token protects the index" in error("--host", "0.0.0.0")
    assert "nowhere is not a checkpoint" in error("--port", "0", "--model", "nowhere")
    assert "never is not a duration" in error("--port", "0", "--idle-exit", "never")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        line = error("--port", str(taken.getsockname()[1]))
    assert "cannot listen on port" in line and "Choose another port" in line


def test_a_server_without_requests_stops(docs, runtime, start):
    start("--idle-exit", "2s")
    time.sleep(1.5)
    assert cdesearch("query", "cat", cwd=docs).stdout.startswith(" 1 pets.md:3")
    asked = time.monotonic()
    wait_until(lambda: not record_of(docs / ".cdesearch").exists())
    assert time.monotonic() - asked > 1.5
    wait_until(lambda: not socket_of(docs / ".cdesearch").exists())  # a moment after the record


def test_a_killed_server_leaves_files_that_the_next_one_replaces(docs, runtime, start):
    start()
    record = running_server(docs / ".cdesearch")
    os.kill(record.pid, signal.SIGKILL)
    wait_until(lambda: running_server(docs / ".cdesearch") is None)
    assert socket_of(docs / ".cdesearch").exists() and record_of(docs / ".cdesearch").exists()
    assert start().startswith("Serving")
    assert running_server(docs / ".cdesearch").pid != record.pid


def test_one_server_of_two_indexes_is_found_for_both(docs, runtime, tmp_path):
    (tmp_path / "birds.md").write_text("An owl hoots.")
    cdesearch("index", ".", cwd=tmp_path)
    serve("--background", "--port", "0", str(docs), str(tmp_path), runtime=runtime, cwd="/")
    one, two = (running_server(folder / ".cdesearch") for folder in (docs, tmp_path))
    assert one.pid == two.pid and (one.name, two.name) == (docs.name, tmp_path.name)
    for folder, found in ((docs, "pets.md"), (tmp_path, "birds.md")):
        assert cdesearch("query", "owl", "-k", "1", cwd=folder).stdout.startswith(f" 1 {found}:")


@pytest.mark.parametrize(("typed", "wanted"), [(b"y\n", True), (b"n\n", False)])
@pytest.mark.usefixtures("runtime", "own_config")
def test_a_query_at_a_terminal_asks_once_whether_a_server_keeps_the_model(docs, start, typed, wanted):
    shown = query_at_a_terminal(docs, typed)
    assert b"Keep the model loaded" in shown and b"pets.md" in shown
    index = docs / ".cdesearch"
    if wanted:
        wait_until(lambda: running_server(index) is not None)
        assert running_server(index).address == "", "nobody else can connect"
        assert cdesearch("query", "cat", cwd=docs).stdout.startswith(" 1 pets.md:3")
        assert start().startswith(f"Serving {index} at http"), "a server with a page takes over"
    again = query_at_a_terminal(docs)
    assert b"Keep the model loaded" not in again and b"pets.md" in again
    assert (running_server(index) is not None) is wanted


def query_at_a_terminal(folder, typed=b""):
    """What a query shows at a terminal, at which this is typed after a question."""
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "cdesearch", "query", "cat"]
    run = subprocess.Popen(command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # the terminal is closed
        while more := os.read(ours, 1000):
            shown += more
            if typed and b"[y/N]:" in shown:
                os.write(ours, typed)
                typed = b""
    os.close(ours)
    assert run.wait(60) == 0
    return shown


def test_the_token_of_a_server_is_not_visible_in_the_list_of_processes(docs, runtime, start):
    start("--token", "a-secret-of-sixteen-letters")
    pid = running_server(docs / ".cdesearch").pid
    assert b"a-secret-of-sixteen-letters" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    assert cdesearch("query", "cat", cwd=docs).stdout.startswith(" 1 pets.md:3")
