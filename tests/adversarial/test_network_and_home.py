"""Nothing contacts the network: observed from outside, by the system calls of whole processes."""

import importlib.util
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
from contextlib import contextmanager

import pytest
from process import clean_environment
from random_biencoder import biencoder_folder

import cdesearch

pytestmark = pytest.mark.slow

INDEX_AND_QUERY = """
import sys, time, cdesearch
found = {index}.search("where does the cat sleep", k=1)
assert found, "no hit"
time.sleep({seconds})
"""
TELEMETRY_DELAY = 10  # seconds; onnxruntime first looks up its host after some 8
COMMANDS = [
    ["index", "docs"],
    ["query", "cat", "--index", "docs"],
    ["status", "--index", "docs"],
    ["doctor", "docs"],
    ["models"],
]
# The address in a system call. A look-up of a name goes to port 53, on some machines to that of the machine itself.
ADDRESS = re.compile(r"sa_family=AF_INET6?, sin6?_port=htons\((\d+)\).*?\"([0-9a-f.:]+)\"")

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


def user_in(folder):
    for name in ("home", "docs"):
        (folder / name).mkdir()
    (folder / "docs" / "cats.md").write_text("# Cats\n\nA cat sleeps on the sofa.\n")
    return {"cwd": folder, "env": clean_environment(folder / "home")}


@pytest.fixture
def user(tmp_path):
    return user_in(tmp_path)


@pytest.fixture(scope="module", autouse=True)
def long_running(tmp_path_factory):
    """A program that keeps running for a while, and its user. It starts before the other tests, which run meanwhile."""
    if shutil.which("strace") is None:
        yield None
        return
    user = user_in(tmp_path_factory.mktemp("long-running"))
    program = INDEX_AND_QUERY.format(index="cdesearch.build('docs')", seconds=TELEMETRY_DELAY)
    with started([sys.executable, "-c", program], user) as process:
        yield process, user
        process.kill()


def started(command, user):
    """Start `command` under strace, which records its network system calls and those of its children."""
    watched = [
        "strace",
        "-f",
        "-qq",
        "--seccomp-bpf",
        "-e",
        "trace=network",
        "-o",
        str(user["cwd"] / "trace"),
        *command,
    ]
    return subprocess.Popen(
        watched,
        **user,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def recorded_calls(process, user):
    """Wait for the end of the process; returns the system calls that strace recorded."""
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    return (user["cwd"] / "trace").read_text()


def watch(command, user):
    """Run `command` to its end; returns its network system calls, including those of its children."""
    with started(command, user) as process:
        return recorded_calls(process, user)


def addressed(calls):
    """The (port, address) pairs that were contacted, except those of this machine."""
    pairs = [ADDRESS.search(call) for call in calls.splitlines() if re.search(r"(connect|send\w+)\(", call)]
    found = [(int(pair[1]), pair[2]) for pair in pairs if pair]
    return [(port, host) for port, host in found if port == 53 or not (host == "::1" or host.startswith("127."))]


def assert_silent(calls, user):
    assert addressed(calls) == []
    assert list((user["cwd"] / "home").rglob("*")) == []
    assert {entry.name for entry in user["cwd"].iterdir()} <= {"home", "docs", "tmp", "trace", "model"}


@needs_strace
def test_commands_contact_no_host_and_do_not_write_to_home(user):
    for command in COMMANDS:
        calls = watch([sys.executable, "-m", "cdesearch", *command], user)
        assert_silent(calls, user)
        assert "AF_INET" not in calls, f"{command} opens a socket"


@contextmanager
def running(command, user):
    """A command that is watched until SIGTERM ends it; yields the process. strace itself does not end by the signal."""
    with started([sys.executable, "-m", "cdesearch", *command], user) as process:
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.communicate(timeout=60)


def wait_until(is_done):
    end = time.monotonic() + 120
    while not is_done():
        assert time.monotonic() < end
        time.sleep(0.1)


def on_terminal(*command):
    """The command on a terminal of its own."""
    return ["script", "-qec", shlex.join([sys.executable, "-m", "cdesearch", *command]), "/dev/null"]


needs_script = pytest.mark.skipif(sys.platform != "linux" or shutil.which("script") is None, reason="no `script`")


@pytest.fixture
def indexed(user):
    """A user with an index."""
    cdesearch.build(user["cwd"] / "docs")
    return user


@needs_strace
def test_a_server_contacts_no_host(indexed):
    pytest.importorskip("uvicorn")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with running(["serve", "docs", "--port", str(port), "--watch"], indexed):

        def answers(page):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}") as answer:
                    return bool(answer.read())
            except OSError:
                return False

        wait_until(lambda: answers("api/v1/search?q=cat"))
        assert answers("") and answers("api/v1/status") and answers("api/v1/map")
    assert addressed((indexed["cwd"] / "trace").read_text()) == []


