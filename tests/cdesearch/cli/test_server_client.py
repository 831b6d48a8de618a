"""A query has the same output with a running server as without one."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest
from background_server import runtime_folder, serve
from command import cdesearch, cdesearch_process

from cdesearch import __version__, service
from cdesearch.service import running_server
from cdesearch.store.checksums import write_checksums
from cdesearch.store.index import Index
from cdesearch.store.server_address import ServerRecord, make_runtime_folder, read_record, socket_of, write_record

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the sockets are Unix sockets")

TEXTS = {
    "pets.md": "# Cats\n\nA cat purrs at night.\n\n## Food\n\nCats eat fish.\n\n# Dogs\n\nA dog barks at the moon.\n",
    "notes/tides.txt": "The moon moves the water.\n\tTwice a day\tthe tide turns.\n" * 6,
    "notes/ünïcode 漢字.md": "# Überschrift\n\nDie Katze schläft. 猫は眠る。 \u202ereversed\u202c\n",
    "code/engine.py": '"""Bread and engines."""\n\n\ndef run(engine):\n    """Run the engine."""\n    return engine\n',
    "sub/evil\x1b[31m.txt": "A whale sings.\x07",
    "records.jsonl": "".join(
        json.dumps({"id": f"r{n}", "title": f"Record {n}", "text": f"river stone number {n}"}) + "\n" for n in range(5)
    ),
}
QUERIES = [
    ["cat"],
    ["moon", "water"],
    ["river stone", "-k", "3"],
    ["猫は眠る", "-k", "1"],
    ['a "quoted" (query) AND OR ~^:'],
    ["a&b=c?d#e%20+f"],
    ["zebra"],
    ["cat " * 600],
    ["moon", "--path", "notes", "--type", "txt"],
    ["moon -notes type:md"],
    ["--regex", "m[aeo]"],
    ["moon", "--since", "1d"],
    ["cat", "-k", "100"],
    ["cat", "-k", "101"],
]
OPTIONS = [[], ["--json"], ["--full", "--group"], ["--format", "grep", "-C", "2"], ["--mode", "text"]]
ERRORS = [
    ["query", " "],
    ["query", "cat", "-k", "0"],
    ["query", "path:notes"],
    ["query", "cat", "--regex", "("],
    ["query", "c\udcffat"],
    ["search", "cat"],
    ["cat", "--unknown"],
]


@pytest.fixture(scope="module")
def runtime():
    with runtime_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def docs(index_of):
    return index_of(TEXTS)


@pytest.fixture(scope="module")
def served(docs, runtime):
    """The indexed folder, with a server for it in the background."""
    line = serve("--background", "--port", "0", runtime=runtime, cwd=docs).stdout
    assert re.fullmatch(rf"Serving {docs}/.cdesearch at http://127.0.0.1:\d+/ in the background .*\n", line)
    return docs


@pytest.fixture
def ask(served, runtime, monkeypatch):
    """Run a query directly and with the server, and return both runs. The second run must use the server."""

    def asked(*arguments, cwd=served, allow_direct=False):
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime / "nowhere"))
        monkeypatch.setenv("TMPDIR", str(runtime))
        direct = cdesearch(*arguments, cwd=cwd, code=None)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
        with monkeypatch.context() as patched:
            if not allow_direct:
                patched.setattr(service, "_open_here", None)
            return direct, cdesearch(*arguments, cwd=cwd, code=None)

    return asked


def without_time(run):
    return run.returncode, re.sub(r'"milliseconds": [\d.]+', "", run.stdout), run.stderr


def needs_direct(query, options):
    """Return whether the output depends on more than the answer of the server."""
    is_many = any(query[n : n + 1] == ["-k"] and int(query[n + 1]) > 100 for n in range(len(query)))
    return is_many or any(word.startswith(("--path", "--type", "--since")) for word in query) or len(query[0]) > 1000


@pytest.mark.slow
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: " ".join(query)[:30])
def test_the_answer_through_the_server_is_that_without_it(ask, query):
    for options in OPTIONS:
        direct, through = ask("query", *query, *options, allow_direct=needs_direct(query, options))
        assert without_time(direct) == without_time(through)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", ERRORS, ids=" ".join)
def test_errors_and_hints_are_the_same_with_a_server(ask, arguments):
    direct, through = ask(*arguments, allow_direct=True)
    assert without_time(direct) == without_time(through)


def test_hits_are_shown_relative_to_the_working_directory(ask, served):
    direct, through = ask("query", "cat", "-k", "1", "--all", cwd=served / "sub")
    assert through.stdout.startswith(" 1 ../pets.md:3") and without_time(direct) == without_time(through)


@pytest.mark.slow
def test_an_index_that_is_named_and_one_that_is_found_have_the_same_server(ask, served, tmp_path):
    (tmp_path / "link").symlink_to(served)
    for name in (served, served / ".cdesearch", served / "pets.md", tmp_path / "link"):
        direct, through = ask("query", "cat", "--index", name, cwd=tmp_path)
        assert through.returncode == 0 and without_time(direct) == without_time(through)


def test_a_query_prints_the_same_with_a_server_and_imports_no_heavy_library(served, runtime):
    program = (
        "import sys, atexit\n"
        "heavy = ('lancedb', 'pyarrow', 'numpy', 'onnxruntime', 'typer', 'rich', 'pydantic', 'tokenizers')\n"
        "atexit.register(lambda: print([name for name in heavy if name in sys.modules], file=sys.stderr))\n"
        "from cdesearch.__main__ import main\nmain()"
    )
    command = [sys.executable, "-c", program, "query", "purring cat", "-k", "2"]
    environment = os.environ | {"XDG_RUNTIME_DIR": str(runtime)}
    through = subprocess.run(command, cwd=served, env=environment, capture_output=True, text=True, check=True)
    direct = cdesearch("query", "purring cat", "-k", "2", cwd=served)
    assert (through.stdout, through.stderr) == (direct.stdout, "[]\n")


@pytest.mark.slow
def test_a_server_is_not_used_for_other_or_unconfirmed_models(ask, served, monkeypatch):
    """The server could answer, but the direct search reports that the index is not confirmed."""
    manifest = Index.open(served).generation / "manifest.json"
    text = manifest.read_text()
    checksums = manifest.with_name("checksums.json")
    before = checksums.read_bytes(), manifest.read_bytes(), manifest.stat()
    try:
        manifest.unlink()
        manifest.write_text(text.replace('"model": null', '"model": "/models/theirs"'))
        write_checksums(manifest.parent, None)
        direct, through = ask("query", "cat", allow_direct=True)
        assert "nobody has confirmed" in through.stderr and without_time(direct) == without_time(through)
        direct, through = ask("query", "cat", "--mode", "text", allow_direct=True)
        assert through.returncode == 0 and without_time(direct) == without_time(through)
    finally:
        checksums.write_bytes(before[0])
        manifest.write_bytes(before[1])
        os.utime(manifest, ns=(before[2].st_atime_ns, before[2].st_mtime_ns))


def test_a_server_of_another_version_is_not_used(ask, served, monkeypatch):
    monkeypatch.setattr("cdesearch.service.__version__", "99")
    monkeypatch.setattr("cdesearch.service._get", None)
    direct, through = ask("query", "cat", allow_direct=True)
    assert "pets.md" in through.stdout and without_time(direct) == without_time(through)


@pytest.fixture
def moved(docs, monkeypatch):
    """A copy of the index without a server, with a separate runtime folder."""
    with runtime_folder() as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
        copy = runtime / "docs"
        shutil.copytree(docs, copy)
        yield copy


class Planted:
    """Listen on a socket in place of a server, and answer each request with `answer`, or never."""

    def __init__(self, docs, answer=None, mode=0o600):
        make_runtime_folder()
        self.folder = docs / ".cdesearch"
        self.path, self.answer, self.asked = socket_of(self.folder), answer, []
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(self.path))
        self.path.chmod(mode)
        self.socket.listen()
        record = ServerRecord(os.getpid(), __version__, "docs", "http://127.0.0.1:9/", str(self.path))
        write_record(self.folder, record)
        self.thread = Thread(target=self._serve, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()

    def _serve(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection, suppress(ConnectionError):
                self.asked.append(connection.recv(100_000))
                if self.answer is None:
                    connection.recv(1)  # until the client gives up
                connection.sendall(self.answer or b"")


def response(body, status="200 OK", length=None):
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), length or len(body), body)


def body_for(docs):
    values = {
        "generation": Index.open(docs).generation.name,
        "hits": [],
        "truncated_to": None,
        "milliseconds": 1,
        "stage": "complete",
    }
    return json.dumps(values).encode()


@pytest.mark.parametrize(("options", "folder_mode"), [({"mode": 0o640}, 0o700), ({}, 0o755)])
def test_a_socket_that_others_may_have_created_is_not_used(moved, options, folder_mode):
    with Planted(moved, response(body_for(moved)), **options) as planted:
        planted.path.parent.chmod(folder_mode)
        assert "pets.md" in cdesearch("query", "cat", cwd=moved).stdout
        assert planted.asked in ([], [b""])


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer",
    [
        b"",
        response(b'{"generation": "000000000000", "hits": []}'),
        response(b'{"generation": null}', length=1000),
        response(b'{"detail": "busy"}', status="429 Too Many Requests"),
    ],
)
def test_any_other_answer_of_a_server_leads_to_a_direct_search(moved, answer):
    with Planted(moved, answer) as planted:
        run = cdesearch("query", "cat", cwd=moved)
        assert "pets.md" in run.stdout and run.stderr == ""
        assert planted.asked[0].startswith(b"GET ")


@pytest.mark.slow
def test_a_server_that_is_killed_leads_to_direct_searches(moved, monkeypatch):
    runtime = Path(os.environ["XDG_RUNTIME_DIR"])
    serve("--background", "--port", "0", runtime=runtime, cwd=moved)
    record = read_record(moved / ".cdesearch")
    assert running_server(moved / ".cdesearch") == record
    os.kill(record.pid, signal.SIGSTOP)  # it accepts connections and does not answer
    monkeypatch.setattr("cdesearch.service.TIMEOUT", 0.5)
    before = cdesearch("query", "cat", cwd=moved)
    os.kill(record.pid, signal.SIGKILL)
    after = cdesearch("query", "cat", cwd=moved)
    assert "pets.md" in before.stdout and (before.stdout, before.stderr) == (after.stdout, "")
    process = cdesearch_process("query", "cat", cwd=moved)
    assert process.stdout == after.stdout


@pytest.mark.slow
def test_after_an_update_every_answer_is_of_the_new_generation(moved):
    runtime = Path(os.environ["XDG_RUNTIME_DIR"])
    serve("--background", "--port", "0", runtime=runtime, cwd=moved)
    for number in range(3):
        (moved / "new.md").write_text(f"The xylophone number {number} plays.")
        cdesearch("index", ".", cwd=moved)
        assert f"number {number}" in cdesearch("query", "xylophone", "-k", "1", cwd=moved).stdout
    serve("--stop", runtime=runtime, cwd=moved)
