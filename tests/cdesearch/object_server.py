"""An S3-compatible server in this process, and a proxy in front of it that makes its faults.

The server is moto's. It checks If-None-Match and If-Match when an object is written (since 5.1), answers with ETags and
S3's error codes, and starts in a second as a thread. It ignores signatures, so rights are tested by the proxy. Of the
alternatives, `rustfs` on PyPI is a client and not the server of this name, s3rver ignores conditions of writes and has
no releases since 2021, and Zenko's cloudserver needs Node and a minute to install.
"""

import logging
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote
from urllib.request import Request, urlopen
from uuid import uuid4

import pytest

from cdesearch.store.bucket.connection import open_store
from cdesearch.store.place import parse_place

SECRET = "wJalrXUtnFEMIEXAMPLEKEY"  # of the environment; it must not be shown or stored
KEEP = {"connection", "keep-alive", "transfer-encoding", "content-length"}
NO_BUCKET = b"<Error><Code>NoSuchBucket</Code><Message>The specified bucket does not exist</Message></Error>"
SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>"
UNKNOWN_KEY = b"<Error><Code>InvalidAccessKeyId</Code><AWSAccessKeyId>AKIAEXAMPLE</AWSAccessKeyId></Error>"
SIGNED_BY = re.compile(r"Credential=(\w+)/\d+/([\w-]+)/s3/")
DENIED = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"

LOGIN_PAGE = b"<html>Please log in.</html>"
LOGIN_HEADERS = {"ETag": '"page"', "Last-Modified": "Mon, 01 Jun 2026 00:00:00 GMT"}


class FaultyProxy:
    """Forwards requests to the server at `port`, with the faults that its attributes set."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.bucket = f"bucket-{uuid4().hex[:12]}"
        self.address = f"s3://{self.bucket}/team/docs"
        self.latency = 0.0  # seconds before each response
        self.failing = 0.0  # the share of requests that fail with 503
        self.cut = 0.0  # the share of responses whose connection ends in the middle
        self.is_gone = False  # whether the bucket has been removed
        self.is_read_only = False  # whether writing is forbidden
        self.is_login_page = False  # whether every answer is a page for logging in to a network
        self.refused = False  # whether the server does not know the access key
        self.keys: set[str] = set()  # the access keys of the requests, with the region
        self.loses_answer_to = ""  # the method and path of the next request that is carried out and answered with 503
        self.requests: list[str] = []  # the method and path of each request
        self.before: Any = None  # called with the method and path of each request
        self._random = random.Random(0)
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def place(self) -> Any:
        """The folder that stands for the index on the present computer."""
        return parse_place(self.address)

    def objects(self) -> dict[str, bytes]:
        """All objects of the bucket with their contents, as the server has them."""
        import obstore
        from obstore.store import S3Store

        endpoint = f"http://127.0.0.1:{self.target}"
        store = S3Store(self.bucket, endpoint=endpoint, client_options={"allow_http": True})
        names = [item["path"] for batch in obstore.list(store) for item in batch]
        return {name: bytes(obstore.get(store, name).bytes()) for name in names}

    def counts(self) -> Counter[str]:
        """How many requests of each method there were."""
        return Counter(request.partition(" ")[0] for request in self.requests)

    def close(self) -> None:
        """Stop listening, so that connections are refused."""
        self._server.shutdown()
        self._server.server_close()

    def happens(self, share: float) -> bool:
        with self._lock:
            return self._random.random() < share

    def note(self, method: str, path: str) -> None:
        with self._lock:
            self.requests.append(f"{method} {unquote(path.partition('?')[0])}")
        if self.before is not None:
            self.before(method, path)


def _handler(proxy: FaultyProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            proxy.note("COPY" if "x-amz-copy-source" in self.headers else self.command, self.path)
            if found := SIGNED_BY.search(self.headers.get("Authorization", "")):
                proxy.keys.add(f"{found[1]}/{found[2]}")
            time.sleep(proxy.latency)
            if proxy.is_login_page:
                self._send(200, LOGIN_HEADERS, LOGIN_PAGE)
            elif proxy.is_gone:
                self._send(404, {}, NO_BUCKET)
            elif proxy.refused:
                self._send(403, {}, UNKNOWN_KEY)
            elif proxy.is_read_only and self.command not in ("GET", "HEAD"):
                self._send(403, {}, DENIED)
            elif proxy.happens(proxy.failing):
                self._send(503, {}, SLOW_DOWN)
            elif proxy.loses_answer_to and f"{self.command} {self.path}".startswith(proxy.loses_answer_to):
                proxy.loses_answer_to = ""
                self._forwarded(body)
                self._send(503, {}, SLOW_DOWN)
            else:
                self._send(*self._forwarded(body))

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _answer  # noqa: N815 (names that the library calls)

        def _forwarded(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
            server = HTTPConnection("127.0.0.1", proxy.target)
            try:
                server.request(self.command, self.path, body, dict(self.headers))
                response = server.getresponse()
                headers = {name: value for name, value in response.getheaders() if name.lower() not in KEEP}
                if self.command == "HEAD":
                    headers["Content-Length"] = response.getheader("Content-Length") or "0"
                return response.status, headers, response.read()
            finally:
                server.close()

        def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if "Content-Length" not in headers:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if proxy.happens(proxy.cut):
                self.wfile.write(body[: len(body) // 2])
                self.close_connection = True
            else:
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@pytest.fixture(scope="session")
def object_server() -> Iterator[int]:
    """The port of the server."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield server.get_host_and_port()[1]
    server.stop()


@pytest.fixture
def store(object_server: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[FaultyProxy]:
    """A proxy with an empty bucket, which the environment names as the object store of this process."""
    proxy = FaultyProxy(object_server)
    environment = {"ACCESS_KEY_ID": "AKIAEXAMPLE", "SECRET_ACCESS_KEY": SECRET, "REGION": "us-east-1"}
    for name, value in {**environment, "ENDPOINT_URL": proxy.url}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    move_to_computer("first", tmp_path, monkeypatch)
    with urlopen(Request(f"http://127.0.0.1:{object_server}/{proxy.bucket}", method="PUT")):
        pass
    yield proxy
    proxy.close()


def move_to_computer(name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process continue with the cache and configuration of another computer."""
    for variable in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / f"computer-{name}" / variable))


def put(address: Any, name: str, content: bytes) -> None:
    """Write an object below an address, as another program would."""
    import obstore

    obstore.put(open_store(address), name, content)