@needs_strace
def test_watch_contacts_no_host(indexed):
    docs = indexed["cwd"] / "docs"
    before = (docs / ".cdesearch" / "CURRENT").read_text()
    with running(["watch", "--index", "docs"], indexed):
        (docs / "dogs.md").write_text("A dog barks.")
        wait_until(lambda: (docs / ".cdesearch" / "CURRENT").read_text() != before)
    assert_silent((indexed["cwd"] / "trace").read_text(), indexed)


@needs_strace
@needs_script
def test_opening_a_hit_contacts_no_host(indexed):
    indexed["env"] |= {"EDITOR": "true", "XDG_STATE_HOME": str(indexed["cwd"] / "tmp"), "TERM": "xterm"}
    for command in (on_terminal("query", "cat", "--index", "docs", "--no-pager"), on_terminal("open")):
        assert_silent(watch(command, indexed), indexed)


@needs_strace
@needs_script
def test_the_interface_on_a_terminal_contacts_no_host(indexed):
    pytest.importorskip("textual")
    indexed["env"] |= {"TERM": "xterm"}
    with started(on_terminal("tui", "docs"), indexed) as process:
        for keys in ("", "cat", "\x1b"):  # the interface starts, finds a hit and ends
            time.sleep(3)
            process.stdin.write(keys)
            process.stdin.flush()
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert_silent((indexed["cwd"] / "trace").read_text(), indexed)


@needs_strace
def test_a_model_on_torch_contacts_no_host(user):
    pytest.importorskip("transformers")
    program = (
        "from pathlib import Path\nfrom indexer.build import build\nfrom cdesearch.progress import Silent\n"
        "from indexer.settings import Options\nimport cdesearch\n"
        "build([Path('docs')], Options(model=Path('model')), Silent())\nassert cdesearch.open('docs').search('cat')"
    )
    biencoder_folder(user["cwd"] / "model")
    assert addressed(watch([sys.executable, "-c", program], user)) == []


@needs_strace
@pytest.mark.parametrize(("library", "call"), [("langchain", "invoke"), ("llama_index", "retrieve")])
def test_a_retriever_of_another_library_contacts_no_host(user, library, call):
    installed = {"langchain": "langchain_core", "llama_index": "llama_index"}[library]
    if importlib.util.find_spec(installed) is None:
        pytest.skip(f"{installed} is not installed")
    cdesearch.build(user["cwd"] / "docs")
    program = (
        f"from cdesearch.integrations.{library} import CdesearchRetriever\n"
        f"assert CdesearchRetriever(folder='docs').{call}('cat')"
    )
    assert addressed(watch([sys.executable, "-W", "ignore", "-c", program], user)) == []


@needs_strace
def test_the_observation_finds_the_address_of_a_connection(user):
    """Runs in a network namespace of its own, so that nothing leaves the machine."""
    alone = ["unshare", "--map-root-user", "--net"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("network namespaces cannot be made here")
    program = "import socket\nsocket.socket().connect_ex(('192.0.2.1', 443))"
    calls = watch([*alone, sys.executable, "-c", program], user)
    assert addressed(calls) == [(443, "192.0.2.1")]


@pytest.mark.parametrize("choice", ["0", "1"])
def test_a_users_own_choice_of_telemetry_is_kept(choice, user):
    program = (
        "import os\nfrom cdesearch.encode.backends.onnx_import import import_onnxruntime\nimport_onnxruntime()\n"
        "print(os.environ['ORT_DISABLE_TELEMETRY'])"
    )
    environment = user["env"] | {"ORT_DISABLE_TELEMETRY": choice}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == choice


@needs_strace
def test_a_program_that_keeps_running_contacts_no_host(long_running):
    assert_silent(recorded_calls(*long_running), long_running[1])
