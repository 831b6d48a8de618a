import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import httpx
import pytest
from background_server import runtime_folder
from command import cdesearch
from hidden_libraries import run_module_without
from running_server import wait_until

from cdesearch.errors import InputError, extra_remedy
from cdesearch.serve.command import serve


@contextmanager
def serving(pages, runtime, *options):
    """The process of `cdesearch serve`, and its address."""
    command = [sys.executable, "-m", "cdesearch", "serve", str(pages), "--port", "0", *map(str, options)]
    environment = os.environ | {"XDG_RUNTIME_DIR": str(runtime)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stderr.readline()
            yield process, re.search(r"http://\S+/", line)[0]
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_server_finishes_running_requests_and_exits_with_the_code_of_the_signal(pages, number, code):
    with runtime_folder() as runtime, serving(pages, runtime) as (process, url):
        assert httpx.get(f"{url}api/v1/search?q=moon").json()["index"] == "pages"
        (path,) = (runtime / "cdesearch").glob("*.sock")
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(path))) as client:
            assert client.get("http://localhost/api/v1/healthz").json()["status"] == "ok"
        with socket.create_connection(("127.0.0.1", httpx.URL(url).port), timeout=60) as late:
            lines = ("POST /mcp HTTP/1.1", "Host: localhost", "Content-Length: 2", "", "a")
            late.sendall("\r\n".join(lines).encode())
            httpx.get(f"{url}api/v1/healthz")  # the other request is being read by now
            process.send_signal(number)
            wait_until(lambda: not answers(url))
            late.sendall(b"b")
            assert late.recv(65_536).startswith(b"HTTP/1.1 4")
        assert process.wait(60) == code
        assert process.stderr.read() == ""
        assert not path.exists()


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--no-watch"]])
def test_a_server_watches_unless_it_is_told_not_to(own_pages, options):
    with runtime_folder() as runtime, serving(own_pages, runtime, *options) as (_, url):

        def paths(words):
            return [
                hit["path"] for hit in httpx.get(f"{url}api/v1/search?q={words}&mode=text", timeout=60).json()["hits"]
            ]

        assert paths("moon") == ["space/moon.txt"]
        (own_pages / "new.md").write_text("xylophone")
        if options:
            cdesearch(
                "moon", cwd=own_pages, XDG_RUNTIME_DIR=str(runtime)
            )  # the user's wish counts for the server alone
            assert not paths("xylophone")
        else:
            wait_until(lambda: paths("xylophone") == ["new.md"])


def answers(url):
    try:
        httpx.get(f"{url}api/v1/healthz")
    except httpx.HTTPError:
        return False
    return True


def test_the_option_index_names_indexes_as_arguments_do(pages, tmp_path, own_config):
    missing = ("--index", "one", "--index", "two")
    assert "one" in cdesearch("serve", *missing, cwd=tmp_path, code=2).stderr
    both = cdesearch("serve", pages, *missing, cwd=tmp_path, code=2)
    assert both.stderr == "error: Indexes are named both with and without --index. Name all of them in one way.\n"
    (own_config / "config.toml").write_text('[serve]\nindex = "three"\n')
    assert "three" in cdesearch("serve", cwd=tmp_path, code=2).stderr
    named = cdesearch("serve", "four", cwd=tmp_path, code=2).stderr
    assert "four" in named and "three" not in named


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "search.example"])
def test_other_computers_need_a_token(host, pages):
    with pytest.raises(InputError, match=r"no token protects the index\. Set a secret with --token"):
        serve(None, [pages], host=host)


@pytest.mark.parametrize("token", ["short", "sixteen letters and blanks", "sechzehn-und-mehr-\u00fcber"])
def test_a_token_that_is_weak_or_cannot_be_sent_is_refused(token, pages):
    with pytest.raises(InputError, match="at least 16 letters and digits"):
        serve(None, [pages], token=token)


@pytest.mark.slow
@pytest.mark.parametrize("library", ["fastapi", "uvicorn"])
def test_without_the_extra_the_command_names_it(library, tmp_path):
    run = run_module_without(library, "cdesearch", "serve", cwd=tmp_path)
    assert run.returncode == 2
    assert run.stderr == f"error: {library} is not installed. {extra_remedy('serve')}\n"
