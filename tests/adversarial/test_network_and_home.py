"""Nothing contacts the network: observed from outside, by the system calls of whole processes."""

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from itertools import chain, repeat

import pytest
from built import write_files
from command import clean_environment, needs_strace
from random_biencoder import biencoder_folder
from random_released import released_folder

import cdesearch

pytestmark = pytest.mark.slow

TELEMETRY_DELAY = 10  # seconds; onnxruntime first looks up its host after some 8
COMMANDS = ("index docs", "query cat --index docs", "status --index docs", "doctor docs", "models")
# The address in a system call. A look-up of a name goes to port 53, on some machines to that of the machine itself.
ADDRESS = re.compile(r"sa_family=AF_INET6?, sin6?_port=htons\((\d+)\).*?\"([0-9a-f.:]+)\"")


@pytest.fixture
def user(tmp_path):
    write_files(tmp_path, {"docs/cats.md": "# Cats\n\nA cat sleeps on the sofa.\n"})
    return {"cwd": tmp_path, "env": clean_environment(tmp_path / "home")}


def started(command, user):
    """Start `command` under strace, which records its network system calls and those of its children."""
    trace = str(user["cwd"] / "trace")
    watched = ["strace", "-f", "-qq", "--seccomp-bpf", "-e", "trace=network", "-o", trace, *command]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen(watched, **user, **streams, text=True, start_new_session=True)


def watch(command, user):
    """Run `command` to its end; returns its network system calls, including those of its children."""
    with started(command, user) as process:
        _, errors = process.communicate()
    assert process.returncode == 0, errors
    return (user["cwd"] / "trace").read_text()


def addressed(calls):
    """The (port, address) pairs that were contacted, except those of this machine."""
    pairs = [ADDRESS.search(call) for call in calls.splitlines() if re.search(r"(connect|send\w+)\(", call)]
    found = [(int(pair[1]), pair[2]) for pair in pairs if pair]
    return [(port, host) for port, host in found if port == 53 or not (host == "::1" or host.startswith("127."))]


def assert_silent(calls, user):
    assert addressed(calls) == []
    home = user["cwd"] / "home"  # the list of indexes, with which `clear --everything` removes them
    assert {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()} <= {
        ".cache/cdesearch/built.json"
    }
    assert {entry.name for entry in user["cwd"].iterdir()} <= {"home", "docs", "tmp", "trace", "model"}


@needs_strace
def test_commands_contact_no_host_and_do_not_write_to_home(user):
    for command in COMMANDS:
        calls = watch([sys.executable, "-m", "cdesearch", *command.split()], user)
        assert_silent(calls, user)
        assert "AF_INET" not in calls, f"{command} opens a socket"


@pytest.fixture
def indexed(user):
    """A user with an index."""
    cdesearch.build(user["cwd"] / "docs")
    return user


@needs_strace
def test_a_server_that_keeps_running_contacts_no_host(indexed):
    pytest.importorskip("uvicorn")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def answers(page):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}") as answer:
                return bool(answer.read())
        except OSError:
            return False

    command = [sys.executable, "-m", "cdesearch", "serve", "docs", "--port", str(port), "--watch"]
    with started(command, indexed) as process:
        end = time.monotonic() + 120
        while not answers("api/v1/search?q=cat"):
            assert time.monotonic() < end
            time.sleep(0.1)
        assert answers("") and answers("api/v1/status")
        time.sleep(TELEMETRY_DELAY)
        os.killpg(process.pid, signal.SIGTERM)  # strace itself does not end by the signal
        process.communicate(timeout=60)
    assert_silent((indexed["cwd"] / "trace").read_text(), indexed)


@needs_strace
@pytest.mark.skipif(sys.platform != "linux" or shutil.which("script") is None, reason="no `script`")
def test_the_interface_on_a_terminal_contacts_no_host(indexed):
    pytest.importorskip("textual")
    indexed["env"] |= {"TERM": "xterm"}
    command = ["script", "-qec", shlex.join([sys.executable, "-m", "cdesearch", "tui", "docs"]), "/dev/null"]
    with started(command, indexed) as process:
        end = time.monotonic() + 90
        for keys in chain(("", "cat"), repeat("\x1b")):  # the interface starts, finds a hit and ends
            time.sleep(3)
            if process.poll() is not None or time.monotonic() > end:
                break
            with suppress(BrokenPipeError):
                process.stdin.write(keys)
                process.stdin.flush()
        with suppress(BrokenPipeError):
            process.communicate(timeout=10)
    assert process.returncode == 0
    assert_silent((indexed["cwd"] / "trace").read_text(), indexed)


def model_of(family, folder, request):
    if family == "own":
        return request.getfixturevalue("joint_checkpoint")
    pytest.importorskip("transformers")
    return biencoder_folder(folder) if family == "biencoder" else released_folder(folder, family)[0]


@needs_strace
@pytest.mark.parametrize("family", ["own", "v1", "v2", "biencoder"])
def test_a_model_on_torch_contacts_no_host(user, family, request):
    program = (
        "import sys\nfrom pathlib import Path\nimport cdesearch\nmodel = Path(sys.argv[1])\n"
        "assert cdesearch.build('docs', model=model).search('cat')\n"
        "assert cdesearch.open('docs', model=model).search('cat')"
    )
    model = model_of(family, user["cwd"] / "model", request)
    assert addressed(watch([sys.executable, "-c", program, str(model)], user)) == []
